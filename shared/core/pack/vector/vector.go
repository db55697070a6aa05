package vector

import (
	"math"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// Vector is an amount of each resource of a problem, in the order of its dimensions.
type Vector []int64

// Dimensions are the resources a problem knows, sorted by name: those that pending pods or daemons ask for.
type Dimensions []string

// Vector returns the amounts of the list, 0 of what it does not have.
func (d Dimensions) Vector(list model.Resources) Vector {
	out := make(Vector, len(d))
	for i, name := range d {
		out[i] = list[name]
	}
	return out
}

// Requests returns what a pod asks for, negative amounts taken as none.
func (d Dimensions) Requests(list model.Resources) Vector {
	out := d.Vector(list)
	for i := range out {
		out[i] = max(0, out[i])
	}
	return out
}

// Resources returns the amounts by name, those of 0 left out.
func (d Dimensions) Resources(v Vector) model.Resources {
	out := make(model.Resources, len(d))
	for i, name := range d {
		if v[i] != 0 {
			out[name] = v[i]
		}
	}
	return out
}

// Allocatable returns what pods can have of an amount of memory that huge pages are cut from: the pages are counted
// twice, as themselves and as memory, and only the former can be had.
func Allocatable(list model.Resources) model.Resources {
	pages := int64(0)
	for _, name := range resource.Names(list) {
		if strings.HasPrefix(name, "hugepages-") {
			pages += max(0, list[name])
		}
	}
	if pages <= 0 {
		return list
	}
	out := resource.Sub(list, model.Resources{model.Memory: pages})
	out[model.Memory] = max(0, out[model.Memory])
	return out
}

// Fits reports whether request ≤ free wherever something is requested.
func (request Vector) Fits(free Vector) bool {
	for i, amount := range request {
		if amount > 0 && amount > free[i] {
			return false
		}
	}
	return true
}

// Covers reports whether a ≥ b in everything.
func (a Vector) Covers(b Vector) bool {
	for i := range a {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}

// Copies returns how many times request goes into free, at most limit.
func (request Vector) Copies(free Vector, limit int) int {
	n := int64(limit)
	for i, amount := range request {
		if amount <= 0 {
			continue
		}
		if free[i] < amount {
			return 0
		}
		if n > 1 {
			n = min(n, free[i]/amount)
		}
	}
	return int(n)
}

// Take removes n copies of request, which must fit.
func (free Vector) Take(request Vector, n int) {
	for i, amount := range request {
		free[i] -= amount * int64(n)
	}
}

// Release adds n copies of request; the sum must fit in what was once free.
func (free Vector) Release(request Vector, n int) {
	for i, amount := range request {
		free[i] += amount * int64(n)
	}
}

// Minus returns a − b, cut off at the ends of int64.
func (a Vector) Minus(b Vector) Vector {
	out := make(Vector, len(a))
	for i := range a {
		out[i] = SaturatingSub(a[i], b[i])
	}
	return out
}

// Lower returns the smaller amount of each.
func (a Vector) Lower(b Vector) Vector {
	out := slices.Clone(a)
	for i := range out {
		out[i] = min(out[i], b[i])
	}
	return out
}

// SaturatingSub returns x − y, cut off at the ends of int64.
func SaturatingSub(x, y int64) int64 {
	difference := x - y
	switch {
	case x >= 0 && y < 0 && difference < 0:
		return math.MaxInt64
	case x < 0 && y > 0 && difference >= 0:
		return math.MinInt64
	}
	return difference
}

// AddSaturating adds b, stopping at the largest int64; both are ≥ 0.
func (a Vector) AddSaturating(b Vector) {
	for i := range a {
		if a[i] += b[i]; a[i] < 0 {
			a[i] = math.MaxInt64
		}
	}
}

// SaturatingMul multiplies amounts that are not negative, stopping at the largest int64.
func SaturatingMul(x, n int64) int64 {
	if x > 0 && n > math.MaxInt64/x {
		return math.MaxInt64
	}
	return x * n
}

// CompareBools puts false before true.
func CompareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
