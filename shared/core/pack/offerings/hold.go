package offerings

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// Cheapest returns the cheapest open column of mask whose type holds the load and takes no more than left of the
// limits; false where there is none.
func (p *Pool) Cheapest(mask, open vector.Bitset, load vector.Vector, left []int64) (int, bool) {
	columns := p.Market.Columns
	for w := range mask {
		if mask[w]&open[w] == 0 {
			continue
		}
		word := vector.Bitset{mask[w] & open[w]}
		for b := word.Next(0); b >= 0; b = word.Next(b + 1) {
			c := w<<6 + b
			if load.Fits(p.Free[columns[c].Instance]) && Within(p.Taken[c], left) {
				return c, true
			}
		}
	}
	return 0, false
}

// Holders returns the types that hold the load and can be bought by an open column of mask, cheapest first.
func (p *Pool) Holders(mask, open vector.Bitset, load vector.Vector) []int {
	seen := make([]bool, len(p.Market.Types))
	var types []int
	usable := mask.And(open)
	for c := usable.Next(0); c >= 0; c = usable.Next(c + 1) {
		if t := p.Market.Columns[c].Instance; !seen[t] {
			seen[t] = true
			if load.Fits(p.Free[t]) {
				types = append(types, t)
			}
		}
	}
	return types
}

// OnlyReservation narrows mask to one reservation's offerings.
func (p *Pool) OnlyReservation(mask vector.Bitset, id string) vector.Bitset {
	out := slices.Clone(mask)
	for c := out.Next(0); c >= 0; c = out.Next(c + 1) {
		if o := p.Market.Columns[c].Offering; o.CapacityType != model.Reserved || o.ReservationID != id {
			out.Clear(c)
		}
	}
	return out
}

// WithoutReserved returns mask less every reserved offering.
func (p *Pool) WithoutReserved(mask vector.Bitset) vector.Bitset {
	out := slices.Clone(mask)
	for c := out.Next(0); c >= 0; c = out.Next(c + 1) {
		if p.Market.Columns[c].Offering.CapacityType == model.Reserved {
			out.Clear(c)
		}
	}
	return out
}

// WithMinValues returns the first of types that together meet the pool's minValues; false where all of them do not.
func (p *Pool) WithMinValues(types []int) ([]int, bool) {
	missing := make(map[string]int)
	seen := make(map[string]map[string]bool)
	for _, key := range p.Requirements.Keys() {
		if minimum := p.Requirements[key].MinValues(); minimum > 0 {
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
func (p *Pool) countValues(t int, missing map[string]int, seen map[string]map[string]bool) bool {
	adds := false
	for key := range seen { // each key on its own: the order does not matter
		if missing[key] == 0 {
			continue
		}
		for _, value := range p.ValuesOf(t, key) {
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

// ValuesOf returns the values of key that nodes of the type and the pool can have.
func (p *Pool) ValuesOf(t int, key string) []string {
	values := p.Market.Types[t].Labels[key]
	if !Decided(key) {
		if listed, ok := p.Requirements.Get(key).Listed(); ok {
			values = listed
		}
	}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !p.Requirements.Get(key).Has(v) })
}
