package attribute

import (
	"slices"
	"strings"
)

// Compare orders two values of the same ordered kind (S and B by bytes, N by value): negative, zero or
// positive. ok is false for values of different or unordered kinds.
func Compare(a, b Value) (order int, ok bool) {
	if a.Kind != b.Kind {
		return 0, false
	}
	switch a.Kind {
	case S, B:
		return strings.Compare(a.Text, b.Text), true
	case N:
		return a.Number.Compare(b.Number), true
	}
	return 0, false
}

// Equal reports whether two values have the same kind and content. Numbers are equal by value (1 and
// 1.0), sets regardless of order, maps and lists deeply. Absent equals nothing, not even itself.
func Equal(a, b Value) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case S, B:
		return a.Text == b.Text
	case N:
		return a.Number.Compare(b.Number) == 0
	case BOOL:
		return a.Bool == b.Bool
	case NULL:
		return true
	case L:
		return slices.EqualFunc(a.List, b.List, Equal)
	case SS, NS, BS:
		return slices.EqualFunc(a.Set, b.Set, Equal)
	case M:
		return equalMaps(a.Map, b.Map)
	}
	return false
}

// EqualItems reports whether two items have the same attributes with equal values. Two nil items are equal.
func EqualItems(a, b Item) bool {
	return (a == nil) == (b == nil) && equalMaps(a, b)
}

func equalMaps(a, b map[string]Value) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if !Equal(v, b[name]) {
			return false
		}
	}
	return true
}

// HasMember reports whether the set contains the member.
func (v Value) HasMember(member Value) bool {
	_, found := v.find(member)
	return found
}

func (v Value) find(member Value) (int, bool) {
	if v.Kind.MemberKind() != member.Kind {
		return 0, false
	}
	return slices.BinarySearchFunc(v.Set, member, func(a, b Value) int {
		c, _ := Compare(a, b)
		return c
	})
}

// Union returns the set with the members of other added. Both must be sets of the same kind.
func (v Value) Union(other Value) Value {
	union := slices.Clone(v.Set)
	for _, m := range other.Set {
		at, found := Value{Kind: v.Kind, Set: union}.find(m)
		if !found {
			union = slices.Insert(union, at, m)
		}
	}
	return Value{Kind: v.Kind, Set: union}
}

// Without returns the set less the members of other; Absent when none is left, since no set is empty.
func (v Value) Without(other Value) Value {
	rest := slices.DeleteFunc(slices.Clone(v.Set), other.HasMember)
	if len(rest) == 0 {
		return Value{}
	}
	return Value{Kind: v.Kind, Set: rest}
}

// Depth returns how deeply the value nests: 0 for a scalar or set, 1 for a list of scalars.
func (v Value) Depth() int {
	if v.Kind != L && v.Kind != M {
		return 0
	}
	deepest := 0
	for _, e := range v.List {
		deepest = max(deepest, e.Depth())
	}
	for _, e := range v.Map {
		deepest = max(deepest, e.Depth())
	}
	return deepest + 1
}
