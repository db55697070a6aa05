package pack

import (
	"math"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// vector is an amount of each resource of a problem, in the order of its dimensions.
type vector []int64

// dimensions are the resources a problem knows, sorted by name: those that pending pods or daemons ask for.
type dimensions []string

func (d dimensions) vector(list model.Resources) vector {
	out := make(vector, len(d))
	for i, name := range d {
		out[i] = list[name]
	}
	return out
}

// requests returns what a pod asks for, negative amounts taken as none.
func (d dimensions) requests(list model.Resources) vector {
	out := d.vector(list)
	for i := range out {
		out[i] = max(0, out[i])
	}
	return out
}

func (d dimensions) resources(v vector) model.Resources {
	out := make(model.Resources, len(d))
	for i, name := range d {
		if v[i] != 0 {
			out[name] = v[i]
		}
	}
	return out
}

// allocatable returns what pods can have of an amount of memory that huge pages are cut from: the pages are counted
// twice, as themselves and as memory, and only the former can be had.
func allocatable(list model.Resources) model.Resources {
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

// fits reports whether request ≤ free wherever something is requested.
func (request vector) fits(free vector) bool {
	for i, amount := range request {
		if amount > 0 && amount > free[i] {
			return false
		}
	}
	return true
}

// covers reports whether a ≥ b in everything.
func (a vector) covers(b vector) bool {
	for i := range a {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}

// copies returns how many times request goes into free, at most limit.
func (request vector) copies(free vector, limit int) int {
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

// take removes n copies of request, which must fit.
func (free vector) take(request vector, n int) {
	for i, amount := range request {
		free[i] -= amount * int64(n)
	}
}

// release adds n copies of request; the sum must fit in what was once free.
func (free vector) release(request vector, n int) {
	for i, amount := range request {
		free[i] += amount * int64(n)
	}
}

// minus returns a − b, cut off at the ends of int64.
func (a vector) minus(b vector) vector {
	out := make(vector, len(a))
	for i := range a {
		out[i] = saturatingSub(a[i], b[i])
	}
	return out
}

// lower returns the smaller amount of each.
func (a vector) lower(b vector) vector {
	out := slices.Clone(a)
	for i := range out {
		out[i] = min(out[i], b[i])
	}
	return out
}

func saturatingSub(x, y int64) int64 {
	difference := x - y
	switch {
	case x >= 0 && y < 0 && difference < 0:
		return math.MaxInt64
	case x < 0 && y > 0 && difference >= 0:
		return math.MinInt64
	}
	return difference
}

// addSaturating adds b, stopping at the largest int64; both are ≥ 0.
func (a vector) addSaturating(b vector) {
	for i := range a {
		if a[i] += b[i]; a[i] < 0 {
			a[i] = math.MaxInt64
		}
	}
}

// saturatingMul multiplies amounts that are not negative, stopping at the largest int64.
func saturatingMul(x, n int64) int64 {
	if x > 0 && n > math.MaxInt64/x {
		return math.MaxInt64
	}
	return x * n
}
