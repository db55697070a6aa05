package offerings

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

// preference orders capacity types as they are preferred at launch.
func preference(capacityType string) int {
	return slices.Index([]string{model.OnDemand, model.Spot, model.Reserved}, capacityType) * -1
}

// Market is everything one class can buy, ready to be searched: instance types by name, and every offering of theirs as
// a numbered column, cheapest first. A set of offerings is then a bitset, and the cheapest of a set its lowest bit.
type Market struct {
	Types     []*model.InstanceType    // by name
	Index     map[string]int           // into types, by name
	Columns   []column                 // by price, worth, type name, zone, capacity type, reservation, choice
	available vector.Bitset            // columns that can be bought now
	Plain     vector.Bitset            // columns of types that are not exotic (see offering.Exotic)
	Whole     []vector.Vector          // by type: what pods and daemons together can have
	Overlaid  []bool                   // by type: NodeOverlays set the price of any of its offerings
	masks     map[string]vector.Bitset // ColumnsMeeting, by KeyOf
	Choosing  bool                     // columns are distinguished by what a launch may choose

	zones      []string  // of all columns, sorted; at most 63, what is beyond shares the last
	kinds      []string  // capacity types of all columns, in the order they are preferred
	ColumnsOf  [][]int   // by type
	capacities []string  // resources any type has, sorted
	capacity   [][]int64 // by type and capacities
}

// Markets is what each class can buy, made ready when it is first asked for.
type Markets struct {
	in            *input.Input
	catalogs      map[string][]model.InstanceType
	dims          vector.Dimensions
	distinguished map[string]bool    // see distinguished; nil until a market is made
	ready         map[string]*Market // as catalogs
}

// NewMarkets returns the markets of the input; none is made before it is asked for.
func NewMarkets(in *input.Input, dims vector.Dimensions) *Markets {
	return &Markets{in: in, catalogs: in.Catalogs, dims: dims, ready: make(map[string]*Market, len(in.Catalogs))}
}

// Of returns what a pool with the class can buy, or the class of no pool; nil where nothing is known of it.
func (m *Markets) Of(class, pool string) *Market {
	return m.at(model.CatalogName(m.catalogs, class, pool))
}

// at returns the market of one of the catalogs.
func (m *Markets) at(key string) *Market {
	known := m.ready[key]
	if types, is := m.catalogs[key]; known == nil && is {
		if m.distinguished == nil {
			m.distinguished = distinguished(m.in)
		}
		known = newMarket(types, m.dims, m.distinguished)
		m.ready[key] = known
	}
	return known
}

