package sdkerr

import (
	"errors"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/shared/fault"
)

// Code returns the code with which AWS refused a request, "" where err is anything else.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// Message returns the text with which AWS refused a request, "" where err is anything else.
func Message(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorMessage()
	}
	return ""
}

// Wrap returns err as an error of the kind that its code means, Internal where it has none. Nil stays nil.
func Wrap(err error, kindOf func(code string) fault.Kind, format string, args ...any) error {
	kind, code := fault.Internal, Code(err)
	if code != "" {
		kind = kindOf(code)
	}
	return fault.Wrap(kind, code, err, format, args...)
}

// WrapStatus returns err as an error of the kind that the answer's HTTP status means, Internal where there is no
// answer. Nil stays nil.
func WrapStatus(err error, format string, args ...any) error {
	kind := fault.Internal
	switch Status(err) {
	case http.StatusNotFound:
		kind = fault.NotFound
	case http.StatusForbidden, http.StatusUnauthorized:
		kind = fault.Denied
	case http.StatusPreconditionFailed, http.StatusConflict:
		kind = fault.Conflict
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		kind = fault.Throttled
	case http.StatusBadRequest:
		kind = fault.Invalid
	}
	return fault.Wrap(kind, Code(err), err, format, args...)
}

// Status returns the HTTP status of the answer that err is about, 0 where there is none.
func Status(err error) int {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}
