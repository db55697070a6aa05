package placing

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
)

// roomiest returns the domains in which what exists has room for most units of a pod group whose pods must all be in
// one domain, which the first of them decides; nil where that is decided, or makes no difference.
func (l *Placement) roomiest() [][]string {
	c := l.podGroup
	if c.Units() < 2 || l.hostAffinity || len(l.nodeSets) < 2 || !slices.ContainsFunc(c.Constraints, func(u group.Constraint) bool { return u.Kind == group.Affinity && l.mayStart(&u) }) {
		return nil
	}
	room := make(map[string]int)
	most := 0
	for g := range l.nodeSets {
		nodeSet := &l.nodeSets[g]
		if nodeSet.vague || l.refuses(nodeSet.values, nodeSet.open) != nil {
			continue
		}
		key := fmt.Sprintf("%q", nodeSet.values)
		for slot := l.Existing.FirstWith(nodeSet.Sign, c.Request, 0); slot >= 0 && room[key] < c.Units(); slot = l.Existing.FirstWith(nodeSet.Sign, c.Request, slot+1) {
			if n := l.Existing.BySign[nodeSet.Sign][slot]; l.hostRefuses(n) == "" {
				room[key] += c.Request.Copies(l.Existing.List[n].Free, c.Units())
			}
		}
		most = max(most, min(room[key], c.Units()))
	}
	var out [][]string
	for g := range l.nodeSets {
		if values := l.nodeSets[g].values; most > 0 && room[fmt.Sprintf("%q", values)] >= most {
			out = append(out, values)
		}
	}
	return out
}

// placeUnit puts one unit on an existing node, or else in a cell; false where no place is left that keeps every rule.
// What is on its way comes after what is there, as it did when it was asked for: so a plan that is made again while it
// is on its way says the same.
func (l *Placement) placeUnit() bool {
	for _, tier := range []NodeSet{{}, {Soft: true}, {coming: true}, {Soft: true, coming: true}} {
		best, node := -1, -1
		var penalty int64
		for g := range l.nodeSets {
			if l.start != nil && !slices.ContainsFunc(l.start, func(values []string) bool { return slices.Equal(values, l.nodeSets[g].values) }) {
				continue
			}
			if l.nodeSets[g].Soft != tier.Soft || l.nodeSets[g].coming != tier.coming || l.nodeSets[g].settled || l.nodeSets[g].vague || l.refuses(l.nodeSets[g].values, l.nodeSets[g].open) != nil {
				continue
			}
			n := l.nodeIn(&l.nodeSets[g])
			if n < 0 {
				continue
			}
			p := l.penalty(l.nodeSets[g].values) + 1000*l.unbalance(l.nodeSets[g].values, true)
			if node < 0 || p < penalty || p == penalty && n < node {
				best, node, penalty = g, n, p
			}
		}
		if best >= 0 {
			l.settleOn(node)
			return true
		}
	}
	if c := l.bestCell(); c >= 0 {
		l.settleIn(c)
		return true
	}
	l.Explain()
	return false
}

// nodeIn returns the first existing node of the group that holds a unit, −1 where none does.
func (l *Placement) nodeIn(g *NodeSet) int {
	p := l.Existing
	for {
		slot := p.FirstWith(g.Sign, l.podGroup.Request, g.cursor)
		if slot < 0 {
			g.settled = true
			return -1
		}
		g.cursor = slot
		if n := p.BySign[g.Sign][slot]; l.hostRefuses(n) == "" {
			return n
		}
		g.cursor++
	}
}

