package dynamodb

import (
	"errors"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

const validationException = "ValidationException"

func invalidf(format string, args ...any) error {
	return wire.Errorf(validationException, format, args...)
}

// asWire returns err as the wire answers it: a *wire.Error stays, a refused value or expression becomes a
// ValidationException. Any other error is a fault of the model.
func asWire(err error) error {
	if refused, ok := errors.AsType[*attribute.ValidationError](err); ok {
		return invalidf("%s", refused.Message)
	}
	return err
}

// validationMessage returns the message of a ValidationException; ok is false for every other error.
func validationMessage(err error) (message string, ok bool) {
	e, isWire := errors.AsType[*wire.Error](asWire(err))
	if !isWire || e.Code != validationException {
		return "", false
	}
	return e.Message, true
}

func errTableNotFound(name string) error {
	return wire.Errorf("ResourceNotFoundException", "Requested resource not found: Table: %s not found", name)
}

// errNoTable is what item operations answer, without the name.
func errNoTable() error {
	return wire.Errorf("ResourceNotFoundException", "Requested resource not found")
}

func errInUse(format string, args ...any) error {
	return wire.Errorf("ResourceInUseException", format, args...)
}

// conflictMessage is what AWS says when another request holds an item.
const conflictMessage = "Transaction is ongoing for the item"

func errConflict() error {
	return wire.Errorf("TransactionConflictException", conflictMessage)
}

const conditionMessage = "The conditional request failed"

// conditionFailed says that a condition did not hold; item is what was there when the request asked to see
// it, else nil.
type conditionFailed struct{ item attribute.Item }

func (e *conditionFailed) Error() string { return conditionMessage }

func (e *conditionFailed) wire() error {
	refusal := wire.Errorf("ConditionalCheckFailedException", conditionMessage)
	if e.item != nil {
		refusal.Members = map[string]any{"Item": e.item}
	}
	return refusal
}

// checkEnum refuses a value outside the enumeration; "" stands for the default and passes.
func checkEnum(member, value string, allowed ...string) error {
	if value == "" {
		return nil
	}
	list := ""
	for i, a := range allowed {
		if a == value {
			return nil
		}
		if i > 0 {
			list += ", "
		}
		list += a
	}
	return outside(member, value, "Member must satisfy enum value set: ["+list+"]")
}

// outside refuses a parameter whose value breaks a rule of the service model.
func outside(member string, value any, rule string) error {
	return invalidf("1 validation error detected: Value '%v' at '%s' failed to satisfy constraint: %s", value, member, rule)
}

// absent refuses a request that lacks a parameter it must have.
func absent(member string) error {
	return invalidf("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", member)
}
