package newnodes

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRatiosAreComparedWithoutRounding compares prices for what is carried with fractions of any size.
func TestRatiosAreComparedWithoutRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Int64Range(1, 4), rapid.Int64Range(1, 1<<62))
		a, b, x, y := number.Draw(t, "price"), number.Draw(t, "value"), number.Draw(t, "other price"), number.Draw(t, "other value")
		got, want := compareRatios(a, b, x, y), big.NewRat(a, b).Cmp(big.NewRat(x, y))
		if want != 0 && got != want {
			t.Fatalf("%d/%d against %d/%d is %d, want %d", a, b, x, y, got, want)
		}
		if want == 0 && (got == 0) != (b == y) {
			t.Fatalf("%d/%d against %d/%d is %d, and what is worth more goes first", a, b, x, y, got)
		}
	})
}

// TestRankingSortsAsFarAsItIsAsked compares the heap with sorting all of it.
func TestRankingSortsAsFarAsItIsAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := make([]ratio, rapid.IntRange(0, 30).Draw(t, "offerings"))
		for i := range list {
			list[i] = ratio{i, rapid.Int64Range(1, 9).Draw(t, "price"), rapid.Int64Range(0, 3).Draw(t, "carried")}
		}
		sorted := slices.Clone(list)
		slices.SortFunc(sorted, func(a, b ratio) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
		ranks := newRanking(list)
		for _, rank := range rapid.SliceOf(rapid.IntRange(0, 35)).Draw(t, "ranks") {
			column, is := ranks.at(rank)
			if is != (rank < len(sorted)) || is && column != sorted[rank].column {
				t.Fatalf("offering %d of %v is of column %d (%v)", rank, sorted, column, is)
			}
		}
	})
}
