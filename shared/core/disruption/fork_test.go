package disruption

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMergeSortsWhatWasAddedAtTheEnd(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		list := make([]int, r.IntN(20))
		for i := range list {
			list[i] = r.IntN(20)
		}
		sorted := r.IntN(len(list) + 1)
		slices.Sort(list[:sorted])
		want := slices.Sorted(slices.Values(list))
		if got := merge(slices.Clone(list), sorted); !slices.Equal(got, want) {
			t.Fatalf("%v, sorted up to %d: %v", list, sorted, got)
		}
	}
}
