package pack

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// MaxInstanceTypes is how many instance types a claim lists.
const MaxInstanceTypes = 60

// claims writes down the nodes of every run, in the order they were opened, and their price together.
func (p *planner) claims() ([]model.PlannedClaim, model.MicroUSD) {
	out := []model.PlannedClaim{}
	total := model.MicroUSD(0)
	spare := make(map[*pool][]int64)
	for _, r := range p.runs {
		if spare[r.pool] == nil {
			spare[r.pool] = slices.Clone(r.pool.left)
		}
		for i := range r.nodes {
			if len(r.nodes[i].pods) == 0 && len(r.nodes[i].items) > 0 { // its pods were taken off again
				continue
			}
			claim := p.claim(r, &r.nodes[i], spare[r.pool])
			total += claim.Price
			out = append(out, claim)
		}
	}
	if len(out) > 0 {
		name(out, p.in)
	}
	return out, total
}

// claim writes down one node. Listing types that take more of the limits than the node's own uses up spare.
func (p *planner) claim(r *packing, n *node, spare []int64) model.PlannedClaim {
	pool := r.pool
	b := pool.optionSetOf(n, r)
	usable := b.mask.And(r.openFor(n))
	types, ceiling := pool.list(n, b, usable, spare)
	offering := pool.market.columns[n.column].offering
	source := pool.source
	claim := model.PlannedClaim{
		Pool:          source.Name,
		Class:         source.Template.ClassName,
		Offering:      model.OfferingKey{InstanceType: pool.market.types[pool.market.columns[n.column].instance].Name, Zone: offering.Zone, CapacityType: offering.CapacityType},
		Price:         offering.Price,
		Annotations:   maps.Clone(source.Template.Annotations),
		Taints:        slices.Clone(source.Template.Taints),
		StartupTaints: slices.Clone(source.Template.StartupTaints),
		Reserve:       pool.market.limitUse(types, usable, ceiling),
		Pods:          input.Refs(p.in.Snapshot, n.pods),
	}
	claim.InstanceTypes = make([]string, 0, len(types))
	for _, t := range types {
		claim.InstanceTypes = append(claim.InstanceTypes, pool.market.types[t].Name)
	}
	claim.Zones, claim.CapacityTypes = pool.market.zonesAndCapacity(types, usable, ceiling)
	claim.Requirements, claim.Labels = pool.identity(n, r, b, types, &claim)
	claim.Requests = p.dims.Resources(n.load)
	for name, amount := range p.dims.Resources(pool.smallestDaemons(types)) {
		claim.Requests[name] += amount
	}
	if pool.minimums {
		if claim.Annotations == nil {
			claim.Annotations = make(map[string]string)
		}
		claim.Annotations[model.AnnotationMinValuesRelaxed] = strconv.FormatBool(n.relaxed)
	}
	return claim
}

// list returns the types the claim may be bought as, cheapest first, at most MaxInstanceTypes and enough for minValues,
// and the most it may cost per hour. What they take of the limits beyond what the node holds already comes out of spare.
func (p *pool) list(n *node, b optionSet, usable vector.Bitset, spare []int64) (types []int, ceiling int64) {
	if len(spare) == 0 && !p.minimums && !p.reserving && n.offeringSet != nil && n.offeringSet.whole != nil && slices.Equal(b.mask, n.offeringSet.whole.mask) {
		return p.cheapestTypes(n), priceCeiling
	}
	all := p.holders(usable, p.open, n.load)
	first := p.market.columns[n.column].instance
	needed := map[int]bool{first: true}
	if p.minimums {
		chosen, _ := p.withMinValues(slices.DeleteFunc(slices.Clone(all), func(t int) bool { return !within(p.least(t, usable), n.limitUse) }))
		for _, t := range chosen {
			needed[t] = true
		}
	}
	hold := slices.Clone(n.limitUse)
	optional := MaxInstanceTypes - len(needed)
	for _, t := range all {
		switch more := exceed(p.least(t, usable), hold); {
		case needed[t]:
			types = append(types, t)
		case optional > 0 && within(more, spare):
			types = append(types, t)
			optional--
			hold = largest(hold, p.least(t, usable))
			for i := range spare {
				spare[i] -= more[i]
			}
		}
	}
	return types, p.ceiling(hold)
}

// cheapestTypes returns the first types that hold the node, by price, where nothing else decides.
func (p *pool) cheapestTypes(n *node) []int {
	out := make([]int, 0, MaxInstanceTypes)
	for _, e := range n.offeringSet.types {
		if len(out) < MaxInstanceTypes && n.load.Fits(p.free[e.instance]) {
			out = append(out, e.instance)
		}
	}
	return out
}

// limitUse returns the most any of the types takes at offerings up to the ceiling, of limits there are and of limits there may
// be later.
func (m *market) limitUse(types []int, usable vector.Bitset, ceiling int64) model.Resources {
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
		for _, c := range m.columnsOf[t] {
			if price := m.columns[c].price; price <= ceiling && usable.Has(c) {
				hold[model.Dollars] = max(hold[model.Dollars], price)
			}
		}
	}
	return hold
}

// exceed returns how far amounts go beyond the bound, at least 0 each.
func exceed(amounts, bound []int64) []int64 {
	out := make([]int64, len(amounts))
	for i := range amounts {
		out[i] = max(0, amounts[i]-bound[i])
	}
	return out
}

