package pack

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// market is everything one class can buy, ready to be searched: instance types by name, and every offering of theirs as a
// numbered column, cheapest first. A set of offerings is then a bitset, and the cheapest of a set its lowest bit.
type market struct {
	types     []*model.InstanceType    // by name
	index     map[string]int           // into types, by name
	columns   []column                 // by price, worth, type name, zone, capacity type, reservation, choice
	available vector.Bitset            // columns that can be bought now
	plain     vector.Bitset            // columns of types that are not exotic (see offering.Exotic)
	whole     []vector.Vector          // by type: what pods and daemons together can have
	masks     map[string]vector.Bitset // columnsMeeting, by KeyOf
	choosing  bool                     // columns are distinguished by what a launch may choose

	zones      []string  // of all columns, sorted; at most 63, what is beyond shares the last
	kinds      []string  // capacity types of all columns, in the order they are preferred
	columnsOf  [][]int   // by type
	capacities []string  // resources any type has, sorted
	capacity   [][]int64 // by type and capacities
}

// markets is what each class can buy, made ready when it is first asked for.
type markets struct {
	in            *input.Input
	catalogs      map[string][]model.InstanceType
	dims          vector.Dimensions
	distinguished map[string]bool    // see distinguished; nil until a market is made
	ready         map[string]*market // by class name
}

func newMarkets(in *input.Input, dims vector.Dimensions) *markets {
	return &markets{in: in, catalogs: in.Catalogs, dims: dims, ready: make(map[string]*market, len(in.Catalogs))}
}

// of returns what the class can buy; nil where nothing is known of it.
func (m *markets) of(class string) *market {
	known := m.ready[class]
	if types, is := m.catalogs[class]; known == nil && is {
		if m.distinguished == nil {
			m.distinguished = distinguished(m.in)
		}
		known = newMarket(types, m.dims, m.distinguished)
		m.ready[class] = known
	}
	return known
}

// reservations returns how many instances each reservation has left: the smallest number any offering gives, less what is taken.
func (m *markets) reservations(taken map[string]int64) map[string]int64 {
	left := make(map[string]int64)
	for class := range m.catalogs { // a minimum does not depend on the order
		for _, c := range m.of(class).columns {
			if c.offering.CapacityType != model.Reserved {
				continue
			}
			if n, seen := left[c.offering.ReservationID]; !seen || c.offering.ReservationCapacity < n {
				left[c.offering.ReservationID] = c.offering.ReservationCapacity
			}
		}
	}
	for id, n := range taken { // each on its own: the order does not matter
		if has, known := left[id]; known {
			left[id] = max(0, has-n)
		}
	}
	return left
}

// column is one offering of one type, and of what a launch may choose one value each where that matters to anybody.
type column struct {
	instance int // into market.types
	offering *model.Offering
	price    int64  // micro-USD per hour, ≥ 0
	zone     uint8  // into market.zones
	kind     uint8  // into market.kinds
	chosen   choice // zero where columns are not distinguished by it
}

