package ec2catalog

import (
	"strings"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
)

// translate turns an SDK error into a kind. Nil stays nil.
func translate(err error, format string, args ...any) error {
	return sdkerr.Wrap(err, kindOf, format, args...)
}

func kindOf(code string) fault.Kind {
	switch {
	case strings.Contains(code, "Throttl"), code == "RequestLimitExceeded", code == "TooManyRequestsException":
		return fault.Throttled
	case code == "UnauthorizedOperation", strings.HasPrefix(code, "AccessDenied"), strings.HasPrefix(code,
		"AuthFailure"):
		return fault.Denied
	case strings.HasSuffix(code, ".NotFound"), code == "ParameterNotFound", code == "NoSuchEntity":
		return fault.NotFound
	case strings.HasPrefix(code, "Invalid"), code == "ValidationException", code == "ValidationError":
		return fault.Invalid
	}
	return fault.Internal
}
