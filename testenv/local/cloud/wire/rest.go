package wire

import (
	"net/http"
	"sync"
)

// RESTJSON serves a model on a REST JSON protocol (EKS, FIS): each action has a method and a path.
type RESTJSON struct {
	lock  sync.Locker
	mux   *http.ServeMux
	names map[string]string // of actions, by pattern
}

// NewRESTJSON returns a handler without actions, which answers NotImplemented. Actions run one at a time, with the lock.
func NewRESTJSON(lock sync.Locker) *RESTJSON {
	h := &RESTJSON{lock: lock, mux: http.NewServeMux(), names: map[string]string{}}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		WriteRESTJSONError(w, r, StatusErrorf(http.StatusNotImplemented, "NotImplemented", "%s %s is not modelled", r.Method, r.URL.Path))
	})
	return h
}

// Handle adds an action, by its name in the API reference and its pattern, as http.ServeMux has them. What it returns is the response's
// document.
func (h *RESTJSON) Handle(name, pattern string, action func(*http.Request) (any, error)) {
	h.names[pattern] = name
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		h.lock.Lock()
		out, err := action(r)
		h.lock.Unlock()
		if err != nil {
			WriteRESTJSONError(w, r, err)
			return
		}
		WriteRESTJSON(w, r, http.StatusOK, out)
	})
}

// ServeHTTP answers one request.
func (h *RESTJSON) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// ActionName names what r asks for, as the API reference does; "" when nothing that is modeled.
func (h *RESTJSON) ActionName(r *http.Request) string {
	_, pattern := h.mux.Handler(r)
	return h.names[pattern]
}
