package wire

import (
	"errors"
	"fmt"
	"net/http"
)

// Error is a refusal as a client sees it. It is written in the envelope of
// whichever protocol the request came in.
type Error struct {
	Code    string // e.g. "ConditionalCheckFailedException"
	Message string
	Status  int // HTTP status; 0 means 400
	// QueryCode is the older code of a service that has moved from the Query
	// protocol to JSON (SQS), e.g. "AWS.SimpleQueueService.NonExistentQueue".
	// Empty for all others.
	QueryCode string
	// Members are further members of a JSON error, e.g. CancellationReasons.
	// XML protocols ignore them. May be nil.
	Members map[string]any
	// Headers are set on the response, e.g. "Retry-After". May be nil.
	Headers map[string]string
}

// Errorf returns a client error (status 400) with a formatted message.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// StatusErrorf returns an error with the given HTTP status.
func StatusErrorf(status int, code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: status}
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// HTTPStatus returns the status to answer with, never 0.
func (e *Error) HTTPStatus() int {
	if e.Status == 0 {
		return http.StatusBadRequest
	}
	return e.Status
}

// sender tells whether the client is to blame.
func (e *Error) sender() bool { return e.HTTPStatus() < 500 }

// AsError returns err as an *Error. Anything that is not one already becomes an
// InternalFailure with status 500 that carries err's text. A nil err gives nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return StatusErrorf(http.StatusInternalServerError, "InternalFailure", "%v", err)
}

// ErrorNoter is a ResponseWriter that wants to know the code of the error
// written to it, whatever the protocol hides it in. The front door counts by it.
type ErrorNoter interface {
	NoteError(code string)
}

func setHeaders(w http.ResponseWriter, e *Error) {
	if n, ok := w.(ErrorNoter); ok {
		n.NoteError(e.Code)
	}
	for name, value := range e.Headers {
		w.Header().Set(name, value)
	}
}
