package pack

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// optionSet is a set of types, zones and capacity types every combination of which is acceptable, since that is all a claim
// can say. For pods without alternatives in their affinity it is everything they accept.
type optionSet struct {
	types         []bool // by type
	zones         map[string]bool
	capacityTypes map[string]bool
	choices       map[choice]bool
	mask          vector.Bitset // the columns inside
}

// optionSetOf is optionSet, looked for once where it is the same for every node of the offering set.
func (p *pool) optionSetOf(n *node, r *packing) optionSet {
	if n.reservation != "" || p.reserving || n.offeringSet == nil || !slices.Equal(n.mask, n.offeringSet.mask) {
		return p.optionSet(n, r)
	}
	if !n.offeringSet.boxed {
		n.offeringSet.boxed = true
		whole := p.market.newOptionSet()
		for c := range p.market.columns {
			if n.offeringSet.mask.Has(c) && p.open.Has(c) {
				whole.add(&p.market.columns[c])
			}
		}
		whole.combine()
		if mask, ok := p.market.inside(whole, n.offeringSet.mask, ""); ok {
			whole.mask = mask
			n.offeringSet.whole = &whole
		}
	}
	if n.offeringSet.whole != nil {
		return *n.offeringSet.whole
	}
	return p.optionSet(n, r)
}

// optionSet returns the largest option set found inside what the node's pods accept: everything, where that is one already, else one
// grown from the node's offering by zones, capacity types and types, in the order of their cheapest offerings. Reserved
// capacity is left to nodes that are bought of it.
func (p *pool) optionSet(n *node, r *packing) optionSet {
	columns := p.market.columns
	accepted := n.mask
	if n.reservation == "" {
		accepted = p.withoutReserved(n.mask)
	}
	usable := accepted.And(r.openFor(n))
	whole := p.market.newOptionSet()
	var order []int
	for c := usable.Next(0); c >= 0; c = usable.Next(c + 1) {
		if n.load.Fits(p.free[columns[c].instance]) {
			whole.add(&columns[c])
			order = append(order, c)
		}
	}
	whole.combine()
	if mask, ok := p.market.inside(whole, accepted, n.reservation); ok {
		whole.mask = mask
		return whole
	}
	b := p.market.newOptionSet()
	b.add(&columns[n.column])
	p.market.grow(&b, order, accepted, n.reservation)
	b.mask, _ = p.market.inside(b, accepted, n.reservation)
	return b
}

// grow adds to the option set whatever keeps every combination acceptable.
func (m *market) grow(b *optionSet, order []int, accepted vector.Bitset, reservation string) {
	columns := m.columns
	for _, c := range order {
		if zone := columns[c].offering.Zone; !b.zones[zone] {
			b.zones[zone] = true
			if _, ok := m.inside(*b, accepted, reservation); !ok {
				delete(b.zones, zone)
			}
		}
	}
	for _, c := range order {
		if kind := columns[c].offering.CapacityType; !b.capacityTypes[kind] {
			b.capacityTypes[kind] = true
			if _, ok := m.inside(*b, accepted, reservation); !ok {
				delete(b.capacityTypes, kind)
			}
		}
	}
	m.growChoices(b, order, accepted, reservation)
	bad := m.unacceptable(b, accepted, reservation)
	for _, c := range order {
		if t := columns[c].instance; !bad[t] {
			b.types[t] = true
		}
	}
}

// growChoices is grow by what a launch may choose. A claim names each label on its own, so that with one value every
// combination with the others' comes in.
func (m *market) growChoices(b *optionSet, order []int, accepted vector.Bitset, reservation string) {
	if !m.choosing {
		return
	}
	for _, c := range order {
		chosen := m.columns[c].chosen
		if b.choices[chosen] {
			continue
		}
		before := maps.Clone(b.choices)
		b.choices[chosen] = true
		b.combine()
		if _, ok := m.inside(*b, accepted, reservation); !ok {
			b.choices = before
		}
	}
}

// combine adds what a claim cannot tell from the choices there are: every tenancy with every partition.
func (b *optionSet) combine() {
	for one := range b.choices { // the result does not depend on the order
		for other := range b.choices {
			b.choices[choice{one.tenancy, other.partition}] = true
		}
	}
}

// unacceptable returns the types of which some offering in the option set's zones and capacity types is not accepted.
func (m *market) unacceptable(b *optionSet, accepted vector.Bitset, reservation string) []bool {
	bad := make([]bool, len(m.types))
	for c := range m.columns {
		col := &m.columns[c]
		if b.zones[col.offering.Zone] && b.capacityTypes[col.offering.CapacityType] && m.chooses(b, col) && ours(col, reservation) && !accepted.Has(c) {
			bad[col.instance] = true
		}
	}
	return bad
}

// inside returns the columns in the option set; false where one of them is not accepted.
func (m *market) inside(b optionSet, accepted vector.Bitset, reservation string) (vector.Bitset, bool) {
	mask := vector.NewBitset(len(m.columns))
	for c := range m.columns {
		col := &m.columns[c]
		if !b.types[col.instance] || !b.zones[col.offering.Zone] || !b.capacityTypes[col.offering.CapacityType] || !m.chooses(&b, col) || !ours(col, reservation) {
			continue
		}
		if !accepted.Has(c) {
			return nil, false
		}
		mask.Set(c)
	}
	return mask, true
}

// chooses reports whether what the column chooses is in the option set.
func (m *market) chooses(b *optionSet, col *column) bool {
	return !m.choosing || b.choices[col.chosen]
}

// ours reports whether the claim can tell the column from others: a reservation is named where there is one.
func ours(col *column, reservation string) bool { return col.offering.ReservationID == reservation }

func (m *market) newOptionSet() optionSet {
	return optionSet{types: make([]bool, len(m.types)), zones: make(map[string]bool), capacityTypes: make(map[string]bool), choices: make(map[choice]bool)}
}

func (b *optionSet) add(col *column) {
	b.types[col.instance] = true
	b.zones[col.offering.Zone] = true
	b.capacityTypes[col.offering.CapacityType] = true
	b.choices[col.chosen] = true
}
