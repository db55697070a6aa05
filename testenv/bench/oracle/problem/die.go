package problem

import (
	"math/rand/v2"
	"slices"
)

// die is where all choices of a problem come from.
type die struct{ *rand.Rand }

func newDie(seed uint64) die { return die{rand.New(rand.NewPCG(seed, 0x6a6f696e6572))} }

// chance is true so many times of a hundred.
func (d die) chance(percent int) bool { return d.IntN(100) < percent }

// between returns a number from low to high, both included.
func (d die) between(low, high int) int { return low + d.IntN(high-low+1) }

// pick returns one of the list.
func pick[T any](d die, list ...T) T { return list[d.IntN(len(list))] }

// some returns one or more of the list, in its order, seldom all.
func some[T any](d die, list ...T) []T {
	n := 1
	for n < len(list) && d.chance(40) {
		n++
	}
	chosen := d.Perm(len(list))[:n]
	slices.Sort(chosen)
	out := make([]T, n)
	for i, at := range chosen {
		out[i] = list[at]
	}
	return out
}
