package pack

import (
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// bundled replaces pods that must share a node with pods nothing holds yet by units of both, which are placed like one
// large pod. What is near pods that run already goes onto their nodes first.
func (b *solver) bundled(order []*podGroup, a *assigner) []*podGroup {
	var out, units []*podGroup
	u := b.bundler()
	there := func() *assigner { // for what exists alone
		existing := *a
		existing.mayOpen = false
		return &existing
	}
	for round, made := 0, -1; made < len(units); round++ { // a unit may be what a pod group before it waits for: chains come together link by link
		made = len(units)
		for _, c := range order {
			if !c.needsHost() {
				continue
			}
			if round == 0 && !u.starts(c) { // the first of their kind want one node for all of them
				there().place(c)
			}
			for c.units() > 0 {
				unit := u.bundle(c, order, units)
				if unit == nil {
					break
				}
				units = append(units, unit)
			}
		}
	}
	for _, c := range order {
		if c.units() > 0 && c.needsHost() {
			there().newPlacement(c).explain()
		}
	}
	units = slices.DeleteFunc(units, func(c *podGroup) bool { return len(c.pods) == 0 }) // taken into another
	for _, c := range order {
		if c.units() > 0 && !c.needsHost() {
			out = append(out, c)
		}
	}
	b.podGroups = append(b.podGroups, units...)
	return inOrder(append(out, units...))
}

// bundler makes units of pods that must share a node.
type bundler struct {
	dims     vector.Dimensions
	rules    *podRules
	planner  *planner
	existing *existingNodes
}

func (b *solver) bundler() *bundler {
	return &bundler{b.dims, b.rules, b.planner, b.existing}
}

// starts reports whether pods of the pod group may be the first of those they need beside them.
func (b *bundler) starts(c *podGroup) bool {
	return !slices.ContainsFunc(c.constraints, func(u constraint) bool {
		return u.kind == affinity && !u.claim && (u.self == 0 || b.rules.topologyGroups[u.topologyGroup].total > 0)
	})
}

// bundle takes pods of the pod group, and of another pod group they need beside them, for one unit; nil where there is none to be
// made. units are those made before.
func (b *bundler) bundle(c *podGroup, order, units []*podGroup) *podGroup {
	if unit := b.pair(c, order); unit != nil {
		return unit
	}
	if unit := b.pair(c, units); unit != nil {
		return unit
	}
	for _, u := range c.constraints {
		if u.kind == affinity && u.byHost && (u.self == 0 || b.rules.topologyGroups[u.topologyGroup].total > 0) {
			return nil // kube-scheduler wants the node of a pod that is there already
		}
	}
	for _, unit := range units { // the first of its kind has its node
		for _, u := range c.constraints {
			if u.kind == affinity && u.byHost && weightIn(unit.contributions, u.topologyGroup) > 0 {
				return nil
			}
		}
	}
	return b.union(c, nil)
}

// pair makes a unit of one pod of a pod group that is wanted and of as many that want it as one node holds.
func (b *bundler) pair(c *podGroup, order []*podGroup) *podGroup {
	for _, other := range order {
		if other == c || len(other.pods) == 0 || other.needsHost() {
			continue
		}
		wanted := true
		for _, u := range c.constraints {
			if u.kind == affinity && u.byHost {
				wanted = wanted && weightIn(other.contributions, u.topologyGroup) > 0
			}
		}
		if !wanted {
			continue
		}
		if unit := b.union(c, other); unit != nil {
			return unit
		}
	}
	return nil
}

// union makes a unit of a pod of other, where there is one, and as many units of c as fit beside it; nil where none does.
func (b *bundler) union(c, other *podGroup) *podGroup {
	most := c.units()
	if bound := c.most(); bound > 0 {
		most = min(most, int(bound))
	}
	least := 1
	for n := most; n >= least; n = shrink(n) {
		unit := b.merge(c, other, n)
		if unit == nil || !b.fitsSomewhere(unit) {
			continue
		}
		if other != nil {
			unit.pods = append(unit.pods, other.takeUnits(1)...)
		}
		unit.pods = append(unit.pods, c.takeUnits(n)...)
		return unit
	}
	return nil
}

func shrink(n int) int {
	if n > 8 {
		return n * 7 / 8
	}
	return n - 1
}

// merge describes a unit of n of c beside one of other; nil where they contradict each other.
func (b *bundler) merge(c, other *podGroup, n int) *podGroup {
	unit := *c
	unit.pods = nil
	unit.stride = n * c.stride
	unit.resources = scaled(c.resources, int64(n))
	unit.constraints, unit.contributions = nil, nil
	for _, a := range c.contributions {
		a.weight *= int32(n)
		unit.contributions = append(unit.contributions, a)
	}
	members := []*podGroup{c}
	if other != nil {
		members = append(members, other)
		unit.stride += other.stride
		unit.resources = resource.Add(unit.resources, other.resources)
		unit.readings = new(offerings.Readings)
		unit.terms, unit.there, unit.own = terms.Cross(c.terms, other.terms), terms.Cross(c.there, other.there), terms.Cross(c.own, other.own)
		unit.ownThere = terms.Cross(c.ownThere, other.ownThere)
		unit.tolerations = slices.Concat(c.tolerations, other.tolerations)
		if _, clash := topology.PortConflict(c.ports, other.ports); clash {
			return nil
		}
		unit.ports = slices.Concat(c.ports, other.ports)
		unit.attaches = c.attaches || other.attaches
		unit.settled = c.settled || other.settled
		unit.conflicts = slices.Concat(c.conflicts, other.conflicts)
		unit.priority = max(c.priority, other.priority)
		unit.order = min(c.order, other.order)
		unit.soft = append(slices.Clone(c.soft), other.soft...)
		for _, a := range other.contributions {
			if i := slices.IndexFunc(unit.contributions, func(x contribution) bool { return x.topologyGroup == a.topologyGroup }); i >= 0 {
				unit.contributions[i].weight += a.weight
			} else {
				unit.contributions = append(unit.contributions, a)
			}
		}
		for _, key := range other.keys {
			if !slices.Contains(unit.keys, key) {
				unit.keys = append(slices.Clone(unit.keys), key)
			}
		}
		slices.Sort(unit.keys)
		if len(unit.terms) == 0 {
			return nil
		}
		unit.needs = unit.terms
		unit.venue = c.venue + "\x00with\x00" + other.venue
	}
	if len(c.ports) > 0 && n > 1 {
		return nil
	}
	if !b.mergeUses(&unit, members, n) {
		return nil
	}
	unit.hosts = true
	unit.request = b.dims.Vector(unit.resources)
	return &unit
}

// mergeUses gives the unit the rules of its members; false where they contradict each other on one node. What they need
// on their own node is there.
func (b *bundler) mergeUses(unit *podGroup, members []*podGroup, n int) bool {
	for _, m := range members {
		for _, u := range m.constraints {
			if u.kind == affinity && u.byHost {
				continue
			}
			inside := weightIn(unit.contributions, u.topologyGroup) // of the whole unit
			if u.byHost && (u.kind == antiAffinity && inside > u.self || u.kind == antiAffinity && m == members[0] && n > 1 && u.self > 0 || u.kind == spread && inside > u.maxSkew) {
				return false
			}
			if !u.byHost && u.kind == antiAffinity && (inside > u.self || m == members[0] && n > 1 && u.self > 0) {
				return false
			}
			u.self = inside
			if !slices.ContainsFunc(unit.constraints, func(v constraint) bool {
				return v.kind == u.kind && v.topologyGroup == u.topologyGroup && v.maxSkew == u.maxSkew
			}) {
				unit.constraints = append(unit.constraints, u)
			}
		}
	}
	return true
}

// fitsSomewhere reports whether a new node or one that exists could hold the unit.
func (b *bundler) fitsSomewhere(unit *podGroup) bool {
	if unit.venue == "" {
		unit.venue = strconv.Itoa(unit.order)
	}
	for _, s := range b.planner.candidatePools(unit) {
		if len(b.planner.pools()[s.pool].Options(s.variants, unit.request, 0)) > 0 {
			return true
		}
	}
	b.existing.all()
	for n, s := range b.existing.nodes {
		if !s.closed && !s.blind && unit.request.Fits(s.free) && evaluate(unit, s) != refused && unit.request.Fits(b.existing.node(n).free) {
			return true
		}
	}
	return false
}

func scaled(amounts model.Resources, n int64) model.Resources {
	out := make(model.Resources, len(amounts))
	for name, amount := range amounts { // each on its own: the order does not matter
		out[name] = vector.SaturatingMul(amount, n)
	}
	return out
}
