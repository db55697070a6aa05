package requirement

import (
	"math"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/model"
)

// Set is what one label may be on a node. The zero Set allows nothing, not even that the label is absent.
//
// Its representation is canonical, so that Equal is meaning: values are sorted and unique; a concrete set has no bounds;
// excluded values that the bounds refuse anyway are left out.
type Set struct {
	values  []string // allowed; with complement, excluded
	lower   int64    // valid with hasLower; bounds are inclusive and only on complements
	upper   int64    // valid with hasUpper
	minimum int      // minValues; 0 = none

	complement         bool
	hasLower, hasUpper bool
	absent             bool // a node without the label is acceptable; never with bounds
}

// Any allows every value and absence: what a key without a requirement may be.
func Any() Set { return Set{complement: true, absent: true} }

// Values allows exactly these values, like In.
func Values(values ...string) Set { return Set{values: sorted(values)} }

// Not allows every value but these, and absence, like NotIn.
func Not(values ...string) Set { return Set{values: sorted(values), complement: true, absent: true} }

// Present allows every value, like Exists.
func Present() Set { return Set{complement: true} }

// Absent allows no value, like DoesNotExist.
func Absent() Set { return Set{absent: true} }

// AtLeast allows integers from lower on.
func AtLeast(lower int64) Set { return Set{complement: true, lower: lower, hasLower: true} }

// AtMost allows integers up to upper.
func AtMost(upper int64) Set { return Set{complement: true, upper: upper, hasUpper: true} }

// WithMinValues returns the set with minValues raised to n.
func (s Set) WithMinValues(n int) Set {
	s.minimum = max(s.minimum, n)
	return s
}

// LowerMinValues returns the set with minValues at most n.
func (s Set) LowerMinValues(n int) Set {
	s.minimum = min(s.minimum, n)
	return s
}

// MinValues returns how many distinct values the acceptable instance types must cover; 0 = no condition.
func (s Set) MinValues() int { return s.minimum }

// Intersect returns what both allow.
func (s Set) Intersect(t Set) Set {
	out := Set{absent: s.absent && t.absent, minimum: max(s.minimum, t.minimum)}
	out.lower, out.hasLower = tighter(s.lower, s.hasLower, t.lower, t.hasLower, func(x, y int64) int64 { return max(x, y) })
	out.upper, out.hasUpper = tighter(s.upper, s.hasUpper, t.upper, t.hasUpper, func(x, y int64) int64 { return min(x, y) })
	switch {
	case s.complement && t.complement:
		out.complement = true
		out.values = sorted(append(slices.Clone(s.values), t.values...))
	case s.complement:
		out.values = without(t.values, s.values)
	case t.complement:
		out.values = without(s.values, t.values)
	default:
		out.values = slices.DeleteFunc(slices.Clone(s.values), func(v string) bool { return !contains(t.values, v) })
	}
	return out.canonical()
}

// Has reports whether a node whose label is value meets the set.
func (s Set) Has(value string) bool {
	return contains(s.values, value) != s.complement && s.within(value)
}

// AllowsAbsent reports whether a node without the label meets the set.
func (s Set) AllowsAbsent() bool { return s.absent }

// AllowsValue reports whether any value at all may meet the set. It is optimistic: a complement is taken to leave
// something over, however narrow its bounds.
func (s Set) AllowsValue() bool { return s.complement || len(s.values) > 0 }

// Possible reports whether anything, a value or absence, meets the set.
func (s Set) Possible() bool { return s.AllowsValue() || s.absent }

// Meets reports whether something can meet both sets. NotIn and DoesNotExist always meet each other: a node without the
// label meets both.
func (s Set) Meets(t Set) bool { return s.Intersect(t).Possible() }

// Within reports whether everything s allows is allowed by t.
func (s Set) Within(t Set) bool {
	if s.absent && !t.absent {
		return false
	}
	s.minimum, t.minimum = 0, 0
	both := s.Intersect(t)
	return both.Equal(s)
}

// Equal reports whether both sets allow the same and ask for the same minValues.
func (s Set) Equal(t Set) bool {
	return s.complement == t.complement && s.absent == t.absent && s.minimum == t.minimum &&
		s.hasLower == t.hasLower && (!s.hasLower || s.lower == t.lower) &&
		s.hasUpper == t.hasUpper && (!s.hasUpper || s.upper == t.upper) && slices.Equal(s.values, t.values)
}

// Listed returns the allowed values, sorted, where they can be listed; false for a complement, which allows endless many.
func (s Set) Listed() ([]string, bool) { return slices.Clone(s.values), !s.complement }

// Single returns the one value the set allows; false where it allows none, several or absence.
func (s Set) Single() (string, bool) {
	if s.complement || s.absent || len(s.values) != 1 {
		return "", false
	}
	return s.values[0], true
}

// Pick returns a value that meets the set, always the same one: the first of listed values, else the smallest decimal
// integer ≥ 0 that is allowed. False where there is none.
func (s Set) Pick() (string, bool) {
	if !s.complement {
		if len(s.values) == 0 {
			return "", false
		}
		return s.values[0], true
	}
	candidate := int64(0)
	if s.hasLower {
		candidate = max(0, s.lower)
	}
	// Each excluded value refuses at most one candidate, so that one more than there are values must succeed.
	for range len(s.values) + 1 {
		if value := strconv.FormatInt(candidate, 10); s.Has(value) {
			return value, true
		}
		if candidate == math.MaxInt64 {
			break
		}
		candidate++
	}
	return "", false
}

// Operator returns the operator that says most of the set: In, NotIn, Exists or DoesNotExist. Bounds read as Exists.
func (s Set) Operator() model.Operator {
	switch {
	case s.complement && len(s.values) > 0:
		return model.NotIn
	case s.complement:
		return model.Exists
	case len(s.values) > 0:
		return model.In
	default:
		return model.DoesNotExist
	}
}

// canonical brings a set whose values are sorted into the one form that stands for its meaning.
func (s Set) canonical() Set {
	if s.hasLower && s.hasUpper && s.lower > s.upper {
		return Set{minimum: s.minimum}
	}
	if s.hasLower || s.hasUpper {
		s.absent = false
		s.values = slices.DeleteFunc(slices.Clone(s.values), func(v string) bool { return !s.within(v) })
	}
	if !s.complement {
		s.lower, s.upper, s.hasLower, s.hasUpper = 0, 0, false, false
	}
	return s
}

// within reports whether value meets the bounds; only an integer meets any.
func (s Set) within(value string) bool {
	if !s.hasLower && !s.hasUpper {
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && (!s.hasLower || n >= s.lower) && (!s.hasUpper || n <= s.upper)
}

func tighter(x int64, hasX bool, y int64, hasY bool, pick func(x, y int64) int64) (int64, bool) {
	switch {
	case hasX && hasY:
		return pick(x, y), true
	case hasX:
		return x, true
	case hasY:
		return y, true
	default:
		return 0, false
	}
}

func sorted(values []string) []string {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

func contains(values []string, value string) bool {
	_, found := slices.BinarySearch(values, value)
	return found
}

func without(values, excluded []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return contains(excluded, v) })
}
