package dynamoledger

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
)

// translate turns an SDK error into a kind. Nil stays nil.
func translate(err error, format string, args ...any) error {
	if _, failed := unmet(err); failed {
		return fault.Wrap(fault.Conflict, "ConditionalCheckFailed", err, format, args...)
	}
	return sdkerr.Wrap(err, kindOf, format, args...)
}

func kindOf(code string) fault.Kind {
	switch code {
	case "TransactionCanceledException", "TransactionConflictException", "TransactionInProgressException":
		return fault.Conflict
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
		return fault.Throttled
	case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException":
		return fault.Denied
	case "ValidationException", "ItemCollectionSizeLimitExceededException":
		return fault.Invalid
	case "ResourceNotFoundException":
		return fault.NotFound
	}
	return fault.Internal
}

// unmet reports whether the condition of a write outside of transactions did not hold, and returns what is there where
// the write asked for it.
func unmet(err error) (there item, failed bool) {
	var condition *types.ConditionalCheckFailedException
	if !errors.As(err, &condition) {
		return nil, false
	}
	return condition.Item, true
}

// canceled returns why each action of a transaction was refused, in their order; nil where err is no cancellation.
func canceled(err error) []types.CancellationReason {
	var c *types.TransactionCanceledException
	if errors.As(err, &c) {
		return c.CancellationReasons
	}
	return nil
}

// refused reports whether the i-th action's own condition did not hold.
func refused(reasons []types.CancellationReason, i int) bool {
	return i < len(reasons) && reasons[i].Code != nil && *reasons[i].Code == "ConditionalCheckFailed"
}

// conflicting reports whether a transaction failed for nothing but another one at the same items at the same moment.
func conflicting(err error) bool {
	var conflict bool
	for _, reason := range canceled(err) {
		if reason.Code == nil || *reason.Code == "None" {
			continue
		}
		if *reason.Code != "TransactionConflict" {
			return false
		}
		conflict = true
	}
	return conflict
}
