package vector

import "math/bits"

// Bitset is a set of column numbers. Values that are shared between pod groups and nodes are never written to.
type Bitset []uint64

// NewBitset returns the empty set of numbers below n.
func NewBitset(n int) Bitset { return make(Bitset, (n+63)/64) }

// Set puts i into the set.
func (b Bitset) Set(i int) { b[i>>6] |= 1 << (i & 63) }

// Clear takes i out of the set.
func (b Bitset) Clear(i int) { b[i>>6] &^= 1 << (i & 63) }

// Has reports whether i is in the set.
func (b Bitset) Has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }

// And returns what is in both.
func (b Bitset) And(c Bitset) Bitset {
	out := make(Bitset, len(b))
	for i := range b {
		out[i] = b[i] & c[i]
	}
	return out
}

// Or returns what is in either.
func (b Bitset) Or(c Bitset) Bitset {
	out := make(Bitset, len(b))
	for i := range b {
		out[i] = b[i] | c[i]
	}
	return out
}

// Meets reports whether anything is in both.
func (b Bitset) Meets(c Bitset) bool {
	for i := range b {
		if b[i]&c[i] != 0 {
			return true
		}
	}
	return false
}

// Meet reports whether anything is in all three.
func Meet(a, b, c Bitset) bool {
	for i := range a {
		if a[i]&b[i]&c[i] != 0 {
			return true
		}
	}
	return false
}

// Empty reports whether nothing is in the set.
func (b Bitset) Empty() bool {
	for _, word := range b {
		if word != 0 {
			return false
		}
	}
	return true
}

// Count returns how many numbers are in the set.
func (b Bitset) Count() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// Next returns the smallest member that is at least i, -1 where there is none.
func (b Bitset) Next(i int) int {
	if i>>6 >= len(b) {
		return -1
	}
	word := b[i>>6] >> (i & 63) << (i & 63)
	for w := i >> 6; ; {
		if word != 0 {
			return w<<6 + bits.TrailingZeros64(word)
		}
		if w++; w >= len(b) {
			return -1
		}
		word = b[w]
	}
}
