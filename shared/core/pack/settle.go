package pack

import (
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
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

// settle narrows a planned node to offerings that are in the domain of its cheapest, wherever it matters: where its
// pods are counted by the label, where its daemons are, and where another domain would be one that nothing is in and
// that pods are spread over. A claim cannot be held to what it was not told.
func (o *outcome) settle(i int) {
	s := &o.spots[i]
	about := make(map[int]bool) // topology groups that count its pods or that those go by
	for _, it := range s.node.Items {
		c := s.run.Batches[it.Batch].PodGroup
		for _, a := range c.Contributions {
			about[a.TopologyGroup] = about[a.TopologyGroup] || a.Weight > 0
		}
		for n := range c.Constraints {
			about[c.Constraints[n].TopologyGroup] = true
		}
	}
	for t := range o.solver.rules.TopologyGroups {
		topologyGroup := &o.solver.rules.TopologyGroups[t]
		if !topologyGroup.Wanted && !slices.ContainsFunc(o.daemons, func(c *group.PodGroup) bool { return group.WeightIn(c.Contributions, t) > 0 }) {
			continue
		}
		parts := o.partsOf(kindOfNode{s.pool, s.node.Flag, t})
		if len(parts) < 2 {
			continue
		}
		mine := slices.IndexFunc(parts, func(p part) bool { return p.mask.Has(s.node.Column) })
		if mine >= 0 && o.matters(i, t, parts, mine, about[t]) {
			s.node.OfferingSet = s.pool.SetOf(s.node.Mask.And(parts[mine].mask))
			s.node.Mask = s.node.OfferingSet.Mask
		}
	}
}

// matters reports whether it makes a difference to the topology group in which of the parts the node comes up. counted
// says that it is about pods of the node.
func (o *outcome) matters(i, t int, parts []part, mine int, counted bool) bool {
	s, topologyGroup := &o.spots[i], &o.solver.rules.TopologyGroups[t]
	for n := range parts {
		other := &parts[n]
		if n == mine || !vector.Meet(s.node.Mask, s.pool.Open, other.mask) {
			continue
		}
		switch {
		case counted, (topologyGroup.Wanted || !topologyGroup.Host) && parts[mine].daemons+other.daemons != "":
			return true
		case !topologyGroup.Wanted:
		case topologyGroup.Host:
			o.vacant[t] = o.vacant[t] || other.counts
		case other.counts && o.nodes[t][other.value] == 0, parts[mine].counts && topologyGroup.Domains > 1:
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
	topologyGroup := &o.solver.rules.TopologyGroups[kind.topologyGroup]
	keys := o.solver.rules.OfferingKeys(topologyGroup)
	var daemons []vector.Bitset
	for _, c := range o.daemons {
		if group.WeightIn(c.Contributions, kind.topologyGroup) > 0 {
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
			probe := spot{node: &newnodes.Node{Flag: kind.flag, Column: c}, pool: kind.pool, taints: kind.pool.Source.Template.Taints}
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
	topologyGroup := &o.solver.rules.TopologyGroups[t]
	if topologyGroup.Filter >= 0 && !o.solver.rules.Filters[topologyGroup.Filter].Passes(o.labelsOf(s), s.taints) {
		return "", false
	}
	if topologyGroup.Host {
		return offerings.NewHostname, true
	}
	value := o.solver.planner.LabelOf(s.pool, s.node, topologyGroup.Key)
	return value, value != ""
}
