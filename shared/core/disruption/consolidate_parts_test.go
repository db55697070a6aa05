package disruption

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Numbers that were joined, in whatever order and through whatever others, are of one set, which its least number names.
func TestSetsAreNamedByTheirLeastNumber(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := 1 + r.IntN(12)
		joined, least := newSets(n), make([]int, n)
		for i := range least {
			least[i] = i
		}
		for range r.IntN(n + 1) {
			a, b := r.IntN(n), r.IntN(n)
			joined.join(a, b)
			low, high := min(least[a], least[b]), max(least[a], least[b])
			for i := range least {
				if least[i] == high {
					least[i] = low
				}
			}
		}
		for i := range least {
			if got := joined.least(i); got != least[i] {
				t.Fatalf("seed %d: %d is in the set of %d, want %d", seed, i, got, least[i])
			}
		}
		slices.Sort(least)
		if want := slices.Compact(least); !slices.Equal(joined.leasts(), want) {
			t.Fatalf("seed %d: the sets are %v, want %v", seed, joined.leasts(), want)
		}
	}
}
