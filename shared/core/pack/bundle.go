package pack

import (
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// bundled replaces pods that must share a node with pods nothing holds yet by units of both, which are placed like one
// large pod. What is near pods that run already goes onto their nodes first.
func (b *board) bundled(order []*class, a *assigner) []*class {
	var out, units []*class
	there := func() *assigner { // for what exists alone
		existing := *a
		existing.anew = false
		return &existing
	}
	for round, made := 0, -1; made < len(units); round++ { // a unit may be what a class before it waits for: chains come together link by link
		made = len(units)
		for _, c := range order {
			if !b.needsHost(c) {
				continue
			}
			if round == 0 && !b.starts(c) { // the first of their kind want one node for all of them
				there().place(c)
			}
			for c.units() > 0 {
				unit := b.bundle(c, order, units)
				if unit == nil {
					break
				}
				units = append(units, unit)
			}
		}
	}
	for _, c := range order {
		if c.units() > 0 && b.needsHost(c) {
			there().newLedger(c).explain()
		}
	}
	units = slices.DeleteFunc(units, func(c *class) bool { return len(c.pods) == 0 }) // taken into another
	for _, c := range order {
		if c.units() > 0 && !b.needsHost(c) {
			out = append(out, c)
		}
	}
	b.classes = append(b.classes, units...)
	return inOrder(append(out, units...))
}

// starts reports whether pods of the class may be the first of those they need beside them.
func (b *board) starts(c *class) bool {
	return !slices.ContainsFunc(c.uses, func(u use) bool {
		return u.kind == near && !u.claim && (u.self == 0 || b.book.tallies[u.tally].total > 0)
	})
}

// needsHost reports whether the class needs some pod on its own node.
func (b *board) needsHost(c *class) bool {
	return slices.ContainsFunc(c.uses, func(u use) bool { return u.kind == near && u.byHost })
}

// bundle takes pods of the class, and of another class they need beside them, for one unit; nil where there is none to be
// made. units are those made before.
func (b *board) bundle(c *class, order, units []*class) *class {
	if unit := b.pair(c, order); unit != nil {
		return unit
	}
	if unit := b.pair(c, units); unit != nil {
		return unit
	}
	for _, u := range c.uses {
		if u.kind == near && u.byHost && (u.self == 0 || b.book.tallies[u.tally].total > 0) {
			return nil // kube-scheduler wants the node of a pod that is there already
		}
	}
	for _, unit := range units { // the first of its kind has its node
		for _, u := range c.uses {
			if u.kind == near && u.byHost && weightIn(unit.adds, u.tally) > 0 {
				return nil
			}
		}
	}
	return b.union(c, nil)
}

// pair makes a unit of one pod of a class that is wanted and of as many that want it as one node holds.
func (b *board) pair(c *class, order []*class) *class {
	for _, other := range order {
		if other == c || len(other.pods) == 0 || b.needsHost(other) {
			continue
		}
		wanted := true
		for _, u := range c.uses {
			if u.kind == near && u.byHost {
				wanted = wanted && weightIn(other.adds, u.tally) > 0
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
func (b *board) union(c, other *class) *class {
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
func (b *board) merge(c, other *class, n int) *class {
	unit := *c
	unit.pods = nil
	unit.stride = n * c.stride
	unit.resources = scaled(c.resources, int64(n))
	unit.uses, unit.adds = nil, nil
	for _, a := range c.adds {
		a.weight *= int32(n)
		unit.adds = append(unit.adds, a)
	}
	members := []*class{c}
	if other != nil {
		members = append(members, other)
		unit.stride += other.stride
		unit.resources = resource.Add(unit.resources, other.resources)
		unit.readings = new(readings)
		unit.terms, unit.there, unit.own = crossTerms(c.terms, other.terms), crossTerms(c.there, other.there), crossTerms(c.own, other.own)
		unit.ownThere = crossTerms(c.ownThere, other.ownThere)
		unit.tolerations = slices.Concat(c.tolerations, other.tolerations)
		if _, clash := topology.PortsClash(c.ports, other.ports); clash {
			return nil
		}
		unit.ports = slices.Concat(c.ports, other.ports)
		unit.attaches = c.attaches || other.attaches
		unit.settled = c.settled || other.settled
		unit.foes = slices.Concat(c.foes, other.foes)
		unit.priority = max(c.priority, other.priority)
		unit.order = min(c.order, other.order)
		unit.soft = append(slices.Clone(c.soft), other.soft...)
		for _, a := range other.adds {
			if i := slices.IndexFunc(unit.adds, func(x add) bool { return x.tally == a.tally }); i >= 0 {
				unit.adds[i].weight += a.weight
			} else {
				unit.adds = append(unit.adds, a)
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
	unit.request = b.dims.vector(unit.resources)
	return &unit
}

// mergeUses gives the unit the rules of its members; false where they contradict each other on one node. What they need
// on their own node is there.
func (b *board) mergeUses(unit *class, members []*class, n int) bool {
	for _, m := range members {
		for _, u := range m.uses {
			if u.kind == near && u.byHost {
				continue
			}
			inside := weightIn(unit.adds, u.tally) // of the whole unit
			if u.byHost && (u.kind == far && inside > u.self || u.kind == far && m == members[0] && n > 1 && u.self > 0 || u.kind == spread && inside > u.maxSkew) {
				return false
			}
			if !u.byHost && u.kind == far && (inside > u.self || m == members[0] && n > 1 && u.self > 0) {
				return false
			}
			u.self = inside
			if !slices.ContainsFunc(unit.uses, func(v use) bool { return v.kind == u.kind && v.tally == u.tally && v.maxSkew == u.maxSkew }) {
				unit.uses = append(unit.uses, u)
			}
		}
	}
	return true
}

// fitsSomewhere reports whether a new node or one that exists could hold the unit.
func (b *board) fitsSomewhere(unit *class) bool {
	if unit.venue == "" {
		unit.venue = strconv.Itoa(unit.order)
	}
	for _, s := range b.planner.stands(unit) {
		if len(b.planner.pools()[s.pool].options(s.grounds, unit.request, 0)) > 0 {
			return true
		}
	}
	b.places.all()
	for n, s := range b.places.sites {
		if !s.closed && !s.blind && unit.request.fits(s.free) && judge(unit, s) != refused && unit.request.fits(b.places.site(n).free) {
			return true
		}
	}
	return false
}

func scaled(amounts model.Resources, n int64) model.Resources {
	out := make(model.Resources, len(amounts))
	for name, amount := range amounts { // each on its own: the order does not matter
		out[name] = saturatingMul(amount, n)
	}
	return out
}
