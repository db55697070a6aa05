package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// setLimits works out what the pool's limits leave and what a node of each offering would take of that.
func (p *pool) setLimits(used model.Resources) {
	p.limited = resource.Names(p.source.Limits)
	p.left = p.leftOf(used)
	p.taken = make([][]int64, len(p.market.columns))
	for c, column := range p.market.columns {
		p.taken[c] = make([]int64, len(p.limited))
		for i, name := range p.limited {
			switch name {
			case model.Nodes:
				p.taken[c][i] = 1
			case model.Dollars:
				p.taken[c][i] = column.price
			default:
				p.taken[c][i] = max(0, p.market.types[column.instance].Capacity[name])
			}
		}
	}
}

// leftOf returns what the limits leave of what is not used yet, by limited.
func (p *pool) leftOf(used model.Resources) []int64 {
	remaining := resource.Sub(p.source.Limits, used)
	left := make([]int64, len(p.limited))
	for i, name := range p.limited {
		left[i] = remaining[name]
	}
	return left
}

// least returns what a node of the type takes of the limits at its cheapest usable offering, of which there is one.
func (p *pool) least(t int, usable vector.Bitset) []int64 {
	for _, c := range p.market.columnsOf[t] { // cheapest first
		if usable.Has(c) {
			return p.taken[c]
		}
	}
	return p.taken[p.market.columnsOf[t][0]]
}

// ceiling returns the most a node may cost that holds this much of the limits, per hour.
func (p *pool) ceiling(hold []int64) int64 {
	if i := slices.Index(p.limited, model.Dollars); i >= 0 {
		return hold[i]
	}
	return priceCeiling
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
