package pack

import (
	"cmp"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/pack/placing"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

const (
	// retryCost bounds how many pods are looked at again to find room for those that rules between pods left over.
	retryCost = 400_000
	// retryCells bounds how many domains of new nodes are tried for one unit, and retryNodes how many nodes of a kind.
	retryCells = 12
	retryNodes = 4
)

// retry looks for places for pods that a rule between pods left over: what kept them out while pods were placed need
// not keep them out of the plan that came of it. Each place is tried and kept where the whole plan still holds.
func (b *solver) retry() {
	if b.left() == 0 {
		return
	}
	b.dissolve()
	r := b.repair()
	order := group.InOrder(b.podGroups)
	for progress := true; progress; { // one that found a place may make room for another
		progress = false
		for _, c := range order {
			for c.Units() > 0 && r.budget > 0 && (r.retryOnExisting(c) || c.Blocked != nil && r.retryOnNewNode(c) || r.shift(c)) {
				progress = true
			}
		}
	}
}

// repair finds places for pods that are left over, one after the other.
type repair struct {
	*solver
	budget int // places that may yet be tried
}

func (b *solver) repair() *repair {
	return &repair{b, retryCost / max(1, len(b.pending)+b.existing.Total)}
}

// dissolve gives pods of units that found no place back to their own pod groups: what keeps one of them out need not
// keep out the others.
func (b *solver) dissolve() {
	for _, unit := range b.podGroups {
		if len(unit.Pods) == 0 || b.podGroupOf == nil || b.podGroupOf[unit.Pods[0]] == unit {
			continue
		}
		for _, i := range unit.Pods {
			c := b.podGroupOf[i]
			c.Pods = input.SortedPods(b.in.Snapshot, append(c.Pods, i))
			if c.Blocked == nil {
				c.Blocked = unit.Blocked
			}
		}
		unit.Pods = nil
	}
}

// retryOnExisting tries what exists, one node of each kind.
func (b *repair) retryOnExisting(c *group.PodGroup) bool {
	a := placing.Assigner{Planner: b.planner, Existing: b.existing, Rules: b.rules}
	nodeSets := a.NodeSets(c)
	slices.SortStableFunc(nodeSets, func(x, y placing.NodeSet) int { return vector.CompareBools(x.Soft, y.Soft) })
	for i := range nodeSets {
		nodes := b.nodesWithSpace(c, &nodeSets[i])
		for _, n := range nodes {
			if b.budget--; b.budget < 0 {
				return false
			}
			if b.tryExisting(c, n) {
				return true
			}
		}
	}
	return false
}

// tryExisting puts a unit on the existing node if every rule still holds then.
func (b *repair) tryExisting(c *group.PodGroup, n int) bool {
	s, attached, ports := b.existing.List[n], b.existing.List[n].Attached, len(b.existing.List[n].Ports)
	if c.Attaches && !b.existing.Attachable(s, c.Pods[:c.Stride]) {
		return false
	}
	if !b.existing.Devices(s, c) {
		return false
	}
	unit := c.TakeUnits(1)
	if c.Attaches {
		b.attach(s, unit)
	}
	b.existing.Take(n, c.Request, 1)
	s.Ports, s.Pods = append(s.Ports, c.Ports...), append(s.Pods, unit...)
	if b.satisfied() {
		for _, a := range c.Contributions {
			b.existing.Counter().Count(a.TopologyGroup, n, a.Weight)
		}
		return true
	}
	s.Ports, s.Pods, s.Attached = s.Ports[:ports], s.Pods[:len(s.Pods)-len(unit)], attached
	b.existing.Take(n, c.Request, -1)
	c.Pods = append(slices.Clone(unit), c.Pods...)
	return false
}

// nodesWithSpace returns the first existing nodes of the group with room for a unit, rules between pods aside.
func (b *repair) nodesWithSpace(c *group.PodGroup, g *placing.NodeSet) []int {
	var out []int
	p := b.existing
	for slot := p.FirstWith(g.Sign, c.Request, 0); slot >= 0 && len(out) < retryNodes; slot = p.FirstWith(g.Sign, c.Request, slot+1) {
		if n := p.BySign[g.Sign][slot]; b.admits(c, n) {
			out = append(out, n)
		}
	}
	return out
}

// retryOnNewNode tries a node of the unit's own in one domain after the other, cheap ones first.
func (b *repair) retryOnNewNode(c *group.PodGroup) bool {
	first := b.first(c)
	if first == nil {
		return false
	}
	p := b.planner
	cells := p.Cells(c)
	slices.SortStableFunc(cells, func(x, y newnodes.Cell) int { return cmp.Compare(x.Cost, y.Cost) })
	for i := range cells[:min(len(cells), retryCells)] {
		if b.budget <= 0 {
			return false
		}
		b.budget--
		unit := slices.Clone(c.TakeUnits(1))
		runs, restore := len(p.Runs), p.Saved()
		tried := &newnodes.PodBatch{PodGroup: first, Pods: unit, Values: cells[i].Values, Pools: cells[i].Pools}
		p.Pack([]*newnodes.PodBatch{tried})
		if len(tried.Pods) == 0 && b.satisfied() {
			b.share(runs)
			return true
		}
		restore()
		c.Pods = append(unit, c.Pods...)
	}
	return false
}

// share packs the pods of nodes that were opened for units left over, those of the runs from the n-th, together with
// those of another new node of their pool, and keeps what comes of it where that is cheaper and the whole plan still
// holds.
func (b *repair) share(from int) {
	for _, fresh := range b.planner.Runs[from:] {
		for i := range fresh.Nodes {
			b.shareNode(fresh, &fresh.Nodes[i], b.planner.Runs[:from])
		}
	}
}

func (b *repair) shareNode(fresh *newnodes.Packing, n *newnodes.Node, others []*newnodes.Packing) {
	for _, r := range others {
		for i := range r.Nodes {
			m := &r.Nodes[i]
			if r.Pool != fresh.Pool || !r.Filled(m) || !fresh.Filled(n) || !n.Mask.Meets(m.Mask) {
				continue
			}
			if b.budget--; b.budget < 0 || b.packTogether(fresh, n, r, m) {
				return
			}
		}
	}
}

// packTogether packs the pods of two new nodes anew. It reports whether that is cheaper and the whole plan holds; else
// all is as it was.
func (b *repair) packTogether(r *newnodes.Packing, n *newnodes.Node, s *newnodes.Packing, m *newnodes.Node) bool {
	p, pool := b.planner, r.Pool
	runs, had, restore := len(p.Runs), [2][]int{n.Pods, m.Pods}, p.Saved()
	podBatches := append(r.PodBatchesOf(n), s.PodBatchesOf(m)...)
	n.Pods, m.Pods, pool.Left, p.Reserved = nil, nil, slices.Clone(pool.Left), maps.Clone(p.Reserved)
	p.Release(pool, n)
	p.Release(pool, m)
	p.Pack(podBatches)
	price := int64(0)
	for _, made := range p.Runs[runs:] {
		price += made.Total()
	}
	whole := !slices.ContainsFunc(podBatches, func(podBatch *newnodes.PodBatch) bool { return len(podBatch.Pods) > 0 })
	if whole && price < n.Price+m.Price && b.satisfied() {
		return true
	}
	restore()
	n.Pods, m.Pods = had[0], had[1]
	return false
}

// first returns the pod group as it is on a node of its own, where nothing else is near; nil where it has to be beside
// others.
func (b *repair) first(c *group.PodGroup) *group.PodGroup {
	if !c.NeedsHost() {
		return c
	}
	if slices.ContainsFunc(c.Constraints, func(u group.Constraint) bool { return u.Kind == group.Affinity && u.ByHost && u.Self == 0 }) {
		return nil
	}
	return b.bundler().merge(c, nil, 1)
}
