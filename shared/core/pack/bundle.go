package pack

import (
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/placing"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// bundled replaces pods that must share a node with pods nothing holds yet by units of both, which are placed like one
// large pod. What is near pods that run already goes onto their nodes first.
func (b *solver) bundled(order []*group.PodGroup, a *placing.Assigner) []*group.PodGroup {
	var out, units []*group.PodGroup
	u := b.bundler()
	there := func() *placing.Assigner { // for what exists alone
		existing := *a
		existing.MayOpen = false
		return &existing
	}
	for round, made := 0, -1; made < len(units); round++ { // a unit may be what a pod group before it waits for: chains come together link by link
		made = len(units)
		for _, c := range order {
			if !c.NeedsHost() {
				continue
			}
			if round == 0 && !u.starts(c) { // the first of their kind want one node for all of them
				there().Place(c)
			}
			for c.Units() > 0 {
				unit := u.bundle(c, order, units)
				if unit == nil {
					break
				}
				units = append(units, unit)
			}
		}
	}
	for _, c := range order {
		if c.Units() > 0 && c.NeedsHost() {
			there().NewPlacement(c).Explain()
		}
	}
	units = slices.DeleteFunc(units, func(c *group.PodGroup) bool { return len(c.Pods) == 0 }) // taken into another
	for _, c := range order {
		if c.Units() > 0 && !c.NeedsHost() {
			out = append(out, c)
		}
	}
	b.podGroups = append(b.podGroups, units...)
	return group.InOrder(append(out, units...))
}

// bundler makes units of pods that must share a node.
type bundler struct {
	dims     vector.Dimensions
	rules    *group.PodRules
	planner  *newnodes.Planner
	existing *existing.Nodes
}

func (b *solver) bundler() *bundler {
	return &bundler{b.dims, b.rules, b.planner, b.existing}
}

// starts reports whether pods of the pod group may be the first of those they need beside them.
func (b *bundler) starts(c *group.PodGroup) bool {
	return !slices.ContainsFunc(c.Constraints, func(u group.Constraint) bool {
		return u.Kind == group.Affinity && !u.Claim && (u.Self == 0 || b.rules.TopologyGroups[u.TopologyGroup].Total > 0)
	})
}

// bundle takes pods of the pod group, and of another pod group they need beside them, for one unit; nil where there is
// none to be made. units are those made before.
func (b *bundler) bundle(c *group.PodGroup, order, units []*group.PodGroup) *group.PodGroup {
	if unit := b.pair(c, order); unit != nil {
		return unit
	}
	if unit := b.pair(c, units); unit != nil {
		return unit
	}
	for _, u := range c.Constraints {
		if u.Kind == group.Affinity && u.ByHost && (u.Self == 0 || b.rules.TopologyGroups[u.TopologyGroup].Total > 0) {
			return nil // kube-scheduler wants the node of a pod that is there already
		}
	}
	for _, unit := range units { // the first of its kind has its node
		for _, u := range c.Constraints {
			if u.Kind == group.Affinity && u.ByHost && group.WeightIn(unit.Contributions, u.TopologyGroup) > 0 {
				return nil
			}
		}
	}
	return b.union(c, nil)
}

// pair makes a unit of one pod of a pod group that is wanted and of as many that want it as one node holds.
func (b *bundler) pair(c *group.PodGroup, order []*group.PodGroup) *group.PodGroup {
	for _, other := range order {
		if other == c || len(other.Pods) == 0 || other.NeedsHost() {
			continue
		}
		wanted := true
		for _, u := range c.Constraints {
			if u.Kind == group.Affinity && u.ByHost {
				wanted = wanted && group.WeightIn(other.Contributions, u.TopologyGroup) > 0
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

// union makes a unit of a pod of other, where there is one, and as many units of c as fit beside it; nil where none
// does.
func (b *bundler) union(c, other *group.PodGroup) *group.PodGroup {
	most := c.Units()
	if bound := c.Most(); bound > 0 {
		most = min(most, int(bound))
	}
	least := 1
	for n := most; n >= least; n = shrink(n) {
		unit := b.merge(c, other, n)
		if unit == nil || !b.fitsSomewhere(unit) {
			continue
		}
		if other != nil {
			unit.Pods = append(unit.Pods, other.TakeUnits(1)...)
		}
		unit.Pods = append(unit.Pods, c.TakeUnits(n)...)
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
func (b *bundler) merge(c, other *group.PodGroup, n int) *group.PodGroup {
	unit := *c
	unit.Pods, unit.Devices = nil, slices.Repeat(c.Devices, n)
	unit.Stride = n * c.Stride
	unit.Resources = scaled(c.Resources, int64(n))
	unit.Constraints, unit.Contributions = nil, nil
	for _, a := range c.Contributions {
		a.Weight *= int32(n)
		unit.Contributions = append(unit.Contributions, a)
	}
	members := []*group.PodGroup{c}
	if other != nil {
		members = append(members, other)
		unit.Stride += other.Stride
		unit.Devices = slices.Concat(other.Devices, unit.Devices)
		unit.Resources = resource.Add(unit.Resources, other.Resources)
		unit.Readings = new(offerings.Readings)
		unit.Terms, unit.There, unit.Own = terms.Cross(c.Terms, other.Terms), terms.Cross(c.There, other.There), terms.Cross(c.Own, other.Own)
		unit.OwnThere = terms.Cross(c.OwnThere, other.OwnThere)
		unit.Tolerations = slices.Concat(c.Tolerations, other.Tolerations)
		if _, clash := topology.PortConflict(c.Ports, other.Ports); clash {
			return nil
		}
		unit.Ports = slices.Concat(c.Ports, other.Ports)
		unit.Attaches, unit.Claiming = c.Attaches || other.Attaches, c.Claiming || other.Claiming
		unit.Settled = c.Settled || other.Settled
		unit.Conflicts = slices.Concat(c.Conflicts, other.Conflicts)
		unit.Priority = max(c.Priority, other.Priority)
		unit.Order = min(c.Order, other.Order)
		unit.Soft = append(slices.Clone(c.Soft), other.Soft...)
		for _, a := range other.Contributions {
			if i := slices.IndexFunc(unit.Contributions, func(x group.Contribution) bool { return x.TopologyGroup == a.TopologyGroup }); i >= 0 {
				unit.Contributions[i].Weight += a.Weight
			} else {
				unit.Contributions = append(unit.Contributions, a)
			}
		}
		for _, key := range other.Keys {
			if !slices.Contains(unit.Keys, key) {
				unit.Keys = append(slices.Clone(unit.Keys), key)
			}
		}
		slices.Sort(unit.Keys)
		if len(unit.Terms) == 0 {
			return nil
		}
		unit.Needs = unit.Terms
		unit.Venue = c.Venue + "\x00with\x00" + other.Venue
	}
	if len(c.Ports) > 0 && n > 1 {
		return nil
	}
	if !b.mergeUses(&unit, members, n) {
		return nil
	}
	unit.Hosts = true
	unit.SuitUnit(b.planner.Devices)
	unit.Request = b.dims.Vector(unit.Resources)
	return &unit
}

// mergeUses gives the unit the rules of its members; false where they contradict each other on one node. What they need
// on their own node is there.
func (b *bundler) mergeUses(unit *group.PodGroup, members []*group.PodGroup, n int) bool {
	for _, m := range members {
		for _, u := range m.Constraints {
			if u.Kind == group.Affinity && u.ByHost {
				continue
			}
			inside := group.WeightIn(unit.Contributions, u.TopologyGroup) // of the whole unit
			if u.ByHost && (u.Kind == group.AntiAffinity && inside > u.Self || u.Kind == group.AntiAffinity && m == members[0] && n > 1 && u.Self > 0 || u.Kind == group.Spread && inside > u.MaxSkew) {
				return false
			}
			if !u.ByHost && u.Kind == group.AntiAffinity && (inside > u.Self || m == members[0] && n > 1 && u.Self > 0) {
				return false
			}
			u.Self = inside
			if !slices.ContainsFunc(unit.Constraints, func(v group.Constraint) bool {
				return v.Kind == u.Kind && v.TopologyGroup == u.TopologyGroup && v.MaxSkew == u.MaxSkew
			}) {
				unit.Constraints = append(unit.Constraints, u)
			}
		}
	}
	return true
}

// fitsSomewhere reports whether a new node or one that exists could hold the unit.
func (b *bundler) fitsSomewhere(unit *group.PodGroup) bool {
	if unit.Venue == "" {
		unit.Venue = strconv.Itoa(unit.Order)
	}
	for _, s := range b.planner.CandidatePools(unit) {
		if len(b.planner.Pools()[s.Pool].Options(s.Variants, unit.Request, 0)) > 0 {
			return true
		}
	}
	b.existing.All()
	for n, s := range b.existing.List {
		if s.Closed || s.Blind || !unit.Request.Fits(s.Free) || existing.Evaluate(unit, s) == existing.Refused {
			continue
		}
		if unit.Request.Fits(b.existing.Node(n).Free) && b.existing.Devices(s, unit) {
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
