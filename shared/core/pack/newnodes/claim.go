package newnodes

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// MaxInstanceTypes is how many instance types a claim lists.
const MaxInstanceTypes = 60

// Claims writes down the nodes of every run, in the order they were opened, and their price together.
func (p *Planner) Claims() ([]model.PlannedClaim, model.MicroUSD) {
	out := []model.PlannedClaim{}
	total := model.MicroUSD(0)
	spare := make(map[*offerings.Pool][]int64)
	for _, r := range p.Runs {
		if spare[r.Pool] == nil {
			spare[r.Pool] = slices.Clone(r.Pool.Left)
		}
		for i := range r.Nodes {
			if len(r.Nodes[i].Pods) == 0 && len(r.Nodes[i].Items) > 0 { // its pods were taken off again
				continue
			}
			claim := p.claim(r, &r.Nodes[i], spare[r.Pool])
			total += claim.Price
			out = append(out, claim)
		}
	}
	if len(out) > 0 {
		name(out, p.In)
	}
	return out, total
}

// claim writes down one node. Listing types that take more of the limits than the node's own uses up spare.
func (p *Planner) claim(r *Packing, n *Node, spare []int64) model.PlannedClaim {
	pool := r.Pool
	b := optionSetOf(pool, n, &r.purchases)
	usable := b.Mask.And(r.openFor(n))
	types, ceiling := listedTypes(pool, n, b, usable, spare)
	offering := pool.Market.Columns[n.Column].Offering
	source := pool.Source
	claim := model.PlannedClaim{
		Pool:          source.Name,
		Class:         source.Template.ClassName,
		Offering:      model.OfferingKey{InstanceType: pool.Market.Types[pool.Market.Columns[n.Column].Instance].Name, Zone: offering.Zone, CapacityType: offering.CapacityType},
		Price:         offering.Price,
		Annotations:   maps.Clone(source.Template.Annotations),
		Taints:        slices.Clone(source.Template.Taints),
		StartupTaints: slices.Clone(source.Template.StartupTaints),
		DeviceDrivers: r.drivers(n),
		Reserve:       pool.Market.LimitUse(types, usable, ceiling),
		Pods:          input.Refs(p.In.Snapshot, n.Pods),
	}
	claim.InstanceTypes = make([]string, 0, len(types))
	for _, t := range types {
		claim.InstanceTypes = append(claim.InstanceTypes, pool.Market.Types[t].Name)
	}
	claim.Zones, claim.CapacityTypes = pool.Market.ZonesAndCapacity(types, usable, ceiling)
	claim.Requirements, claim.Labels = identity(pool, n, r, b, types, &claim)
	claim.Requests = p.Dims.Resources(n.Load)
	for name, amount := range p.Dims.Resources(smallestDaemons(pool, types)) {
		claim.Requests[name] += amount
	}
	annotate(&claim, pool, types, n.relaxed)
	return claim
}

// annotate says on the claim what the plan made of it.
func annotate(claim *model.PlannedClaim, pool *offerings.Pool, types []int, relaxed bool) {
	set := func(key, value string) {
		if claim.Annotations == nil {
			claim.Annotations = make(map[string]string)
		}
		claim.Annotations[key] = value
	}
	if pool.Minimums {
		set(model.AnnotationMinValuesRelaxed, strconv.FormatBool(relaxed))
	}
	if slices.ContainsFunc(types, func(t int) bool { return pool.Market.Overlaid[t] }) {
		set(model.AnnotationPriceOverlaid, "true")
	}
	if slices.ContainsFunc(types, func(t int) bool { return pool.Market.Types[t].Extended }) {
		set(model.AnnotationCapacityOverlaid, "true")
	}
	if len(claim.DeviceDrivers) > 0 {
		set(model.AnnotationDrivers, strings.Join(claim.DeviceDrivers, ","))
	}
}

// listedTypes returns the types the claim may be bought as, cheapest first, at most MaxInstanceTypes and enough for
// minValues, and the most it may cost per hour. What they take of the limits beyond what the node holds already comes
// out of spare.
func listedTypes(p *offerings.Pool, n *Node, b offerings.OptionSet, usable vector.Bitset, spare []int64) (types []int, ceiling int64) {
	if len(spare) == 0 && !p.Minimums && !p.Reserving && n.OfferingSet != nil && n.OfferingSet.Whole != nil && slices.Equal(b.Mask, n.OfferingSet.Whole.Mask) {
		return cheapestTypes(p, n), offerings.PriceCeiling
	}
	all := p.Holders(usable, p.Open, n.Load)
	first := p.Market.Columns[n.Column].Instance
	needed := map[int]bool{first: true}
	if p.Minimums {
		chosen, _ := p.WithMinValues(slices.DeleteFunc(slices.Clone(all), func(t int) bool { return !offerings.Within(p.Least(t, usable), n.LimitUse) }))
		for _, t := range chosen {
			needed[t] = true
		}
	}
	hold := slices.Clone(n.LimitUse)
	optional := MaxInstanceTypes - len(needed)
	for _, t := range all {
		switch more := exceed(p.Least(t, usable), hold); {
		case needed[t]:
			types = append(types, t)
		case optional > 0 && offerings.Within(more, spare):
			types = append(types, t)
			optional--
			hold = largest(hold, p.Least(t, usable))
			for i := range spare {
				spare[i] -= more[i]
			}
		}
	}
	return types, p.Ceiling(hold)
}

