package relay

import (
	"errors"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/shared/fault"
)

// translate turns an SDK error into a kind. Nil stays nil.
func translate(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return fault.Wrap(fault.Internal, "", err, format, args...)
	}
	code, kind := api.ErrorCode(), fault.Internal
	switch {
	case code == "ConditionalCheckFailedException":
		kind = fault.Conflict
	case strings.Contains(code, "NonExistentQueue"), strings.Contains(code, "QueueDoesNotExist"), code == "ResourceNotFoundException", code == "NoSuchKey", code == "NoSuchBucket":
		// Of the relay's own parts: never to be taken for an object of the cluster that is not there.
		kind = fault.Internal
	case strings.Contains(code, "Throttl"), code == "OverLimit", code == "SlowDown", code == "ProvisionedThroughputExceededException", code == "RequestLimitExceeded":
		kind = fault.Throttled
	case strings.Contains(code, "AccessDenied"), code == "InvalidClientTokenId", code == "SignatureDoesNotMatch", code == "ExpiredToken", code == "UnrecognizedClientException":
		kind = fault.Denied
	}
	return fault.Wrap(kind, code, err, format, args...)
}
