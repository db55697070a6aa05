package expression

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// Env is what the placeholders of one request stand for, shared by all its expressions. It remembers which
// were used. It is not safe for concurrent use.
type Env struct {
	names      map[string]string
	values     map[string]attribute.Value
	usedNames  map[string]bool
	usedValues map[string]bool
}

// NewEnv checks the placeholder maps of a request; nil stands for a map the request did not carry.
func NewEnv(names map[string]string, values map[string]attribute.Value) (*Env, error) {
	if err := checkPlaceholders("ExpressionAttributeNames", '#', names); err != nil {
		return nil, err
	}
	if err := checkPlaceholders("ExpressionAttributeValues", ':', values); err != nil {
		return nil, err
	}
	return &Env{names: names, values: values, usedNames: map[string]bool{}, usedValues: map[string]bool{}}, nil
}

func checkPlaceholders[V any](what string, sigil byte, placeholders map[string]V) error {
	if placeholders != nil && len(placeholders) == 0 {
		return invalidf("%s must not be empty", what)
	}
	for _, key := range slices.Sorted(maps.Keys(placeholders)) {
		if len(key) < 2 || key[0] != sigil || runLength(key[1:], isWordByte) != len(key)-1 {
			return invalidf("%s contains invalid key: Syntax error; key: %q", what, key)
		}
	}
	return nil
}

// Unused refuses placeholders that no expression of the request used.
func (e *Env) Unused() error {
	if err := unused("ExpressionAttributeNames", e.names, e.usedNames); err != nil {
		return err
	}
	return unused("ExpressionAttributeValues", e.values, e.usedValues)
}

func unused[V any](what string, defined map[string]V, used map[string]bool) error {
	var rest []string
	for _, key := range slices.Sorted(maps.Keys(defined)) {
		if !used[key] {
			rest = append(rest, key)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return invalidf("Value provided in %s unused in expressions: keys: {%s}", what, strings.Join(rest, ", "))
}

func invalidf(format string, args ...any) error {
	return &attribute.ValidationError{Message: fmt.Sprintf(format, args...)}
}