// cheapestTypes returns the first types that hold the node, by price, where nothing else decides.
func cheapestTypes(p *offerings.Pool, n *Node) []int {
	out := make([]int, 0, MaxInstanceTypes)
	for _, e := range n.OfferingSet.Types {
		if len(out) < MaxInstanceTypes && n.Load.Fits(p.Free[e.Instance]) {
			out = append(out, e.Instance)
		}
	}
	return out
}

// exceed returns how far amounts go beyond the bound, at least 0 each.
func exceed(amounts, bound []int64) []int64 {
	out := make([]int64, len(amounts))
	for i := range amounts {
		out[i] = max(0, amounts[i]-bound[i])
	}
	return out
}

// identity returns what the claim's node must be, and the labels that says which are known before it is launched.
func identity(p *offerings.Pool, n *Node, r *Packing, b offerings.OptionSet, types []int, claim *model.PlannedClaim) ([]model.Requirement, map[string]string) {
	venues := make([]string, 0, len(n.Items))
	for _, it := range n.Items {
		venues = append(venues, r.Batches[it.Batch].PodGroup.Venue)
	}
	slices.Sort(venues)
	key := strconv.Itoa(n.Flag) + strings.Join(slices.Compact(venues), "\x01")
	known, ok := p.NodeTemplates[key]
	if !ok {
		known = templateOf(p, n, r)
		if p.NodeTemplates == nil {
			p.NodeTemplates = make(map[string]offerings.NodeTemplate)
		}
		p.NodeTemplates[key] = known
	}
	byName := slices.Sorted(slices.Values(types)) // types are numbered in the order of their names
	names := make([]string, len(byName))
	for i, t := range byName {
		names[i] = p.Market.Types[t].Name
	}
	chosen := p.Market.ChosenFor(b.Mask)
	if !n.relaxed && n.Reservation == "" && len(chosen) == 0 {
		return known.List(slices.Sorted(slices.Values(claim.CapacityTypes)), names, slices.Clone(claim.Zones)), maps.Clone(known.Labels)
	}
	what := known.What.With(model.LabelInstanceType, requirement.Values(names...)).
		With(model.LabelZone, requirement.Values(claim.Zones...)).
		With(model.LabelCapacityType, requirement.Values(claim.CapacityTypes...))
	if n.relaxed {
		what = relaxMinValues(p, what, claim.InstanceTypes)
	}
	if n.Reservation != "" {
		what = what.With(requirement.CapacityReservationID, requirement.Values(n.Reservation))
	}
	return what.Intersect(chosen).List(), maps.Clone(known.Labels)
}

func templateOf(p *offerings.Pool, n *Node, r *Packing) offerings.NodeTemplate {
	what := p.Requirements
	for _, it := range n.Items {
		if terms := r.Batches[it.Batch].PodGroup.Terms; len(terms) == 1 { // of alternatives a claim can say nothing
			for key, set := range terms[0] { // each key on its own: the order does not matter
				if offerings.Decided(key) {
					what = what.With(key, set)
				}
			}
		}
	}
	labels := maps.Clone(p.Source.Template.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	custom := p.Flags.Sets[n.Flag]
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
	for _, key := range offerings.Listed {
		rest = rest.Without(key)
	}
	return offerings.NodeTemplate{What: what, Labels: labels, Rest: rest.List()}
}

// relaxMinValues lowers minValues to what the listed types have.
func relaxMinValues(p *offerings.Pool, what requirement.Requirements, types []string) requirement.Requirements {
	for _, key := range what.Keys() {
		minimum := what[key].MinValues()
		if minimum == 0 {
			continue
		}
		seen := make(map[string]bool)
		for _, name := range types {
			for _, value := range p.ValuesOf(p.Market.Index[name], key) {
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
func smallestDaemons(p *offerings.Pool, types []int) vector.Vector {
	out := slices.Clone(p.Daemons[types[0]])
	for _, t := range types[1:] {
		for d, amount := range p.Daemons[t] {
			out[d] = min(out[d], amount)
		}
	}
	return out
}
