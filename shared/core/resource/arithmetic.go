package resource

import (
	"maps"
	"math"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Names returns the names in any of the lists, sorted, each once; empty where there are none.
func Names(lists ...model.Resources) []string {
	var names []string
	for _, list := range lists {
		names = slices.AppendSeq(names, maps.Keys(list))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Add returns a + b.
func Add(a, b model.Resources) model.Resources { return combine(a, b, plus) }

// Sub returns a − b; amounts may become negative.
func Sub(a, b model.Resources) model.Resources { return combine(a, b, minus) }

// Max returns the larger amount of each name.
func Max(a, b model.Resources) model.Resources {
	return combine(a, b, func(x, y int64) int64 { return max(x, y) })
}

// Fits reports whether want ≤ have for every name, and nothing that is wanted at zero needs to be there. Where have is
// negative in anything, nothing fits.
func Fits(want, have model.Resources) bool { return len(Short(want, have)) == 0 }

// Short returns the names for which want exceeds have or have is negative, sorted; empty where want fits.
func Short(want, have model.Resources) []string {
	var short []string
	for _, name := range Names(want, have) {
		if have[name] < 0 || want[name] > have[name] {
			short = append(short, name)
		}
	}
	return short
}

// combine applies f to the amounts of each name of a and b. The result is never nil and carries every name of both.
func combine(a, b model.Resources, f func(x, y int64) int64) model.Resources {
	out := make(model.Resources, max(len(a), len(b)))
	for name, amount := range a {
		out[name] = f(amount, b[name])
	}
	for name, amount := range b {
		if _, done := a[name]; !done {
			out[name] = f(0, amount)
		}
	}
	return out
}

func plus(x, y int64) int64 {
	switch sum := x + y; {
	case x > 0 && y > 0 && sum < 0:
		return math.MaxInt64
	case x < 0 && y < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}

func minus(x, y int64) int64 {
	switch difference := x - y; {
	case x >= 0 && y < 0 && difference < 0:
		return math.MaxInt64
	case x < 0 && y > 0 && difference >= 0:
		return math.MinInt64
	default:
		return difference
	}
}
