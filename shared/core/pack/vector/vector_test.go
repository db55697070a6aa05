package vector

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawn draws a vector of small amounts, so that many are equal and many do not fit by one.
func drawn(t *rapid.T, dims int, what string) Vector {
	return rapid.SliceOfN(rapid.Int64Range(-1, 6), dims, dims).Draw(t, what)
}

// TestFinderFindsTheFirstSlotWithRoom compares the tree with looking at one slot after the other, while what is free
// changes.
func TestFinderFindsTheFirstSlotWithRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims, count := rapid.IntRange(1, 3).Draw(t, "dims"), rapid.IntRange(0, 40).Draw(t, "count")
		free := make([]Vector, count)
		for i := range free {
			free[i] = drawn(t, dims, "free")
		}
		find := NewFinder(dims, count, func(slot int) Vector { return free[slot] })
		for range 20 {
			if count > 0 {
				i := rapid.IntRange(0, count-1).Draw(t, "changed")
				free[i] = drawn(t, dims, "free")
				find.Update(i, free[i])
			}
			request, from := drawn(t, dims, "request"), rapid.IntRange(0, count+1).Draw(t, "from")
			want := -1
			for i := from; i < count && want < 0; i++ {
				if request.Fits(free[i]) {
					want = i
				}
			}
			if got := find.First(request, from); got != want {
				t.Fatalf("first slot for %v from %d of %v is %d, want %d", request, from, free, got, want)
			}
		}
	})
}

// TestBitsetIsASet compares it with a map.
func TestBitsetIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 200
		a, b := NewBitset(size), NewBitset(size)
		inA, inB := map[int]bool{}, map[int]bool{}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, size-1)).Draw(t, "a") {
			a.Set(i)
			inA[i] = true
		}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, size-1)).Draw(t, "b") {
			b.Set(i)
			inB[i] = true
		}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, size-1)).Draw(t, "cleared") {
			a.Clear(i)
			delete(inA, i)
		}
		var list, both, either []int
		for i := a.Next(0); i >= 0; i = a.Next(i + 1) {
			list = append(list, i)
		}
		for i := range size {
			if inA[i] != a.Has(i) {
				t.Fatalf("%d is in the set: %v, want %v", i, a.Has(i), inA[i])
			}
			if inA[i] && inB[i] {
				both = append(both, i)
			}
			if inA[i] || inB[i] {
				either = append(either, i)
			}
		}
		if len(list) != len(inA) || a.Count() != len(inA) || a.Empty() != (len(inA) == 0) || !slices.IsSorted(list) {
			t.Fatalf("%v are listed and %d counted, want %d", list, a.Count(), len(inA))
		}
		if a.And(b).Count() != len(both) || a.Or(b).Count() != len(either) || a.Meets(b) != (len(both) > 0) || Meet(a, b, b) != (len(both) > 0) {
			t.Fatalf("%d are in both and %d in either, want %d and %d", a.And(b).Count(), a.Or(b).Count(), len(both), len(either))
		}
	})
}

func TestAmountsStopAtTheEndsOfTheirRange(t *testing.T) {
	for _, x := range []struct{ got, want int64 }{
		{SaturatingSub(5, 7), -2},
		{SaturatingSub(math.MaxInt64, -1), math.MaxInt64},
		{SaturatingSub(math.MinInt64, 1), math.MinInt64},
		{SaturatingMul(3, 4), 12},
		{SaturatingMul(math.MaxInt64/2, 3), math.MaxInt64},
	} {
		if x.got != x.want {
			t.Errorf("%d, want %d", x.got, x.want)
		}
	}
}

// TestCopiesFitAndOneMoreDoesNot guards the division that says how many pods of a kind a node takes.
func TestCopiesFitAndOneMoreDoesNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		request, free := drawn(t, 3, "request"), drawn(t, 3, "free")
		n := request.Copies(free, 5)
		if n > 0 {
			left := slices.Clone(free)
			left.Take(request, n-1)
			if !request.Fits(left) {
				t.Fatalf("%d copies of %v do not fit %v", n, request, free)
			}
			left.Take(request, 1)
			if n < 5 && request.Fits(left) {
				t.Fatalf("%d copies of %v leave room for another in %v", n, request, free)
			}
		} else if request.Fits(free) {
			t.Fatalf("%v fits %v, and no copy of it does", request, free)
		}
	})
}
