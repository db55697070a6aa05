package lambdaruntime

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Errors of Invoke: what the service answers instead of running the function.
var (
	// ErrNotFound means no function of that name is deployed.
	ErrNotFound = errors.New("no such function")
	// ErrThrottled means the function's or the account's concurrency is used up.
	ErrThrottled = errors.New("throttled")
	// ErrPayloadTooLarge means the event is over MaxRequestBytes.
	ErrPayloadTooLarge = errors.New("request payload too large")
	// ErrRecursion means the recursion guard stopped a function that keeps calling itself through a queue.
	ErrRecursion = errors.New("recursive loop stopped")
	// ErrStopped means the runner was stopped before the invocation ended.
	ErrStopped = errors.New("runner stopped")
)

// Error types the service itself reports in Result.ErrorType.
const (
	ErrorTypeTimeout           = "Sandbox.Timedout"
	ErrorTypeExit              = "Runtime.ExitError"
	ErrorTypeOutOfMemory       = "Runtime.OutOfMemory"
	ErrorTypeResponseTooLarge  = "Function.ResponseSizeTooLarge"
	ErrorTypeInvalidEntrypoint = "Runtime.InvalidEntrypoint"
)

// Result is what one invocation came to.
type Result struct {
	RequestID string
	SandboxID string
	// Payload is the function's response, or the error as a JSON object when FunctionError is set.
	Payload []byte
	// FunctionError is "Unhandled" when the invocation failed, else empty.
	FunctionError string
	// ErrorType and ErrorMessage are read from the error payload; both are empty on success.
	ErrorType    string
	ErrorMessage string
	// ColdStart says that the invocation started its sandbox; InitDuration is zero when it did not.
	ColdStart    bool
	InitDuration time.Duration
	// Duration runs from the delivery of the event to the request for the next one, or to the end of the process.
	Duration time.Duration
	// BilledDuration is Duration and InitDuration, rounded up to the millisecond.
	BilledDuration time.Duration
	// MaxMemoryMB is the peak resident memory of the process so far; 0 where the platform does not tell.
	MaxMemoryMB int
}

// Err returns nil for a success and otherwise the function's error.
func (r Result) Err() error {
	if r.FunctionError == "" {
		return nil
	}
	return fmt.Errorf("function error %s: %s", r.ErrorType, r.ErrorMessage)
}

type errorPayload struct {
	ErrorType    string `json:"errorType"`
	ErrorMessage string `json:"errorMessage"`
}

// platformError is the payload of an error that the service found, not the function.
func platformError(requestID, errorType, message string) []byte {
	payload, err := json.Marshal(errorPayload{ErrorType: errorType, ErrorMessage: "RequestId: " + requestID + " Error: " + message})
	if err != nil {
		panic(err) // two strings always marshal
	}
	return payload
}

// fail turns the result into a failure with the given error payload.
func (r *Result) fail(payload []byte) {
	r.FunctionError = "Unhandled"
	r.Payload = payload
	var read errorPayload
	if err := json.Unmarshal(payload, &read); err != nil {
		read = errorPayload{ErrorType: "Runtime.Unknown", ErrorMessage: string(payload)}
	}
	r.ErrorType, r.ErrorMessage = read.ErrorType, read.ErrorMessage
}
