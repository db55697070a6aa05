package offerings

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// LimitUse returns the most any of the types takes at offerings up to the ceiling, of limits there are and of limits
// there may be later.
func (m *Market) LimitUse(types []int, usable vector.Bitset, ceiling int64) model.Resources {
	most := slices.Clone(m.capacity[types[0]])
	for _, t := range types[1:] {
		for i, amount := range m.capacity[t] {
			most[i] = max(most[i], amount)
		}
	}
	hold := make(model.Resources, len(most)+2)
	for i, amount := range most {
		if amount != 0 {
			hold[m.capacities[i]] = amount
		}
	}
	hold[model.Nodes] = 1
	for _, t := range types {
		for _, c := range m.ColumnsOf[t] {
			if price := m.Columns[c].Price; price <= ceiling && usable.Has(c) {
				hold[model.Dollars] = max(hold[model.Dollars], price)
			}
		}
	}
	return hold
}

// ZonesAndCapacity returns the zones and capacity types the listed types can be bought in now, among usable columns up
// to the ceiling.
func (m *Market) ZonesAndCapacity(types []int, usable vector.Bitset, ceiling int64) (zones, capacityTypes []string) {
	var inZones, inKinds uint64
	for _, t := range types {
		for _, c := range m.ColumnsOf[t] {
			if usable.Has(c) && m.Columns[c].Price <= ceiling {
				inZones |= 1 << m.Columns[c].zone
				inKinds |= 1 << m.Columns[c].kind
			}
		}
	}
	for i, zone := range m.zones {
		if inZones>>i&1 != 0 {
			zones = append(zones, zone)
		}
	}
	for i, kind := range m.kinds {
		if inKinds>>i&1 != 0 {
			capacityTypes = append(capacityTypes, kind)
		}
	}
	return zones, capacityTypes
}

// setLimits works out what the pool's limits leave and what a node of each offering would take of that.
func (p *Pool) setLimits(used model.Resources) {
	p.Limited = resource.Names(p.Source.Limits)
	p.Left = p.leftOf(used)
	p.Taken = make([][]int64, len(p.Market.Columns))
	for c, column := range p.Market.Columns {
		p.Taken[c] = make([]int64, len(p.Limited))
		for i, name := range p.Limited {
			switch name {
			case model.Nodes:
				p.Taken[c][i] = 1
			case model.Dollars:
				p.Taken[c][i] = column.Price
			default:
				p.Taken[c][i] = max(0, p.Market.Types[column.Instance].Capacity[name])
			}
		}
	}
}

// leftOf returns what the limits leave of what is not used yet, by limited.
func (p *Pool) leftOf(used model.Resources) []int64 {
	remaining := resource.Sub(p.Source.Limits, used)
	left := make([]int64, len(p.Limited))
	for i, name := range p.Limited {
		left[i] = remaining[name]
	}
	return left
}

// Least returns what a node of the type takes of the limits at its cheapest usable offering, of which there is one.
func (p *Pool) Least(t int, usable vector.Bitset) []int64 {
	for _, c := range p.Market.ColumnsOf[t] { // cheapest first
		if usable.Has(c) {
			return p.Taken[c]
		}
	}
	return p.Taken[p.Market.ColumnsOf[t][0]]
}

// Ceiling returns the most a node may cost that holds this much of the limits, per hour.
func (p *Pool) Ceiling(hold []int64) int64 {
	if i := slices.Index(p.Limited, model.Dollars); i >= 0 {
		return hold[i]
	}
	return PriceCeiling
}

// Within reports whether every amount is at most what is left of it. A limit that is exceeded already lets nothing in,
// not even what takes none of it.
func Within(amounts, left []int64) bool {
	for i := range amounts {
		if left[i] < 0 || amounts[i] > left[i] {
			return false
		}
	}
	return true
}
