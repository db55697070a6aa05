package dynamodb

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// The codes of cancellation reasons.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
	reasonConflict  = "TransactionConflict"
	reasonInvalid   = "ValidationError"
)

// reasons are the cancellation reasons of a transaction, one for each action.
type reasons []CancellationReason

func newReasons(n int) reasons {
	return slices.Repeat(reasons{{Code: reasonNone}}, n)
}

func (r reasons) conflict(i int) {
	r[i] = CancellationReason{Code: reasonConflict, Message: conflictMessage}
}

// invalid notes a validation error of action i; it returns false for any other error.
func (r reasons) invalid(i int, err error) bool {
	message, ok := validationMessage(err)
	if ok {
		r[i] = CancellationReason{Code: reasonInvalid, Message: message}
	}
	return ok
}

// canceled returns the error of a transaction that has a reason not to happen, nil if it has none.
func (r reasons) canceled() error {
	codes, found := make([]string, len(r)), false
	for i, reason := range r {
		codes[i] = reason.Code
		found = found || reason.Code != reasonNone
	}
	if !found {
		return nil
	}
	message := fmt.Sprintf("Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	return &wire.Error{Code: "TransactionCanceledException", Members: map[string]any{
		"Message": message, "CancellationReasons": []CancellationReason(r),
	}}
}
