package pack

import (
	"cmp"
	"maps"
	"slices"
)

const (
	// retryCost bounds how many pods are looked at again to find room for those that rules between pods left over.
	retryCost = 400_000
	// retryCells bounds how many domains of new nodes are tried for one unit, and retrySites how many nodes of a kind.
	retryCells = 12
	retrySites = 4
)

// retry looks for places for pods that a rule between pods left over: what kept them out while pods were placed need not
// keep them out of the plan that came of it. Each place is tried and kept where the whole plan still holds.
func (b *board) retry() {
	if b.left() == 0 {
		return
	}
	b.dissolve()
	budget := b.retries()
	order := inOrder(b.classes)
	for progress := true; progress; { // one that found a place may make room for another
		progress = false
		for _, c := range order {
			for c.units() > 0 && budget > 0 && (b.retryOnSites(c, &budget) || c.blocked != nil && b.retryOnNewNode(c, &budget) || b.shift(c, &budget)) {
				progress = true
			}
		}
	}
}

// retries returns how many places may be tried.
func (b *board) retries() int { return retryCost / max(1, len(b.pending)+b.places.total) }

// dissolve gives pods of units that found no place back to their own classes: what keeps one of them out need not keep
// out the others.
func (b *board) dissolve() {
	for _, unit := range b.classes {
		if len(unit.pods) == 0 || b.classOf == nil || b.classOf[unit.pods[0]] == unit {
			continue
		}
		for _, i := range unit.pods {
			c := b.classOf[i]
			c.pods = sortedPods(b.in.Snapshot, append(c.pods, i))
			if c.blocked == nil {
				c.blocked = unit.blocked
			}
		}
		unit.pods = nil
	}
}

// retryOnSites tries what exists, one node of each kind.
func (b *board) retryOnSites(c *class, budget *int) bool {
	a := assigner{planner: b.planner, places: b.places, book: b.book}
	groups := a.groups(c)
	slices.SortStableFunc(groups, func(x, y group) int { return compareBools(x.soft, y.soft) })
	for i := range groups {
		sites := b.roomIn(c, &groups[i])
		for _, n := range sites {
			if *budget--; *budget < 0 {
				return false
			}
			if b.trySite(c, n) {
				return true
			}
		}
	}
	return false
}

// trySite puts a unit on the site if every rule still holds then.
func (b *board) trySite(c *class, n int) bool {
	s, attached, ports := b.places.sites[n], b.places.sites[n].attached, len(b.places.sites[n].ports)
	if c.attaches && !b.places.attachable(s, c.pods[:c.stride]) {
		return false
	}
	unit := c.takeUnits(1)
	if c.attaches {
		b.attach(s, unit)
	}
	b.places.take(n, c.request, 1)
	s.ports, s.pods = append(s.ports, c.ports...), append(s.pods, unit...)
	if b.holds() {
		for _, a := range c.adds {
			b.places.count(a.tally, n, a.weight)
		}
		return true
	}
	s.ports, s.pods, s.attached = s.ports[:ports], s.pods[:len(s.pods)-len(unit)], attached
	b.places.take(n, c.request, -1)
	c.pods = append(slices.Clone(unit), c.pods...)
	return false
}

// roomIn returns the first sites of the group with room for a unit, rules between pods aside.
func (b *board) roomIn(c *class, g *group) []int {
	var out []int
	p := b.places
	for slot := p.firstWith(g.sign, c.request, 0); slot >= 0 && len(out) < retrySites; slot = p.firstWith(g.sign, c.request, slot+1) {
		if n := p.bySign[g.sign][slot]; b.admits(c, n) {
			out = append(out, n)
		}
	}
	return out
}