func newMarket(types []model.InstanceType, dims vector.Dimensions, reported map[string]bool) *market {
	m := &market{index: make(map[string]int, len(types)), masks: make(map[string]vector.Bitset)}
	for i := range types {
		m.types = append(m.types, &types[i])
	}
	slices.SortStableFunc(m.types, func(a, b *model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	m.types = slices.CompactFunc(m.types, func(a, b *model.InstanceType) bool { return a.Name == b.Name })
	for i, t := range m.types {
		m.index[t.Name] = i
		m.whole = append(m.whole, dims.Vector(vector.Allocatable(t.Allocatable())))
		for _, chosen := range choices(t, reported) {
			m.choosing = m.choosing || chosen != choice{}
			for j := range t.Offerings {
				m.columns = append(m.columns, column{instance: i, offering: &t.Offerings[j], price: min(max(0, int64(t.Offerings[j].Price)), priceCeiling), chosen: chosen})
			}
		}
	}
	slices.SortStableFunc(m.columns, compareColumns)
	m.dropRepeated()
	m.number()
	m.available, m.plain = vector.NewBitset(len(m.columns)), vector.NewBitset(len(m.columns))
	for i, c := range m.columns {
		if !offering.Exotic(m.types[c.instance]) {
			m.plain.Set(i)
		}
		if c.offering.Available && (c.offering.CapacityType != model.Reserved || c.offering.ReservationCapacity > 0) {
			m.available.Set(i)
		}
	}
	return m
}

// number numbers zones, capacity types and resources, so that claims are written without maps.
func (m *market) number() {
	names := make(map[string]bool)
	m.columnsOf, m.capacity = make([][]int, len(m.types)), make([][]int64, len(m.types))
	for _, t := range m.types {
		for name := range t.Capacity { // sorted below
			names[name] = true
		}
	}
	m.capacities = slices.Sorted(maps.Keys(names))
	for i, t := range m.types {
		m.capacity[i] = make([]int64, len(m.capacities))
		for n, name := range m.capacities {
			m.capacity[i][n] = t.Capacity[name]
		}
	}
	for _, c := range m.columns {
		m.zones, m.kinds = append(m.zones, c.offering.Zone), append(m.kinds, c.offering.CapacityType)
	}
	slices.Sort(m.zones)
	m.zones = slices.Compact(m.zones)
	slices.SortFunc(m.kinds, func(a, b string) int {
		return cmp.Or(cmp.Compare(preference(a), preference(b)), cmp.Compare(a, b))
	})
	m.kinds = slices.Compact(m.kinds)
	for i := range m.columns {
		c := &m.columns[i]
		c.zone, c.kind = uint8(min(63, slices.Index(m.zones, c.offering.Zone))), uint8(min(63, slices.Index(m.kinds, c.offering.CapacityType)))
		m.columnsOf[c.instance] = append(m.columnsOf[c.instance], i)
	}
}

// dropRepeated keeps the cheapest of columns that a claim could not tell apart.
func (m *market) dropRepeated() {
	type name struct {
		instance                        int
		zone, capacityType, reservation string
		chosen                          choice
	}
	seen := make(map[name]bool, len(m.columns))
	m.columns = slices.DeleteFunc(m.columns, func(c column) bool {
		n := name{c.instance, c.offering.Zone, c.offering.CapacityType, c.offering.ReservationID, c.chosen}
		repeated := seen[n]
		seen[n] = true
		return repeated
	})
}

// compareColumns works on columns of one market, where instance numbers are in name order.
func compareColumns(a, b column) int {
	return cmp.Or(
		cmp.Compare(a.price, b.price),
		cmp.Compare(a.offering.ListPrice, b.offering.ListPrice), // of reserved capacity what is worth least
		cmp.Compare(a.instance, b.instance),
		strings.Compare(a.offering.Zone, b.offering.Zone),
		strings.Compare(a.offering.CapacityType, b.offering.CapacityType),
		strings.Compare(a.offering.ReservationID, b.offering.ReservationID),
		compareChoices(a.chosen, b.chosen),
	)
}

// decided reports whether a label's value follows from the offering, so that the market's columns answer for it. Every
// other label is the pool's.
func decided(key string) bool {
	return offering.IsInstanceLabel(key)
}

// columnsMeeting returns the columns whose nodes meet term in every label that is decided by the offering.
func (m *market) columnsMeeting(term requirement.Requirements) vector.Bitset {
	key := terms.KeyOf(term)
	if mask, known := m.masks[key]; known {
		return mask
	}
	mask := vector.NewBitset(len(m.columns))
	keys := slices.DeleteFunc(term.Keys(), func(key string) bool { return !decided(key) })
	fitting := make([]bool, len(m.types))
	for i, t := range m.types {
		fitting[i] = typeMeets(t, term, keys)
	}
	for i, c := range m.columns {
		if fitting[c.instance] && offeringMeets(c.offering, term, keys) && c.chosen.meets(term) {
			mask.Set(i)
		}
	}
	m.masks[key] = mask
	return mask
}

// typeMeets reports whether the labels the type itself decides meet term.
func typeMeets(t *model.InstanceType, term requirement.Requirements, keys []string) bool {
	for _, key := range keys {
		if !byOffering(key) && !anyMeets(t.Labels[key], term[key]) {
			return false
		}
	}
	return true
}

// anyMeets reports whether any of a label's possible values is allowed; a label without any counts as absent.
func anyMeets(values []string, set requirement.Set) bool {
	if len(values) == 0 {
		return set.AllowsAbsent()
	}
	return slices.ContainsFunc(values, set.Has)
}

// byOffering reports whether the label differs between offerings of one type.
func byOffering(key string) bool { return offering.DecidedByOffering(key) }

func offeringMeets(o *model.Offering, term requirement.Requirements, keys []string) bool {
	for _, key := range keys {
		if !byOffering(key) {
			continue
		}
		value, ok := offering.ValueOf(o, key), false
		if value == "" {
			ok = term[key].AllowsAbsent()
		} else {
			ok = term[key].Has(value)
		}
		if !ok {
			return false
		}
	}
	return true
}

// valuesIn returns the values of a label decided by the offering among the columns of mask, sorted.
func (m *market) valuesIn(mask vector.Bitset, key string) []string {
	var out []string
	seen := make(map[string]bool)
	types, offered := make([]bool, len(m.types)), byOffering(key)
	note := func(values ...string) {
		for _, value := range values {
			if value != "" && !seen[value] {
				seen[value] = true
				out = append(out, value)
			}
		}
	}
	for c := mask.Next(0); c >= 0; c = mask.Next(c + 1) {
		col := &m.columns[c]
		switch chosen := col.chosen.value(key); {
		case offered:
			note(offering.ValueOf(col.offering, key))
		case chosen != "":
			note(chosen)
		case !types[col.instance]:
			types[col.instance] = true
			note(m.types[col.instance].Labels[key]...)
		}
	}
	slices.Sort(out)
	return out
}
