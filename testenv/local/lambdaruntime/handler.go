package lambdaruntime

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// NewHandler serves on the wire protocol of Lambda a synchronous invocation of a function by its name or ARN, and what the account has of
// concurrency and functions. Who may ask for that is left to whoever has the handler. Source: AWS Lambda API reference, "Invoke",
// "GetAccountSettings", "GetFunctionConfiguration".
func NewHandler(r *Runner) http.Handler { return handler{r} }

type handler struct{ runner *Runner }

const invokePath, invokeEnd = "/2015-03-31/functions/", "/invocations"

// ActionName names what a request asks for; "" when nothing that is modeled.
func (h handler) ActionName(r *http.Request) string {
	if _, ok := invoked(r); ok {
		return "Invoke"
	}
	action, _ := checked(r)
	return action
}

// invoked returns the name or ARN of the function that a request invokes.
func invoked(r *http.Request) (function string, ok bool) {
	rest, begins := strings.CutPrefix(r.URL.Path, invokePath)
	function, ends := strings.CutSuffix(rest, invokeEnd)
	return function, begins && ends && function != "" && r.Method == http.MethodPost
}

// ServeHTTP answers one request.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	function, ok := invoked(r)
	if action, of := checked(r); !ok && action != "" {
		h.answerRead(w, r, action, of)
		return
	}
	if !ok {
		wire.WriteRESTJSONError(w, r, wire.StatusErrorf(http.StatusNotImplemented, "NotImplemented", "%s %s is not modelled", r.Method, r.URL.Path))
		return
	}
	payload, err := io.ReadAll(r.Body)
	if err != nil {
		wire.WriteRESTJSONError(w, r, wire.StatusErrorf(http.StatusBadRequest, "InvalidRequestContentException", "%v", err))
		return
	}
	result, err := h.runner.Invoke(r.Context(), function[strings.LastIndexByte(function, ':')+1:], payload)
	switch {
	case errors.Is(err, ErrNotFound):
		wire.WriteRESTJSONError(w, r, wire.StatusErrorf(http.StatusNotFound, "ResourceNotFoundException", "Function not found: %s", function))
	case errors.Is(err, ErrThrottled):
		wire.WriteRESTJSONError(w, r, wire.StatusErrorf(http.StatusTooManyRequests, "TooManyRequestsException", "Rate Exceeded."))
	case err != nil:
		wire.WriteRESTJSONError(w, r, wire.StatusErrorf(http.StatusInternalServerError, "ServiceException", "%v", err))
	default:
		if result.FunctionError != "" {
			w.Header().Set("X-Amz-Function-Error", result.FunctionError)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(result.Payload) // the client may have gone
	}
}