// retryOnNewNode tries a node of the unit's own in one domain after the other, cheap ones first.
func (b *board) retryOnNewNode(c *class, budget *int) bool {
	first := b.first(c)
	if first == nil {
		return false
	}
	p := b.planner
	cells := p.cells(c)
	slices.SortStableFunc(cells, func(x, y cell) int { return cmp.Compare(x.cost, y.cost) })
	for i := range cells[:min(len(cells), retryCells)] {
		if *budget <= 0 {
			return false
		}
		*budget--
		unit := slices.Clone(c.takeUnits(1))
		runs, restore := len(p.runs), p.saved()
		tried := &party{class: first, pods: unit, values: cells[i].values, stands: cells[i].stands}
		p.pack([]*party{tried})
		if len(tried.pods) == 0 && b.holds() {
			b.share(runs, budget)
			return true
		}
		restore()
		c.pods = append(unit, c.pods...)
	}
	return false
}

// saved returns what takes back all that is packed after it.
func (p *planner) saved() (restore func()) {
	pools := p.pools()
	runs, reserved, left := len(p.runs), p.reserved, make([][]int64, len(pools))
	for i, pool := range pools {
		left[i] = pool.left
	}
	return func() {
		p.runs, p.reserved = p.runs[:runs], reserved
		for i, pool := range pools {
			pool.left = left[i]
		}
	}
}

// share packs the pods of nodes that were opened for units left over, those of the runs from the n-th, together with those of another new
// node of their pool, and keeps what comes of it where that is cheaper and the whole plan still holds.
func (b *board) share(from int, budget *int) {
	for _, fresh := range b.planner.runs[from:] {
		for i := range fresh.nodes {
			b.shareNode(fresh, &fresh.nodes[i], b.planner.runs[:from], budget)
		}
	}
}

func (b *board) shareNode(fresh *run, n *node, others []*run, budget *int) {
	for _, r := range others {
		for i := range r.nodes {
			m := &r.nodes[i]
			if r.pool != fresh.pool || !r.filled(m) || !fresh.filled(n) || !n.mask.meets(m.mask) {
				continue
			}
			if *budget--; *budget < 0 || b.packTogether(fresh, n, r, m) {
				return
			}
		}
	}
}

// packTogether packs the pods of two new nodes anew. It reports whether that is cheaper and the whole plan holds; else all is as it was.
func (b *board) packTogether(r *run, n *node, s *run, m *node) bool {
	p, pool := b.planner, r.pool
	runs, had, restore := len(p.runs), [2][]int{n.pods, m.pods}, p.saved()
	parties := append(r.partiesOf(n), s.partiesOf(m)...)
	n.pods, m.pods, pool.left, p.reserved = nil, nil, slices.Clone(pool.left), maps.Clone(p.reserved)
	p.release(pool, n)
	p.release(pool, m)
	p.pack(parties)
	price := int64(0)
	for _, made := range p.runs[runs:] {
		price += made.total()
	}
	whole := !slices.ContainsFunc(parties, func(party *party) bool { return len(party.pods) > 0 })
	if whole && price < n.price+m.price && b.holds() {
		return true
	}
	restore()
	n.pods, m.pods = had[0], had[1]
	return false
}

// filled reports whether a new node has all the pods it was opened for.
func (r *run) filled(n *node) bool {
	return len(n.pods) > 0 && len(n.pods) == r.podsOf(n)
}

// partiesOf returns the pods of a filled node as they were before it was opened for them.
func (r *run) partiesOf(n *node) []*party {
	var out []*party
	at := 0
	for _, it := range n.items {
		of := r.lots[it.lot].party
		end := at + it.count*of.class.stride
		out = append(out, &party{class: of.class, pods: slices.Clone(n.pods[at:end]), values: of.values, stands: of.stands})
		at = end
	}
	return out
}

// first returns the class as it is on a node of its own, where nothing else is near; nil where it has to be beside others.
func (b *board) first(c *class) *class {
	if !b.needsHost(c) {
		return c
	}
	if slices.ContainsFunc(c.uses, func(u use) bool { return u.kind == near && u.byHost && u.self == 0 }) {
		return nil
	}
	return b.merge(c, nil, 1)
}
