package offerings

import (
	"maps"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// OptionSet is a set of types, zones and capacity types every combination of which is acceptable, since that is all a
// claim can say. For pods without alternatives in their affinity it is everything they accept.
type OptionSet struct {
	types         []bool // by type
	zones         map[string]bool
	capacityTypes map[string]bool
	choices       map[choice]bool
	Mask          vector.Bitset // the columns inside
}

// Grow adds to the option set whatever keeps every combination acceptable.
func (m *Market) Grow(b *OptionSet, order []int, accepted vector.Bitset, reservation string) {
	columns := m.Columns
	for _, c := range order {
		if zone := columns[c].Offering.Zone; !b.zones[zone] {
			b.zones[zone] = true
			if _, ok := m.Inside(*b, accepted, reservation); !ok {
				delete(b.zones, zone)
			}
		}
	}
	for _, c := range order {
		if kind := columns[c].Offering.CapacityType; !b.capacityTypes[kind] {
			b.capacityTypes[kind] = true
			if _, ok := m.Inside(*b, accepted, reservation); !ok {
				delete(b.capacityTypes, kind)
			}
		}
	}
	m.growChoices(b, order, accepted, reservation)
	bad := m.unacceptable(b, accepted, reservation)
	for _, c := range order {
		if t := columns[c].Instance; !bad[t] {
			b.types[t] = true
		}
	}
}

// growChoices is grow by what a launch may choose. A claim names each label on its own, so that with one value every
// combination with the others' comes in.
func (m *Market) growChoices(b *OptionSet, order []int, accepted vector.Bitset, reservation string) {
	if !m.Choosing {
		return
	}
	for _, c := range order {
		chosen := m.Columns[c].chosen
		if b.choices[chosen] {
			continue
		}
		before := maps.Clone(b.choices)
		b.choices[chosen] = true
		b.Combine()
		if _, ok := m.Inside(*b, accepted, reservation); !ok {
			b.choices = before
		}
	}
}

// Combine adds what a claim cannot tell from the choices there are: every tenancy with every partition.
func (b *OptionSet) Combine() {
	for one := range b.choices { // the result does not depend on the order
		for other := range b.choices {
			b.choices[choice{one.tenancy, other.partition}] = true
		}
	}
}

// unacceptable returns the types of which some offering in the option set's zones and capacity types is not accepted.
func (m *Market) unacceptable(b *OptionSet, accepted vector.Bitset, reservation string) []bool {
	bad := make([]bool, len(m.Types))
	for c := range m.Columns {
		col := &m.Columns[c]
		if b.zones[col.Offering.Zone] && b.capacityTypes[col.Offering.CapacityType] && m.chooses(b, col) && ours(col, reservation) && !accepted.Has(c) {
			bad[col.Instance] = true
		}
	}
	return bad
}

// Inside returns the columns in the option set; false where one of them is not accepted.
func (m *Market) Inside(b OptionSet, accepted vector.Bitset, reservation string) (vector.Bitset, bool) {
	mask := vector.NewBitset(len(m.Columns))
	for c := range m.Columns {
		col := &m.Columns[c]
		if !b.types[col.Instance] || !b.zones[col.Offering.Zone] || !b.capacityTypes[col.Offering.CapacityType] || !m.chooses(&b, col) || !ours(col, reservation) {
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
func (m *Market) chooses(b *OptionSet, col *column) bool {
	return !m.Choosing || b.choices[col.chosen]
}

// ours reports whether the claim can tell the column from others: a reservation is named where there is one.
func ours(col *column, reservation string) bool { return col.Offering.ReservationID == reservation }

// NewOptionSet returns an option set without anything in it.
func (m *Market) NewOptionSet() OptionSet {
	return OptionSet{types: make([]bool, len(m.Types)), zones: make(map[string]bool), capacityTypes: make(map[string]bool), choices: make(map[choice]bool)}
}

// Add adds what the column is to the option set.
func (b *OptionSet) Add(col *column) {
	b.types[col.Instance] = true
	b.zones[col.Offering.Zone] = true
	b.capacityTypes[col.Offering.CapacityType] = true
	b.choices[col.chosen] = true
}
