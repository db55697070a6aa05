package account

import (
	"net/http"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Limits answers what GetAccountSettings of Lambda does, and nothing else.
type Limits struct {
	Executions int // that may run at once in the region; a new account may have ten
	Reserved   int // of those
}

// ActionName implements cloud.ActionNamer.
func (l *Limits) ActionName(r *http.Request) string { return "GetAccountSettings" }

// ServeHTTP implements http.Handler.
func (l *Limits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != "/2016-08-19/account-settings" && r.URL.Path != "/2016-08-19/account-settings/" {
		wire.WriteRESTJSONError(w, r, wire.StatusErrorf(http.StatusNotImplemented, "NotImplemented", "%s %s is not modelled", r.Method, r.URL.Path))
		return
	}
	wire.WriteRESTJSON(w, r, http.StatusOK, map[string]any{
		"AccountLimit": map[string]any{
			"ConcurrentExecutions": l.Executions, "UnreservedConcurrentExecutions": l.Executions - l.Reserved,
			"CodeSizeUnzipped": 262144000, "CodeSizeZipped": 52428800, "TotalCodeSize": 80530636800,
		},
		"AccountUsage": map[string]any{"FunctionCount": 0, "TotalCodeSize": 0},
	})
}
