package requirement

import (
	"math"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	maxNameLength   = 63  // of the name part of a label key, and of a label value
	maxPrefixLength = 253 // of the DNS name before the slash
	maxMinValues    = 50
)

// Of returns the set of one requirement, whatever its key. Invalid where the operator is unknown, the values do not suit
// it, or minValues is out of range.
func Of(r model.Requirement) (Set, error) {
	set, err := setOf(r)
	if err != nil {
		return Set{}, err
	}
	if r.MinValues < 0 || r.MinValues > maxMinValues {
		return Set{}, fault.New(fault.Invalid, "", "minValues %d of %s is not between 0 and %d", r.MinValues, shorten(r.Key), maxMinValues)
	}
	return set.WithMinValues(r.MinValues), nil
}

func setOf(r model.Requirement) (Set, error) {
	switch r.Operator {
	case model.In, model.NotIn:
		return valuesOf(r)
	case model.Exists, model.DoesNotExist:
		if len(r.Values) > 0 {
			return Set{}, fault.New(fault.Invalid, "", "%s %s takes no values, got %d", shorten(r.Key), r.Operator, len(r.Values))
		}
		if r.Operator == model.Exists {
			return Present(), nil
		}
		return Absent(), nil
	case model.Gt, model.Gte, model.Lt, model.Lte:
		return boundOf(r)
	default:
		return Set{}, fault.New(fault.Invalid, "", "%s has the unknown operator %q; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte",
			shorten(r.Key), shorten(string(r.Operator)))
	}
}

func valuesOf(r model.Requirement) (Set, error) {
	if len(r.Values) == 0 {
		return Set{}, fault.New(fault.Invalid, "", "%s %s needs at least one value", shorten(r.Key), r.Operator)
	}
	for _, value := range r.Values {
		if !validValue(value) {
			return Set{}, fault.New(fault.Invalid, "", "%s %s has the value %q, which no label can have", shorten(r.Key), r.Operator, shorten(value))
		}
	}
	if r.Operator == model.In {
		return Values(r.Values...), nil
	}
	return Not(r.Values...), nil
}

func boundOf(r model.Requirement) (Set, error) {
	if len(r.Values) != 1 {
		return Set{}, fault.New(fault.Invalid, "", "%s %s needs exactly one value, got %d", shorten(r.Key), r.Operator, len(r.Values))
	}
	n, err := strconv.ParseInt(r.Values[0], 10, 64)
	if err != nil {
		return Set{}, fault.New(fault.Invalid, "", "%s %s needs an integer, got %q", shorten(r.Key), r.Operator, shorten(r.Values[0]))
	}
	switch {
	case r.Operator == model.Gt && n == math.MaxInt64, r.Operator == model.Lt && n == math.MinInt64:
		return Set{}, nil // no integer is beyond the last one
	case r.Operator == model.Gt:
		return AtLeast(n + 1), nil
	case r.Operator == model.Gte:
		return AtLeast(n), nil
	case r.Operator == model.Lt:
		return AtMost(n - 1), nil
	default:
		return AtMost(n), nil
	}
}

// validKey reports whether key can be a label's: an optional DNS name and a slash, then a name.
func validKey(key string) bool {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = "", key
	}
	if found && !validPrefix(prefix) {
		return false
	}
	return name != "" && validValue(name)
}

func validPrefix(prefix string) bool {
	if prefix == "" || len(prefix) > maxPrefixLength {
		return false
	}
	for part := range strings.SplitSeq(prefix, ".") {
		if part == "" || !lowerOrDigit(part[0]) || !lowerOrDigit(part[len(part)-1]) {
			return false
		}
		for i := range len(part) {
			if !lowerOrDigit(part[i]) && part[i] != '-' {
				return false
			}
		}
	}
	return true
}

// validValue reports whether value can be a label's: empty, or at most 63 letters, digits, '-', '_' and '.', with a
// letter or digit at either end.
func validValue(value string) bool {
	if value == "" {
		return true
	}
	if len(value) > maxNameLength || !letterOrDigit(value[0]) || !letterOrDigit(value[len(value)-1]) {
		return false
	}
	for i := range len(value) {
		if !letterOrDigit(value[i]) && strings.IndexByte("-_.", value[i]) < 0 {
			return false
		}
	}
	return true
}

func lowerOrDigit(c byte) bool  { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
func letterOrDigit(c byte) bool { return lowerOrDigit(c) || c >= 'A' && c <= 'Z' }

// shorten keeps an error readable whatever was written into the field.
func shorten(text string) string {
	if len(text) > 100 {
		return text[:100] + "…"
	}
	return text
}