// zonesAndCapacity returns the zones and capacity types the listed types can be bought in now, among usable columns up to the
// ceiling.
func (m *market) zonesAndCapacity(types []int, usable vector.Bitset, ceiling int64) (zones, capacityTypes []string) {
	var inZones, inKinds uint64
	for _, t := range types {
		for _, c := range m.columnsOf[t] {
			if usable.Has(c) && m.columns[c].price <= ceiling {
				inZones |= 1 << m.columns[c].zone
				inKinds |= 1 << m.columns[c].kind
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

// preference orders capacity types as they are preferred at launch.
func preference(capacityType string) int {
	return slices.Index([]string{model.OnDemand, model.Spot, model.Reserved}, capacityType) * -1
}

// nodeTemplate is what a node is before types, zones and capacity types are listed, and its labels.
type nodeTemplate struct {
	what   requirement.Requirements
	labels map[string]string
	rest   []model.Requirement // of what, by key: all but what a claim lists itself
}

// listed are the labels of which a claim lists its values itself, by key.
var listed = []string{model.LabelCapacityType, model.LabelInstanceType, model.LabelZone}

// identity returns what the claim's node must be, and the labels that says which are known before it is launched.
func (p *pool) identity(n *node, r *packing, b optionSet, types []int, claim *model.PlannedClaim) ([]model.Requirement, map[string]string) {
	venues := make([]string, 0, len(n.items))
	for _, it := range n.items {
		venues = append(venues, r.batches[it.batch].podGroup.venue)
	}
	slices.Sort(venues)
	key := strconv.Itoa(n.flag) + strings.Join(slices.Compact(venues), "\x01")
	known, ok := p.nodeTemplates[key]
	if !ok {
		known = p.templateOf(n, r)
		if p.nodeTemplates == nil {
			p.nodeTemplates = make(map[string]nodeTemplate)
		}
		p.nodeTemplates[key] = known
	}
	byName := slices.Sorted(slices.Values(types)) // types are numbered in the order of their names
	names := make([]string, len(byName))
	for i, t := range byName {
		names[i] = p.market.types[t].Name
	}
	chosen := p.market.chosenFor(b.mask)
	if !n.relaxed && n.reservation == "" && len(chosen) == 0 {
		return known.list(slices.Sorted(slices.Values(claim.CapacityTypes)), names, slices.Clone(claim.Zones)), maps.Clone(known.labels)
	}
	what := known.what.With(model.LabelInstanceType, requirement.Values(names...)).
		With(model.LabelZone, requirement.Values(claim.Zones...)).
		With(model.LabelCapacityType, requirement.Values(claim.CapacityTypes...))
	if n.relaxed {
		what = p.relax(what, claim.InstanceTypes)
	}
	if n.reservation != "" {
		what = what.With(requirement.CapacityReservationID, requirement.Values(n.reservation))
	}
	return what.Intersect(chosen).List(), maps.Clone(known.labels)
}

// list writes down what a node is, each label of listed narrowed to its values, which are sorted and the list's from then on.
func (k *nodeTemplate) list(of ...[]string) []model.Requirement {
	out := make([]model.Requirement, 0, len(k.rest)+len(listed))
	rest := k.rest
	for i, key := range listed {
		for len(rest) > 0 && rest[0].Key < key {
			out = append(out, copied(rest[0]))
			rest = rest[1:]
		}
		if own, has := k.what[key]; has || len(of[i]) == 0 {
			out = append(out, own.Intersect(requirement.Values(of[i]...)).List(key)...)
		} else {
			out = append(out, model.Requirement{Key: key, Operator: model.In, Values: of[i]})
		}
	}
	for _, item := range rest {
		out = append(out, copied(item))
	}
	return out
}

// copied returns an item that shares no memory with this one.
func copied(item model.Requirement) model.Requirement {
	item.Values = slices.Clone(item.Values)
	return item
}

func (p *pool) templateOf(n *node, r *packing) nodeTemplate {
	what := p.requirements
	for _, it := range n.items {
		if terms := r.batches[it.batch].podGroup.terms; len(terms) == 1 { // of alternatives a claim can say nothing
			for key, set := range terms[0] { // each key on its own: the order does not matter
				if decided(key) {
					what = what.With(key, set)
				}
			}
		}
	}
	labels := maps.Clone(p.source.Template.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	custom := p.flags.sets[n.flag]
	for _, key := range custom.Keys() {
		if key == model.LabelHostname || key == model.LabelRegistered || key == model.LabelInitialized {
			continue
		}
		what = what.With(key, custom[key])
		// A label that may as well be absent stays absent: that meets NotIn and DoesNotExist alike.
		if value, ok := custom[key].Pick(); ok && !custom[key].AllowsAbsent() {
			labels[key] = value
		}
	}
	rest := what
	for _, key := range listed {
		rest = rest.Without(key)
	}
	return nodeTemplate{what, labels, rest.List()}
}

// relax lowers minValues to what the listed types have.
func (p *pool) relax(what requirement.Requirements, types []string) requirement.Requirements {
	for _, key := range what.Keys() {
		minimum := what[key].MinValues()
		if minimum == 0 {
			continue
		}
		seen := make(map[string]bool)
		for _, name := range types {
			for _, value := range p.valuesOf(p.market.index[name], key) {
				seen[value] = true
			}
		}
		if len(seen) < minimum {
			what = what.Without(key).With(key, what[key].LowerMinValues(len(seen)))
		}
	}
	return what
}

// smallestDaemons returns, per resource, the least that daemons take on any of the types.
func (p *pool) smallestDaemons(types []int) vector.Vector {
	out := slices.Clone(p.daemons[types[0]])
	for _, t := range types[1:] {
		for d, amount := range p.daemons[t] {
			out[d] = min(out[d], amount)
		}
	}
	return out
}
