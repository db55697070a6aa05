package lambdaruntime

import (
	"net/http"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

const (
	settingsPath      = "/2016-08-19/account-settings"
	configurationPath = "/configuration"
	codeSizeLimit     = 75 << 30 // bytes of all functions' code
)

// checked returns the reading action that a request asks for, and the function it is about; "" when none that is modeled.
func checked(r *http.Request) (action, function string) {
	if r.Method != http.MethodGet {
		return "", ""
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == settingsPath {
		return "GetAccountSettings", ""
	}
	rest, begins := strings.CutPrefix(path, invokePath)
	function, ends := strings.CutSuffix(rest, configurationPath)
	if begins && ends && function != "" && !strings.Contains(function, "/") {
		return "GetFunctionConfiguration", function
	}
	return "", ""
}

// answerRead answers a reading action.
func (h handler) answerRead(w http.ResponseWriter, r *http.Request, action, function string) {
	if action == "GetAccountSettings" {
		limit, unreserved, functions := h.runner.Account()
		wire.WriteRESTJSON(w, r, http.StatusOK, map[string]any{
			"AccountLimit": map[string]any{"ConcurrentExecutions": limit, "UnreservedConcurrentExecutions": unreserved, "TotalCodeSize": codeSizeLimit},
			"AccountUsage": map[string]any{"FunctionCount": functions},
		})
		return
	}
	name := function[strings.LastIndexByte(function, ':')+1:]
	fn, there := h.runner.Function(name)
	if !there {
		wire.WriteRESTJSONError(w, r, wire.StatusErrorf(http.StatusNotFound, "ResourceNotFoundException", "Function not found: %s", function))
		return
	}
	wire.WriteRESTJSON(w, r, http.StatusOK, map[string]any{"FunctionName": fn.Name, "MemorySize": fn.MemoryMB, "Handler": fn.Handler, "Role": fn.Role})
}

// Account returns the account's quota of concurrent executions, what of it no function reserves, and how many functions there are.
func (r *Runner) Account() (limit, unreserved, functions int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit, unreserved = r.config.AccountConcurrency, r.config.AccountConcurrency
	for _, d := range r.deployments {
		if n := d.fn.ReservedConcurrency; n != nil {
			unreserved -= *n
		}
	}
	return limit, unreserved, len(r.deployments)
}