// settleOn puts the next unit on existing node n.
func (l *Placement) settleOn(n int) {
	c, p := l.podGroup, l.Existing
	s := p.List[n]
	p.Take(n, c.Request, 1)
	before := l.hostLows()
	for _, contribution := range c.Contributions {
		p.Counter().Count(contribution.TopologyGroup, n, contribution.Weight)
	}
	if before != l.hostLows() { // what was too full may not be any more
		for g := range l.nodeSets {
			l.nodeSets[g].cursor, l.nodeSets[g].settled = 0, false
		}
	}
	for i, u := range c.Constraints {
		t := &l.Rules.TopologyGroups[u.TopologyGroup]
		if !t.Host || u.Kind != group.Spread {
			continue
		}
		if l.exact[i] && p.List[n].Number >= 0 {
			if most, bound := t.Beyond[n]; !bound || u.MaxSkew < most {
				t.Beyond[n] = u.MaxSkew
			}
		} else if most, bound := t.Limit[n]; !bound || u.MaxSkew < most {
			t.Limit[n] = u.MaxSkew
		}
	}
	s.Ports = append(s.Ports, c.Ports...)
	pods := c.TakeUnits(1)
	if c.Attaches {
		for _, i := range pods {
			pod := &p.In.Snapshot.Pods[i]
			s.AttachAll(p.Classifier.Volumes.Attachments(pod, p.In.Snapshot.ShapeOf(pod)))
		}
	}
	s.Pods = append(s.Pods, pods...)
}

// settleIn puts the next unit into the cell.
func (l *Placement) settleIn(i int) {
	c, cell := l.podGroup, &l.cells[i]
	for _, contribution := range c.Contributions {
		t := &l.Rules.TopologyGroups[contribution.TopologyGroup]
		if t.Host {
			t.Total += contribution.Weight
		} else if value := cell.Values[slices.Index(c.Keys, t.Key)]; value != "" && l.Planner.CountsNew(t, cell.Pools) {
			t.Count[value] += contribution.Weight
			t.Total += contribution.Weight
		}
	}
	cell.Pods = append(cell.Pods, c.TakeUnits(1)...)
}

// bestCell returns the cell for the next unit: of those that keep every rule, and where possible the balance other pods
// ask for, the one its preferences favor, then the cheapest; −1 where there is none.
func (l *Placement) bestCell() int {
	best := -1
	var bestKey [3]int64
	type candidate struct {
		cell      int
		unbalance int64
	}
	var list []candidate
	for i := range l.cells {
		if l.refuses(l.cells[i].Values, nil) != nil {
			continue
		}
		list = append(list, candidate{i, l.unbalance(l.cells[i].Values, false)})
	}
	for _, x := range list {
		cell := &l.cells[x.cell]
		key := [3]int64{x.unbalance, l.penalty(cell.Values), cell.Cost}
		if best < 0 || slices.Compare(key[:], bestKey[:]) < 0 {
			best, bestKey = x.cell, key
		}
	}
	return best
}

// Explain notes which rule kept the pod group off the place that would suit it best.
func (l *Placement) Explain() {
	c := l.podGroup
	if len(c.Shut) > 0 {
		return // but for limits of pools there was a place
	}
	for i := range l.cells {
		if u := l.refuses(l.cells[i].Values, nil); u != nil {
			c.Blocked = l.Rules.Reason(u, c.Keys, l.cells[i].Values)
			return
		}
	}
	for i := range l.nodeSets {
		if u := l.refuses(l.nodeSets[i].values, l.nodeSets[i].open); u != nil {
			c.Blocked = l.Rules.Reason(u, c.Keys, l.nodeSets[i].values)
			return
		}
	}
	for i := range c.Constraints {
		if t := &l.Rules.TopologyGroups[c.Constraints[i].TopologyGroup]; len(l.cells) == 0 || t.Host && c.Constraints[i].Kind == group.Affinity {
			c.Blocked = l.Rules.Reason(&c.Constraints[i], nil, nil)
			return
		}
	}
}

// Keeps places the pod group's next unit on the existing node it was promised; false where that does not hold it any
// more. Of an existing node nothing is known of, the promise is all there is.
func (l *Placement) Keeps(n int) bool {
	s := l.Existing.Node(n)
	if l.podGroup.Settled && s.Churning {
		return false
	}
	if s.Blind {
		s.Pods = append(s.Pods, l.podGroup.TakeUnits(1)...)
		return true
	}
	if !l.podGroup.Request.Fits(s.Free) || existing.Evaluate(l.podGroup, s) == existing.Refused || l.hostRefuses(n) != "" {
		return false
	}
	if u := l.refuses(s.Values(l.podGroup.Keys), s.Possibles(l.podGroup.Keys)); u != nil && u.Kind == group.AntiAffinity { // for the other kinds pods may count that are placed later
		return false
	}
	l.settleOn(n)
	return true
}
