package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/pack/placing"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// reuseCost bounds how many pods and nodes are looked at again to take pods off new nodes.
const reuseCost = 60_000

// reuse moves pods from new nodes onto what exists or is on its way, where every rule still holds then: what kept them
// off while pods were placed need not hold of the plan that came of it. It reports whether any was moved.
func (b *solver) reuse() bool {
	if b.rules.Empty() || b.existing.Total == 0 || !b.surveyable() {
		return false
	}
	m := relocator{repair: repair{b, reuseCost}, nodeSets: make(map[*group.PodGroup][]placing.NodeSet)}
	moved := false
	for progress := true; progress; { // one that moved may make room for another
		progress = false
		for _, r := range b.planner.Runs {
			for i := range r.Nodes {
				for m.budget > 0 && m.moveOff(r, &r.Nodes[i]) {
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
	nodeSets map[*group.PodGroup][]placing.NodeSet // of those that have been looked at
	outcome  *outcome                              // of the plan as it is; nil = not known
	spots    map[*newnodes.Node]int                // of outcome
}

// moveOff moves one pod of the node, of any pod group; false where none can go.
func (m *relocator) moveOff(r *newnodes.Packing, n *newnodes.Node) bool {
	var last *group.PodGroup
	for at, pod := range n.Pods {
		c := m.podGroupOf[pod]
		if c == last || c.Plain() {
			continue
		}
		last = c
		nodeSets, known := m.nodeSets[c]
		if !known {
			a := placing.Assigner{Planner: m.planner, Existing: m.existing, Rules: m.rules}
			nodeSets = a.NodeSets(c)
			slices.SortStableFunc(nodeSets, func(x, y placing.NodeSet) int { return vector.CompareBools(x.Soft, y.Soft) })
			m.nodeSets[c] = nodeSets
			m.budget -= len(nodeSets)
		}
		for i := range nodeSets {
			if m.moveTo(r, n, at, nodeSets[i].Sign) {
				return true
			}
		}
	}
	return false
}

// moveTo moves the node's pod at the index to an existing node of the signature; false where none takes it.
func (m *relocator) moveTo(r *newnodes.Packing, n *newnodes.Node, at, sign int) bool {
	pod := n.Pods[at]
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
func (m *relocator) promises(n *newnodes.Node, pod, site int) bool {
	if m.outcome == nil {
		m.outcome, m.spots = m.solver.outcome(), make(map[*newnodes.Node]int)
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
func (m *relocator) try(r *newnodes.Packing, n *newnodes.Node, at, node int) bool {
	pod, before := n.Pods[at], *n
	c := m.podGroupOf[pod]
	n.Pods = slices.Delete(slices.Clone(n.Pods), at, at+1)
	n.Load = n.Load.Minus(c.Request)
	r.Cheapen(n)
	left := c.Pods
	c.Pods = append([]int{pod}, left...)
	m.budget -= len(m.pending) + m.existing.Total
	if !m.tryExisting(c, node) {
		c.Pods, *n = left, before
		return false
	}
	m.outcome = nil
	if len(n.Pods) == 0 {
		m.planner.Release(r.Pool, n)
	}
	return true
}
