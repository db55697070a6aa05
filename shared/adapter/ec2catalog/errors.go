package ec2catalog

import (
	"errors"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/shared/fault"
)

// translate turns an SDK error into a kind by its code.
func translate(err error, format string, args ...any) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return fault.Wrap(fault.Internal, "", err, format, args...)
	}
	code := api.ErrorCode()
	kind := fault.Internal
	switch {
	case strings.Contains(code, "Throttl"), code == "RequestLimitExceeded", code == "TooManyRequestsException":
		kind = fault.Throttled
	case code == "UnauthorizedOperation", strings.HasPrefix(code, "AccessDenied"), strings.HasPrefix(code, "AuthFailure"):
		kind = fault.Denied
	case strings.HasSuffix(code, ".NotFound"), code == "ParameterNotFound", code == "NoSuchEntity":
		kind = fault.NotFound
	case strings.HasPrefix(code, "Invalid"), code == "ValidationException", code == "ValidationError":
		kind = fault.Invalid
	}
	return fault.Wrap(kind, code, err, format, args...)
}