// Reservations returns how many instances each reservation has left: the smallest number any offering gives, less what
// is taken.
func (m *Markets) Reservations(taken map[string]int64) map[string]int64 {
	left := make(map[string]int64)
	for key := range m.catalogs { // a minimum does not depend on the order
		for _, c := range m.at(key).Columns {
			if c.Offering.CapacityType != model.Reserved {
				continue
			}
			if n, seen := left[c.Offering.ReservationID]; !seen || c.Offering.ReservationCapacity < n {
				left[c.Offering.ReservationID] = c.Offering.ReservationCapacity
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
	Instance int // into Market.Types
	Offering *model.Offering
	Price    int64  // micro-USD per hour, ≥ 0
	zone     uint8  // into Market.zones
	kind     uint8  // into Market.kinds
	chosen   choice // zero where columns are not distinguished by it
}

func newMarket(types []model.InstanceType, dims vector.Dimensions, reported map[string]bool) *Market {
	m := &Market{Index: make(map[string]int, len(types)), masks: make(map[string]vector.Bitset)}
	for i := range types {
		m.Types = append(m.Types, &types[i])
	}
	slices.SortStableFunc(m.Types, func(a, b *model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	m.Types = slices.CompactFunc(m.Types, func(a, b *model.InstanceType) bool { return a.Name == b.Name })
	starts := make([]bool, len(m.Types))
	for i, t := range m.Types {
		m.Index[t.Name], starts[i] = i, t.KubeletStarts()
		m.Whole = append(m.Whole, dims.Vector(vector.Allocatable(t.Allocatable())))
		m.Overlaid = append(m.Overlaid, slices.ContainsFunc(t.Offerings,
			func(o model.Offering) bool { return o.Overlaid }))
		for _, chosen := range choices(t, reported) {
			m.Choosing = m.Choosing || chosen != choice{}
			for j := range t.Offerings {
				m.Columns = append(m.Columns, column{Instance: i, Offering: &t.Offerings[j], Price: min(max(0, int64(t.Offerings[j].Price)), PriceCeiling), chosen: chosen})
			}
		}
	}
	slices.SortStableFunc(m.Columns, compareColumns)
	m.dropRepeated()
	m.number()
	m.available, m.Plain = vector.NewBitset(len(m.Columns)), vector.NewBitset(len(m.Columns))
	for i, c := range m.Columns {
		if !offering.Exotic(m.Types[c.Instance]) {
			m.Plain.Set(i)
		}
		left := c.Offering.CapacityType != model.Reserved || c.Offering.ReservationCapacity > 0
		if c.Offering.Available && left && starts[c.Instance] {
			m.available.Set(i)
		}
	}
	return m
}

// number numbers zones, capacity types and resources, so that claims are written without maps.
func (m *Market) number() {
	names := make(map[string]bool)
	m.ColumnsOf, m.capacity = make([][]int, len(m.Types)), make([][]int64, len(m.Types))
	for _, t := range m.Types {
		for name := range t.Capacity { // sorted below
			names[name] = true
		}
	}
	m.capacities = slices.Sorted(maps.Keys(names))
	for i, t := range m.Types {
		m.capacity[i] = make([]int64, len(m.capacities))
		for n, name := range m.capacities {
			m.capacity[i][n] = t.Capacity[name]
		}
	}
	for _, c := range m.Columns {
		m.zones, m.kinds = append(m.zones, c.Offering.Zone), append(m.kinds, c.Offering.CapacityType)
	}
	slices.Sort(m.zones)
	m.zones = slices.Compact(m.zones)
	slices.SortFunc(m.kinds, func(a, b string) int {
		return cmp.Or(cmp.Compare(preference(a), preference(b)), cmp.Compare(a, b))
	})
	m.kinds = slices.Compact(m.kinds)
	for i := range m.Columns {
		c := &m.Columns[i]
		c.zone, c.kind = uint8(min(63, slices.Index(m.zones, c.Offering.Zone))), uint8(min(63, slices.Index(m.kinds, c.Offering.CapacityType)))
		m.ColumnsOf[c.Instance] = append(m.ColumnsOf[c.Instance], i)
	}
}

// dropRepeated keeps the cheapest of columns that a claim could not tell apart.
func (m *Market) dropRepeated() {
	type name struct {
		instance                        int
		zone, capacityType, reservation string
		chosen                          choice
	}
	seen := make(map[name]bool, len(m.Columns))
	m.Columns = slices.DeleteFunc(m.Columns, func(c column) bool {
		n := name{c.Instance, c.Offering.Zone, c.Offering.CapacityType, c.Offering.ReservationID, c.chosen}
		repeated := seen[n]
		seen[n] = true
		return repeated
	})
}

// compareColumns works on columns of one market, where instance numbers are in name order.
func compareColumns(a, b column) int {
	return cmp.Or(
		cmp.Compare(a.Price, b.Price),
		cmp.Compare(a.Offering.ListPrice, b.Offering.ListPrice), // of reserved capacity what is worth least
		cmp.Compare(a.Instance, b.Instance),
		strings.Compare(a.Offering.Zone, b.Offering.Zone),
		strings.Compare(a.Offering.CapacityType, b.Offering.CapacityType),
		strings.Compare(a.Offering.ReservationID, b.Offering.ReservationID),
		compareChoices(a.chosen, b.chosen),
	)
}

// Decided reports whether a label's value follows from the offering, so that the market's columns answer for it. Every
// other label is the pool's.
func Decided(key string) bool {
	return offering.IsInstanceLabel(key)
}

// ColumnsMeeting returns the columns whose nodes meet term in every label that is decided by the offering.
func (m *Market) ColumnsMeeting(term requirement.Requirements) vector.Bitset {
	key := terms.KeyOf(term)
	if mask, known := m.masks[key]; known {
		return mask
	}
	mask := vector.NewBitset(len(m.Columns))
	keys := slices.DeleteFunc(term.Keys(), func(key string) bool { return !Decided(key) })
	fitting := make([]bool, len(m.Types))
	for i, t := range m.Types {
		fitting[i] = typeMeets(t, term, keys)
	}
	for i, c := range m.Columns {
		if fitting[c.Instance] && offeringMeets(c.Offering, term, keys) && c.chosen.meets(term) {
			mask.Set(i)
		}
	}
	m.masks[key] = mask
	return mask
}

// typeMeets reports whether the labels the type itself decides meet term.
func typeMeets(t *model.InstanceType, term requirement.Requirements, keys []string) bool {
	for _, key := range keys {
		if !offering.DecidedByOffering(key) && !anyMeets(t.Labels[key], term[key]) {
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

func offeringMeets(o *model.Offering, term requirement.Requirements, keys []string) bool {
	for _, key := range keys {
		if !offering.DecidedByOffering(key) {
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

// ValuesIn returns the values of a label decided by the offering among the columns of mask, sorted.
func (m *Market) ValuesIn(mask vector.Bitset, key string) []string {
	var out []string
	seen := make(map[string]bool)
	types, offered := make([]bool, len(m.Types)), offering.DecidedByOffering(key)
	note := func(values ...string) {
		for _, value := range values {
			if value != "" && !seen[value] {
				seen[value] = true
				out = append(out, value)
			}
		}
	}
	for c := mask.Next(0); c >= 0; c = mask.Next(c + 1) {
		col := &m.Columns[c]
		switch chosen := col.chosen.value(key); {
		case offered:
			note(offering.ValueOf(col.Offering, key))
		case chosen != "":
			note(chosen)
		case !types[col.Instance]:
			types[col.Instance] = true
			note(m.Types[col.Instance].Labels[key]...)
		}
	}
	slices.Sort(out)
	return out
}

// Label returns a label of nodes bought by the column; empty where they have none, or any of several.
func (m *Market) Label(column int, key string) string {
	c := &m.Columns[column]
	if offering.DecidedByOffering(key) {
		return offering.ValueOf(c.Offering, key)
	}
	if value := c.chosen.value(key); value != "" {
		return value
	}
	if values := m.Types[c.Instance].Labels[key]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// ChosenFor returns what a claim must say of choices so that its instance is one of mask: for each label the values
// there, and nothing where every value is.
func (m *Market) ChosenFor(mask vector.Bitset) requirement.Requirements {
	out := requirement.Requirements{}
	if !m.Choosing {
		return out
	}
	for _, key := range ChosenKeys {
		inside, all := make(map[string]bool), make(map[string]bool)
		for c := range m.Columns {
			value := m.Columns[c].chosen.value(key)
			if value == "" {
				continue
			}
			all[value] = true
			if mask.Has(c) {
				inside[value] = true
			}
		}
		if len(inside) == len(all) {
			continue
		}
		var list []string
		for value := range inside { // Values sorts them
			list = append(list, value)
		}
		out = out.With(key, requirement.Values(list...))
	}
	return out
}

const (
	// MinSpotTypes is how many types a spot claim should be able to fall back on, where its pods allow as many.
	MinSpotTypes = 10
	// PriceCeiling bounds prices where they are weighed against each other, in micro-USD per hour: far above any
	// instance, and low enough that sums of products cannot overflow.
	PriceCeiling = 10_000_000_000
)
