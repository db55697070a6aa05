package pack

import (
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// part is the offerings of a pool whose nodes a topology group cannot tell apart.
type part struct {
	value   string // the domain
	counts  bool   // whether such a node counts at all
	daemons string // which of the daemons it counts run there; empty = none
	mask    vector.Bitset
}

// kindOfNode names nodes of one pool and of the same custom labels, for a topology group.
type kindOfNode struct {
	pool                *offerings.Pool
	flag, topologyGroup int
}

// settle narrows a planned node to offerings that are in the domain of its cheapest, wherever it matters: where its pods are
// counted by the label, where its daemons are, and where another domain would be one that nothing is in and that pods are
// spread over. A claim cannot be held to what it was not told.
func (o *outcome) settle(i int) {
	s := &o.spots[i]
	about := make(map[int]bool) // topology groups that count its pods or that those go by
	for _, it := range s.node.items {
		c := s.run.batches[it.batch].podGroup
		for _, a := range c.contributions {
			about[a.topologyGroup] = about[a.topologyGroup] || a.weight > 0
		}
		for n := range c.constraints {
			about[c.constraints[n].topologyGroup] = true
		}
	}
	for t := range o.solver.rules.topologyGroups {
		topologyGroup := &o.solver.rules.topologyGroups[t]
		if !topologyGroup.wanted && !slices.ContainsFunc(o.daemons, func(c *podGroup) bool { return weightIn(c.contributions, t) > 0 }) {
			continue
		}
		parts := o.partsOf(kindOfNode{s.run.pool, s.node.flag, t})
		if len(parts) < 2 {
			continue
		}
		mine := slices.IndexFunc(parts, func(p part) bool { return p.mask.Has(s.node.column) })
		if mine >= 0 && o.matters(i, t, parts, mine, about[t]) {
			s.node.offeringSet = s.run.pool.SetOf(s.node.mask.And(parts[mine].mask))
			s.node.mask = s.node.offeringSet.Mask
		}
	}
}

// matters reports whether it makes a difference to the topology group in which of the parts the node comes up. counted says that it is about
// pods of the node.
func (o *outcome) matters(i, t int, parts []part, mine int, counted bool) bool {
	s, topologyGroup := &o.spots[i], &o.solver.rules.topologyGroups[t]
	for n := range parts {
		other := &parts[n]
		if n == mine || !vector.Meet(s.node.mask, s.run.pool.Open, other.mask) {
			continue
		}
		switch {
		case counted, (topologyGroup.wanted || !topologyGroup.host) && parts[mine].daemons+other.daemons != "":
			return true
		case !topologyGroup.wanted:
		case topologyGroup.host:
			o.vacant[t] = o.vacant[t] || other.counts
		case other.counts && o.nodes[t][other.value] == 0, parts[mine].counts && topologyGroup.domains > 1:
			return true
		}
	}
	return false
}

// partsOf divides the pool's offerings by what the topology group sees of a node of theirs.
func (o *outcome) partsOf(kind kindOfNode) []part {
	if known, seen := o.splits[kind]; seen {
		return known
	}
	topologyGroup := &o.solver.rules.topologyGroups[kind.topologyGroup]
	keys := o.solver.rules.offeringKeys(topologyGroup)
	var daemons []vector.Bitset
	for _, c := range o.daemons {
		if weightIn(c.contributions, kind.topologyGroup) > 0 {
			daemons = append(daemons, o.runsOn(kind.pool, c))
		}
	}
	var out []part
	if len(keys)+len(daemons) > 0 {
		out = o.split(kind, keys, daemons)
	}
	o.splits[kind] = out
	return out
}

// split is partsOf by the labels given, which are all that offerings decide, and by the offerings on which daemons run.
func (o *outcome) split(kind kindOfNode, keys []string, daemons []vector.Bitset) []part {
	var out []part
	m := kind.pool.Market
	known := make(map[string]int)
	var text []byte
	for c := kind.pool.Allowed.Next(0); c >= 0; c = kind.pool.Allowed.Next(c + 1) {
		text = text[:0]
		for _, key := range keys {
			text = append(append(text, m.Label(c, key)...), 0)
		}
		there := ""
		for d, runs := range daemons {
			if runs.Has(c) {
				there += strconv.Itoa(d) + " "
			}
		}
		text = append(text, there...)
		n, seen := known[string(text)]
		if !seen {
			probe := spot{node: &node{flag: kind.flag, column: c}, run: &packing{filling: filling{pool: kind.pool}}, taints: kind.pool.Source.Template.Taints}
			value, counts := o.seenAs(kind.topologyGroup, &probe)
			if n = slices.IndexFunc(out, func(p part) bool { return p.counts == counts && p.value == value && p.daemons == there }); n < 0 {
				n = len(out)
				out = append(out, part{value: value, counts: counts, daemons: there, mask: vector.NewBitset(len(m.Columns))})
			}
			known[string(text)] = n
		}
		out[n].mask.Set(c)
	}
	return out
}

// seenAs returns the domain a new node is in, and whether it counts.
func (o *outcome) seenAs(t int, s *spot) (string, bool) {
	topologyGroup := &o.solver.rules.topologyGroups[t]
	if topologyGroup.filter >= 0 && !o.solver.rules.filters[topologyGroup.filter].passes(o.labelsOf(s), s.taints) {
		return "", false
	}
	if topologyGroup.host {
		return offerings.NewHostname, true
	}
	value := o.solver.planner.labelOf(s.run.pool, s.node, topologyGroup.key)
	return value, value != ""
}

// offeringKeys returns the labels decided by the offering that the topology group looks at, sorted.
func (b *podRules) offeringKeys(t *topologyGroup) []string {
	var keys []string
	note := func(key string) {
		if offerings.Decided(key) {
			keys = append(keys, key)
		}
	}
	note(t.key)
	if t.filter >= 0 {
		for _, key := range b.filters[t.filter].keys {
			note(key)
		}
		for _, term := range b.filters[t.filter].terms {
			for _, key := range term.Keys() {
				note(key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
