package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// reuseCost bounds how many pods and nodes are looked at again to take pods off new nodes.
const reuseCost = 60_000

// reuse moves pods from new nodes onto what exists or is on its way, where every rule still holds then: what kept them off
// while pods were placed need not hold of the plan that came of it. It reports whether any was moved.
func (b *solver) reuse() bool {
	if b.rules.Empty() || b.existing.Total == 0 || !b.surveyable() {
		return false
	}
	m := relocator{repair: repair{b, reuseCost}, nodeSets: make(map[*group.PodGroup][]nodeSet)}
	moved := false
	for progress := true; progress; { // one that moved may make room for another
		progress = false
		for _, r := range b.planner.runs {
			for i := range r.nodes {
				for m.budget > 0 && m.moveOff(r, &r.nodes[i]) {
					progress, moved = true, true
				}
			}
		}
	}
	return moved
}

// relocator takes pods off new nodes.
type relocator struct {
	repair
	nodeSets map[*group.PodGroup][]nodeSet // of those that have been looked at
	outcome  *outcome                      // of the plan as it is; nil = not known
	spots    map[*node]int                 // of outcome
}

// moveOff moves one pod of the node, of any pod group; false where none can go.
func (m *relocator) moveOff(r *packing, n *node) bool {
	var last *group.PodGroup
	for at, pod := range n.pods {
		c := m.podGroupOf[pod]
		if c == last || c.Plain() {
			continue
		}
		last = c
		nodeSets, known := m.nodeSets[c]
		if !known {
			a := assigner{planner: m.planner, existing: m.existing, rules: m.rules}
			nodeSets = a.nodeSets(c)
			slices.SortStableFunc(nodeSets, func(x, y nodeSet) int { return vector.CompareBools(x.soft, y.soft) })
			m.nodeSets[c] = nodeSets
			m.budget -= len(nodeSets)
		}
		for i := range nodeSets {
			if m.moveTo(r, n, at, nodeSets[i].sign) {
				return true
			}
		}
	}
	return false
}

// moveTo moves the node's pod at the index to an existing node of the signature; false where none takes it.
func (m *relocator) moveTo(r *packing, n *node, at, sign int) bool {
	pod := n.pods[at]
	c, p := m.podGroupOf[pod], m.existing
	for slot := p.FirstWith(sign, c.Request, 0); slot >= 0 && m.budget > 0; slot = p.FirstWith(sign, c.Request, slot+1) {
		node := p.BySign[sign][slot]
		if m.admits(c, node) && m.promises(n, pod, node) && m.try(r, n, at, node) {
			return true
		}
	}
	return false
}

// promises reports whether the pod's own rules would hold on the existing node, as far as the plan as it is can tell.
func (m *relocator) promises(n *node, pod, site int) bool {
	if m.outcome == nil {
		m.outcome, m.spots = m.solver.outcome(), make(map[*node]int)
		for i := range m.outcome.spots {
			m.spots[m.outcome.spots[i].node] = i
		}
	}
	o, from := m.outcome, m.spots[n]
	m.budget--
	if slices.ContainsFunc(m.podGroupOf[pod].Constraints, func(u group.Constraint) bool { return u.Kind == group.Spread && u.ByHost }) {
		m.budget -= len(o.spots)
	}
	o.note(from, pod, -1)
	o.note(site, pod, 1)
	holds := o.brokenBy(site, pod) == nil
	o.note(site, pod, -1)
	o.note(from, pod, 1)
	return holds
}

// try moves the pod and keeps it there if every rule still holds then.
func (m *relocator) try(r *packing, n *node, at, node int) bool {
	pod, before := n.pods[at], *n
	c := m.podGroupOf[pod]
	n.pods = slices.Delete(slices.Clone(n.pods), at, at+1)
	n.load = n.load.Minus(c.Request)
	r.cheapen(n)
	left := c.Pods
	c.Pods = append([]int{pod}, left...)
	m.budget -= len(m.pending) + m.existing.Total
	if !m.tryExisting(c, node) {
		c.Pods, *n = left, before
		return false
	}
	m.outcome = nil
	if len(n.pods) == 0 {
		m.planner.release(r.pool, n)
	}
	return true
}

// release disrupts what a node takes of limits and reservations.
func (p *planner) release(pool *offerings.Pool, n *node) {
	for i, amount := range n.limitUse {
		pool.Left[i] += amount
	}
	if n.reservation != "" {
		p.reserved[n.reservation]++
	}
}
