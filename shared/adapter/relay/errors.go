package relay

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
	case code == "ConditionalCheckFailedException":
		return fault.Conflict
	case strings.Contains(code, "NonExistentQueue"), strings.Contains(code, "QueueDoesNotExist"),
		code == "ResourceNotFoundException", code == "NoSuchKey", code == "NoSuchBucket":
		// Of the relay's own parts: never to be taken for an object of the cluster that is not there.
		return fault.Internal
	case strings.Contains(code, "Throttl"), code == "OverLimit", code == "SlowDown",
		code == "ProvisionedThroughputExceededException", code == "RequestLimitExceeded":
		return fault.Throttled
	case strings.Contains(code, "AccessDenied"), code == "InvalidClientTokenId", code == "SignatureDoesNotMatch",
		code == "ExpiredToken", code == "UnrecognizedClientException":
		return fault.Denied
	}
	return fault.Internal
}
