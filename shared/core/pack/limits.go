package pack

import (
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// setLimits works out what the pool's limits leave and what each type would take of that.
func (p *pool) setLimits(used model.Resources) {
	p.limited = resource.Names(p.source.Limits)
	remaining := resource.Sub(p.source.Limits, used)
	p.left = make([]int64, len(p.limited))
	for i, name := range p.limited {
		p.left[i] = remaining[name]
	}
	p.taken = make([][]int64, len(p.market.types))
	for t, instance := range p.market.types {
		p.taken[t] = make([]int64, len(p.limited))
		for i, name := range p.limited {
			if name == model.Nodes {
				p.taken[t][i] = 1
			} else {
				p.taken[t][i] = max(0, instance.Capacity[name])
			}
		}
	}
}

// within reports whether every amount is at most what is left of it. A limit that is exceeded already lets nothing in,
// not even what takes none of it.
func within(amounts, left []int64) bool {
	for i := range amounts {
		if left[i] < 0 || amounts[i] > left[i] {
			return false
		}
	}
	return true
}

// largest returns the larger amount of each.
func largest(a, b []int64) []int64 {
	out := make([]int64, len(a))
	for i := range a {
		out[i] = max(a[i], b[i])
	}
	return out
}
