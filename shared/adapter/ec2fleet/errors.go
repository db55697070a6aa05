package ec2fleet

import (
	"strings"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
)

// kinds of whole-call errors by code; prefixes where they end in a dot. Throttled, Denied, Invalid and NoCapacity mean
// that EC2 did nothing. Every other code that begins with Invalid is Invalid too. Source: EC2 API reference, "Error
// codes for the Amazon EC2 API".
var kinds = map[string]fault.Kind{
	"RequestLimitExceeded": fault.Throttled, "Throttling": fault.Throttled, "ThrottlingException": fault.Throttled,
	"EC2ThrottledException": fault.Throttled,

	"UnauthorizedOperation": fault.Denied, "AuthFailure": fault.Denied, "AccessDenied": fault.Denied,
	"OptInRequired": fault.Denied, "Blocked": fault.Denied,
	"PendingVerification": fault.Denied, "AuthFailure.": fault.Denied, "InvalidClientTokenId": fault.Denied,
	"ExpiredToken":   fault.Denied,
	"RequestExpired": fault.Denied, "SignatureDoesNotMatch": fault.Denied,

	"MissingParameter": fault.Invalid, "UnknownParameter": fault.Invalid, "ValidationError": fault.Invalid,
	"UserDataSizeLimitExceeded": fault.Invalid,

	"InsufficientInstanceCapacity": fault.NoCapacity, "VcpuLimitExceeded": fault.NoCapacity,
	"MaxSpotInstanceCountExceeded": fault.NoCapacity,
	"InstanceLimitExceeded":        fault.NoCapacity, "MaxFleetCountExceeded": fault.NoCapacity,
	"UnfulfillableCapacity":             fault.NoCapacity,
	"InsufficientFreeAddressesInSubnet": fault.NoCapacity,

	// Whoever used this token before has already got what it asked for.
	"IdempotentParameterMismatch": fault.Conflict,
}

// templateGone reports whether the code says that a launch template does not exist.
func templateGone(code string) bool { return strings.HasPrefix(code, "InvalidLaunchTemplate") }

// translate turns an SDK error into a kind. Nil stays nil.
func translate(err error, format string, args ...any) error {
	return sdkerr.Wrap(err, kindOf, format, args...)
}

func kindOf(code string) fault.Kind {
	kind, known := kinds[code]
	if prefix, _, dotted := strings.Cut(code, "."); !known && dotted {
		kind, known = kinds[prefix+"."]
	}
	if !known && strings.HasPrefix(code, "Invalid") {
		kind = fault.Invalid
	}
	return kind
}
