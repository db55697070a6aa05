package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// cheapest returns the cheapest open column of mask whose type holds the load and takes no more than left of the
// limits; false where there is none.
func (p *pool) cheapest(mask, open vector.Bitset, load vector.Vector, left []int64) (int, bool) {
	columns := p.market.columns
	for w := range mask {
		if mask[w]&open[w] == 0 {
			continue
		}
		word := vector.Bitset{mask[w] & open[w]}
		for b := word.Next(0); b >= 0; b = word.Next(b + 1) {
			c := w<<6 + b
			if load.Fits(p.free[columns[c].instance]) && within(p.taken[c], left) {
				return c, true
			}
		}
	}
	return 0, false
}

// holders returns the types that hold the load and can be bought by an open column of mask, cheapest first.
func (p *pool) holders(mask, open vector.Bitset, load vector.Vector) []int {
	seen := make([]bool, len(p.market.types))
	var types []int
	usable := mask.And(open)
	for c := usable.Next(0); c >= 0; c = usable.Next(c + 1) {
		if t := p.market.columns[c].instance; !seen[t] {
			seen[t] = true
			if load.Fits(p.free[t]) {
				types = append(types, t)
			}
		}
	}
	return types
}

// spotTypes counts the types that hold the node's load and can be bought as spot, up to enough.
func (p *pool) spotTypes(n *node, open vector.Bitset, enough int) int {
	count := 0
	if !p.reserving {
		for _, t := range n.offeringSet.spot {
			if count < enough && n.load.Fits(p.free[t]) {
				count++
			}
		}
		return count
	}
	seen := make([]bool, len(p.market.types))
	usable := n.mask.And(open)
	for c := usable.Next(0); c >= 0 && count < enough; c = usable.Next(c + 1) {
		col := &p.market.columns[c]
		if col.offering.CapacityType == model.Spot && !seen[col.instance] && n.load.Fits(p.free[col.instance]) {
			seen[col.instance] = true
			count++
		}
	}
	return count
}

// onlyReservation narrows mask to one reservation's offerings.
func (p *pool) onlyReservation(mask vector.Bitset, id string) vector.Bitset {
	out := slices.Clone(mask)
	for c := out.Next(0); c >= 0; c = out.Next(c + 1) {
		if o := p.market.columns[c].offering; o.CapacityType != model.Reserved || o.ReservationID != id {
			out.Clear(c)
		}
	}
	return out
}

// withoutReserved returns mask less every reserved offering.
func (p *pool) withoutReserved(mask vector.Bitset) vector.Bitset {
	out := slices.Clone(mask)
	for c := out.Next(0); c >= 0; c = out.Next(c + 1) {
		if p.market.columns[c].offering.CapacityType == model.Reserved {
			out.Clear(c)
		}
	}
	return out
}

// withMinValues returns the first of types that together meet the pool's minValues; false where all of them do not.
func (p *pool) withMinValues(types []int) ([]int, bool) {
	missing := make(map[string]int)
	seen := make(map[string]map[string]bool)
	for _, key := range p.requirements.Keys() {
		if minimum := p.requirements[key].MinValues(); minimum > 0 {
			missing[key], seen[key] = minimum, make(map[string]bool)
		}
	}
	var out []int
	for _, t := range types {
		if len(missing) == 0 {
			break
		}
		if p.countValues(t, missing, seen) {
			out = append(out, t)
		}
	}
	return out, len(missing) == 0
}

// countValues counts what the type adds to the values seen, and reports whether it adds anything that is missing.
func (p *pool) countValues(t int, missing map[string]int, seen map[string]map[string]bool) bool {
	adds := false
	for key := range seen { // each key on its own: the order does not matter
		if missing[key] == 0 {
			continue
		}
		for _, value := range p.valuesOf(t, key) {
			if !seen[key][value] && missing[key] > 0 {
				seen[key][value] = true
				adds = true
				if missing[key]--; missing[key] == 0 {
					delete(missing, key)
				}
			}
		}
	}
	return adds
}

// valuesOf returns the values of key that nodes of the type and the pool can have.
func (p *pool) valuesOf(t int, key string) []string {
	values := p.market.types[t].Labels[key]
	if !decided(key) {
		if listed, ok := p.requirements.Get(key).Listed(); ok {
			values = listed
		}
	}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !p.requirements.Get(key).Has(v) })
}
