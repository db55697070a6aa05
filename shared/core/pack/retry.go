package pack

import (
	"cmp"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

const (
	// retryCost bounds how many pods are looked at again to find room for those that rules between pods left over.
	retryCost = 400_000
	// retryCells bounds how many domains of new nodes are tried for one unit, and retryNodes how many nodes of a kind.
	retryCells = 12
	retryNodes = 4
)

// retry looks for places for pods that a rule between pods left over: what kept them out while pods were placed need not
// keep them out of the plan that came of it. Each place is tried and kept where the whole plan still holds.
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

// dissolve gives pods of units that found no place back to their own pod groups: what keeps one of them out need not keep
// out the others.
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
	a := assigner{planner: b.planner, existing: b.existing, rules: b.rules}
	nodeSets := a.nodeSets(c)
	slices.SortStableFunc(nodeSets, func(x, y nodeSet) int { return vector.CompareBools(x.soft, y.soft) })
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
func (b *repair) nodesWithSpace(c *group.PodGroup, g *nodeSet) []int {
	var out []int
	p := b.existing
	for slot := p.FirstWith(g.sign, c.Request, 0); slot >= 0 && len(out) < retryNodes; slot = p.FirstWith(g.sign, c.Request, slot+1) {
		if n := p.BySign[g.sign][slot]; b.admits(c, n) {
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
	cells := p.cells(c)
	slices.SortStableFunc(cells, func(x, y domainCell) int { return cmp.Compare(x.cost, y.cost) })
	for i := range cells[:min(len(cells), retryCells)] {
		if b.budget <= 0 {
			return false
		}
		b.budget--
		unit := slices.Clone(c.TakeUnits(1))
		runs, restore := len(p.runs), p.saved()
		tried := &podBatch{podGroup: first, pods: unit, values: cells[i].values, pools: cells[i].pools}
		p.pack([]*podBatch{tried})
		if len(tried.pods) == 0 && b.satisfied() {
			b.share(runs)
			return true
		}
		restore()
		c.Pods = append(unit, c.Pods...)
	}
	return false
}

// saved returns what takes back all that is packed after it.
func (p *planner) saved() (restore func()) {
	pools := p.pools()
	runs, reserved, left := len(p.runs), p.reserved, make([][]int64, len(pools))
	for i, pool := range pools {
		left[i] = pool.Left
	}
	return func() {
		p.runs, p.reserved = p.runs[:runs], reserved
		for i, pool := range pools {
			pool.Left = left[i]
		}
	}
}

// share packs the pods of nodes that were opened for units left over, those of the runs from the n-th, together with those of another new
// node of their pool, and keeps what comes of it where that is cheaper and the whole plan still holds.
func (b *repair) share(from int) {
	for _, fresh := range b.planner.runs[from:] {
		for i := range fresh.nodes {
			b.shareNode(fresh, &fresh.nodes[i], b.planner.runs[:from])
		}
	}
}

func (b *repair) shareNode(fresh *packing, n *node, others []*packing) {
	for _, r := range others {
		for i := range r.nodes {
			m := &r.nodes[i]
			if r.pool != fresh.pool || !r.filled(m) || !fresh.filled(n) || !n.mask.Meets(m.mask) {
				continue
			}
			if b.budget--; b.budget < 0 || b.packTogether(fresh, n, r, m) {
				return
			}
		}
	}
}

// packTogether packs the pods of two new nodes anew. It reports whether that is cheaper and the whole plan holds; else all is as it was.
func (b *repair) packTogether(r *packing, n *node, s *packing, m *node) bool {
	p, pool := b.planner, r.pool
	runs, had, restore := len(p.runs), [2][]int{n.pods, m.pods}, p.saved()
	podBatches := append(r.podBatchesOf(n), s.podBatchesOf(m)...)
	n.pods, m.pods, pool.Left, p.reserved = nil, nil, slices.Clone(pool.Left), maps.Clone(p.reserved)
	p.release(pool, n)
	p.release(pool, m)
	p.pack(podBatches)
	price := int64(0)
	for _, made := range p.runs[runs:] {
		price += made.total()
	}
	whole := !slices.ContainsFunc(podBatches, func(podBatch *podBatch) bool { return len(podBatch.pods) > 0 })
	if whole && price < n.price+m.price && b.satisfied() {
		return true
	}
	restore()
	n.pods, m.pods = had[0], had[1]
	return false
}

// filled reports whether a new node has all the pods it was opened for.
func (r *packing) filled(n *node) bool {
	return len(n.pods) > 0 && len(n.pods) == r.podsOf(n)
}

// podBatchesOf returns the pods of a filled node as they were before it was opened for them.
func (r *packing) podBatchesOf(n *node) []*podBatch {
	var out []*podBatch
	at := 0
	for _, it := range n.items {
		of := r.batches[it.batch].podBatch
		end := at + it.count*of.podGroup.Stride
		out = append(out, &podBatch{podGroup: of.podGroup, pods: slices.Clone(n.pods[at:end]), values: of.values, pools: of.pools})
		at = end
	}
	return out
}

// first returns the pod group as it is on a node of its own, where nothing else is near; nil where it has to be beside others.
func (b *repair) first(c *group.PodGroup) *group.PodGroup {
	if !c.NeedsHost() {
		return c
	}
	if slices.ContainsFunc(c.Constraints, func(u group.Constraint) bool { return u.Kind == group.Affinity && u.ByHost && u.Self == 0 }) {
		return nil
	}
	return b.bundler().merge(c, nil, 1)
}
