package lambdaruntime

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/google/uuid"
)

// api serves the Runtime API 2018-06-01 and the part of the Extensions API 2020-01-01 that a runtime uses to be told of
// its end by SIGTERM.
func (s *sandbox) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", s.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", s.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", s.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", s.serveInitError)
	mux.HandleFunc("POST /2020-01-01/extension/register", s.serveRegister)
	mux.HandleFunc("GET /2020-01-01/extension/event/next", s.serveExtensionNext)
	return mux
}

// serveNext ends the current invocation, if any, and blocks until there is another.
func (s *sandbox) serveNext(w http.ResponseWriter, r *http.Request) {
	s.logs.sync()
	s.mu.Lock()
	s.current = nil
	s.sampleMemory()
	s.mu.Unlock()
	select {
	case s.idle <- struct{}{}:
	default: // a runtime that asks twice is idle once
	}
	select {
	case inv := <-s.deliveries:
		inv.writeEvent(w)
	case <-r.Context().Done():
	case <-s.exited:
	}
}

// writeEvent answers the request for the next event.
func (inv *invocation) writeEvent(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Lambda-Runtime-Aws-Request-Id", inv.requestID)
	header.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	header.Set("Lambda-Runtime-Invoked-Function-Arn", inv.functionARN)
	header.Set("Lambda-Runtime-Trace-Id", inv.traceHeader)
	if inv.clientContext != "" {
		header.Set("Lambda-Runtime-Client-Context", inv.clientContext)
	}
	header.Set("Content-Length", strconv.Itoa(len(inv.payload)))
	w.Write(inv.payload) // a process that died meanwhile is seen by its exit
}

func (s *sandbox) serveResponse(w http.ResponseWriter, r *http.Request) {
	inv := s.answering(w, r)
	if inv == nil {
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxResponseBytes+1))
	if err != nil {
		writeStatus(w, http.StatusBadRequest, "InvalidBody", err.Error())
		return
	}
	if len(body) > MaxResponseBytes {
		message := fmt.Sprintf("response payload size exceeded maximum allowed payload size (%d bytes)", MaxResponseBytes)
		s.answer(inv, nil, platformError(inv.requestID, ErrorTypeResponseTooLarge, message))
		writeStatus(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", message)
		return
	}
	s.answer(inv, body, streamError(r.Trailer))
	writeStatus(w, http.StatusAccepted, "", "")
}

// streamError returns the error payload of a response whose body broke off, which only the trailers tell; nil otherwise.
func streamError(trailer http.Header) []byte {
	errorType := trailer.Get("Lambda-Runtime-Function-Error-Type")
	if errorType == "" {
		return nil
	}
	body, err := base64.StdEncoding.DecodeString(trailer.Get("Lambda-Runtime-Function-Error-Body"))
	if err != nil || !json.Valid(body) {
		body, _ = json.Marshal(errorPayload{ErrorType: errorType})
	}
	return body
}

func (s *sandbox) serveError(w http.ResponseWriter, r *http.Request) {
	inv := s.answering(w, r)
	if inv == nil {
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxResponseBytes))
	if err != nil {
		writeStatus(w, http.StatusBadRequest, "InvalidBody", err.Error())
		return
	}
	s.answer(inv, nil, body)
	writeStatus(w, http.StatusAccepted, "", "")
}

func (s *sandbox) serveInitError(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxResponseBytes))
	if err != nil {
		writeStatus(w, http.StatusBadRequest, "InvalidBody", err.Error())
		return
	}
	s.mu.Lock()
	s.initError = body
	s.mu.Unlock()
	writeStatus(w, http.StatusAccepted, "", "")
}

// answering returns the invocation that the request answers, or refuses the request and returns nil.
func (s *sandbox) answering(w http.ResponseWriter, r *http.Request) *invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sampleMemory()
	if s.current == nil || s.current.requestID != r.PathValue("id") {
		writeStatus(w, http.StatusBadRequest, "InvalidRequestID", "not the invocation in progress")
		return nil
	}
	if s.current.answered {
		writeStatus(w, http.StatusForbidden, "InvalidStateTransition", "the invocation has been answered")
		return nil
	}
	return s.current
}

func (s *sandbox) answer(inv *invocation, response, failure []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inv.answered, inv.response, inv.failure = true, response, failure
}

// serveRegister accepts an extension that wants no events: all it asks for is SIGTERM.
func (s *sandbox) serveRegister(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Lambda-Extension-Name") == "" {
		writeStatus(w, http.StatusBadRequest, "Extension.InvalidName", "header Lambda-Extension-Name is absent")
		return
	}
	var body struct {
		Events []string `json:"events"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		writeStatus(w, http.StatusBadRequest, "InvalidBody", err.Error())
		return
	}
	if len(body.Events) > 0 {
		writeStatus(w, http.StatusForbidden, "ShutdownEventNotSupportedForInternalExtension", "events are not modelled")
		return
	}
	s.mu.Lock()
	s.sigterm = true
	s.mu.Unlock()
	w.Header().Set("Lambda-Extension-Identifier", uuid.NewString())
	writeJSON(w, http.StatusOK, map[string]string{
		"functionName": s.fn.Name, "functionVersion": "$LATEST", "handler": s.fn.Handler,
	})
}

// serveExtensionNext blocks for the sandbox's life: there are no events for an extension that wants none.
func (s *sandbox) serveExtensionNext(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Lambda-Extension-Identifier") == "" {
		writeStatus(w, http.StatusForbidden, "Extension.InvalidExtensionIdentifier", "header Lambda-Extension-Identifier is absent")
		return
	}
	select {
	case <-r.Context().Done():
	case <-s.exited:
	}
}

// writeStatus answers {"status":"OK"} for 202 and otherwise an error object.
func writeStatus(w http.ResponseWriter, code int, errorType, message string) {
	if code == http.StatusAccepted {
		writeJSON(w, code, map[string]string{"status": "OK"})
		return
	}
	writeJSON(w, code, errorPayload{ErrorType: errorType, ErrorMessage: message})
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a process that died meanwhile is seen by its exit
}
