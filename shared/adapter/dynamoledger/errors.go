package dynamoledger

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/shared/fault"
)

// translate turns an SDK error into a kind. Nil stays nil.
func translate(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	var condition *types.ConditionalCheckFailedException
	if errors.As(err, &condition) {
		return fault.Wrap(fault.Conflict, "ConditionalCheckFailed", err, format, args...)
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return fault.Wrap(fault.Internal, "", err, format, args...)
	}
	kind := fault.Internal
	switch api.ErrorCode() {
	case "TransactionCanceledException", "TransactionConflictException", "TransactionInProgressException":
		kind = fault.Conflict
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
		kind = fault.Throttled
	case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException":
		kind = fault.Denied
	case "ValidationException", "ItemCollectionSizeLimitExceededException":
		kind = fault.Invalid
	case "ResourceNotFoundException":
		kind = fault.NotFound
	}
	return fault.Wrap(kind, api.ErrorCode(), err, format, args...)
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
