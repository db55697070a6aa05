package attribute

import (
	"maps"
	"slices"
	"strconv"
)

// Kind is the type of a value. The zero Kind is no value at all.
type Kind uint8

// The ten DynamoDB types, in the order AWS documents them.
const (
	Absent Kind = iota
	S
	N
	B
	BOOL
	NULL
	M
	L
	SS
	NS
	BS
)

var kindNames = [...]string{"", "S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}

var kindWords = [...]string{"", "STRING", "NUMBER", "BINARY", "BOOLEAN", "NULL", "MAP", "LIST",
	"STRING_SET", "NUMBER_SET", "BINARY_SET"}

// String returns the tag of the wire: "S", "NS"…; "" for Absent.
func (k Kind) String() string { return kindNames[k] }

// Word returns the long name AWS uses in errors about ADD and DELETE: "STRING_SET"…
func (k Kind) Word() string { return kindWords[k] }

// ParseKind returns the kind of a wire tag; ok is false for an unknown tag.
func ParseKind(tag string) (kind Kind, ok bool) {
	i := slices.Index(kindNames[1:], tag)
	return Kind(i + 1), i >= 0
}

// IsSet reports whether k is SS, NS or BS.
func (k Kind) IsSet() bool { return k >= SS }

// IsOrdered reports whether values of k can be compared with < and serve as keys: S, N and B.
func (k Kind) IsOrdered() bool { return k == S || k == N || k == B }

// Value is one attribute value. Only the field that belongs to Kind is meaningful.
type Value struct {
	Kind Kind
	// Text is the text of an S (UTF-8) or the raw bytes of a B.
	Text string
	// Number is the value of an N.
	Number Number
	// Bool is the value of a BOOL.
	Bool bool
	// Map is the content of an M; never nil for kind M.
	Map map[string]Value
	// List is the content of an L, in order.
	List []Value
	// Set holds the members of an SS, NS or BS as S, N or B values, ascending and without duplicates.
	Set []Value
}

// String makes an S.
func String(s string) Value { return Value{Kind: S, Text: s} }

// Bytes makes a B.
func Bytes(b []byte) Value { return Value{Kind: B, Text: string(b)} }

// Int makes an N from an integer.
func Int(i int64) Value {
	n, err := ParseNumber(strconv.FormatInt(i, 10))
	if err != nil {
		panic(err) // an int64 has at most 19 digits
	}
	return Value{Kind: N, Number: n}
}

// Num makes an N.
func Num(n Number) Value { return Value{Kind: N, Number: n} }

// Bool makes a BOOL.
func Bool(b bool) Value { return Value{Kind: BOOL, Bool: b} }

// Null makes a NULL.
func Null() Value { return Value{Kind: NULL} }

// List makes an L.
func List(elements ...Value) Value { return Value{Kind: L, List: elements} }

// Map makes an M; nil stands for the empty map.
func Map(fields map[string]Value) Value {
	if fields == nil {
		fields = map[string]Value{}
	}
	return Value{Kind: M, Map: fields}
}

// Set makes an SS, NS or BS from members of the fitting kind. Duplicates and an empty set are errors.
func Set(kind Kind, members []Value) (Value, error) {
	if len(members) == 0 {
		return Value{}, invalidf("One or more parameter values were invalid: %s", emptySet[kind])
	}
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, func(a, b Value) int {
		c, _ := Compare(a, b)
		return c
	})
	for i := 1; i < len(sorted); i++ {
		if Equal(sorted[i-1], sorted[i]) {
			return Value{}, duplicateIn(kind, members)
		}
	}
	return Value{Kind: kind, Set: sorted}, nil
}

// IsAbsent reports whether there is no value.
func (v Value) IsAbsent() bool { return v.Kind == Absent }

// MemberKind returns the kind of a set's members: S for SS, N for NS, B for BS, Absent otherwise.
func (k Kind) MemberKind() Kind {
	switch k {
	case SS:
		return S
	case NS:
		return N
	case BS:
		return B
	}
	return Absent
}

// Item is a whole item: its top-level attributes by name. A nil Item is no item.
type Item map[string]Value

// Clone returns a copy that shares the values, which nobody changes. Clone of nil is nil.
func (it Item) Clone() Item { return maps.Clone(it) }
