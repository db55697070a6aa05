package pack

import "math/bits"

// bitset is a set of column numbers. Values that are shared between pod groups and nodes are never written to.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) clear(i int)    { b[i>>6] &^= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }

// and returns what is in both.
func (b bitset) and(c bitset) bitset {
	out := make(bitset, len(b))
	for i := range b {
		out[i] = b[i] & c[i]
	}
	return out
}

// or returns what is in either.
func (b bitset) or(c bitset) bitset {
	out := make(bitset, len(b))
	for i := range b {
		out[i] = b[i] | c[i]
	}
	return out
}

// meets reports whether anything is in both.
func (b bitset) meets(c bitset) bool {
	for i := range b {
		if b[i]&c[i] != 0 {
			return true
		}
	}
	return false
}

// meet reports whether anything is in all three.
func meet(a, b, c bitset) bool {
	for i := range a {
		if a[i]&b[i]&c[i] != 0 {
			return true
		}
	}
	return false
}

func (b bitset) empty() bool {
	for _, word := range b {
		if word != 0 {
			return false
		}
	}
	return true
}

func (b bitset) count() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// next returns the smallest member that is at least i, -1 where there is none.
func (b bitset) next(i int) int {
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
