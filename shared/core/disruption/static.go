package disruption

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// shrinkStatic disrupts what static pools have beyond their size, whatever budgets say, as it is what people asked for:
// nodes without pods first, then those without a pod that must not be disturbed, each time those that cost least to
// lose.
func (p *planner) shrinkStatic() {
	pools := p.staticPools(shrinking)
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		nodes := pools[pool]
		slices.SortStableFunc(nodes, p.fork.byLoss)
		p.surplus[pool] -= p.chooseEach(model.ReasonReplicas, nodes[:min(p.surplus[pool], len(nodes))])
	}
}

// staticPools returns the nodes of static pools that may be disrupted by the method now, by pool.
func (p *planner) staticPools(by method) map[string][]*poolNode {
	out := make(map[string][]*poolNode)
	for _, node := range p.candidatesFor(by) {
		if node.Pool != nil && node.Pool.Replicas != nil {
			out[node.Pool.Name] = append(out[node.Pool.Name], node)
		}
	}
	return out
}

// byLoss orders nodes by what it costs to lose them: those of whom no pod has to be made anew and none must not be
// disturbed, then the others by whether any must not be, then by what their pods cost, less where a node has not long
// to live anyway.
func (c *cluster) byLoss(a, b *poolNode) int {
	rank := func(node *poolNode) int {
		shielded, _ := c.shielded(node)
		switch {
		case len(shielded) > 0:
			return 2
		case len(node.Pods) > 0:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(c.loss(a), c.loss(b)), strings.Compare(a.name(), b.name()))
}

// loss returns what the pods of a node cost to disturb, all of them, times the part of its life that is left, in
// millionths of an ordinary pod.
func (c *cluster) loss(node *poolNode) int64 {
	sum := int64(0)
	for _, i := range c.podsOf[node.name()] {
		sum += podCost(c.in.Snapshot.ShapeOf(&c.in.Snapshot.Pods[i]))
	}
	left := int64(1000)
	if node.Claim.ExpireSeconds != nil && *node.Claim.ExpireSeconds > 0 {
		seconds := min(*node.Claim.ExpireSeconds, int64(1)<<40)
		age := max(0, c.now-cmp.Or(node.Claim.CreatedUnix, node.Claim.LaunchedUnix, c.now))
		left = max(0, seconds-age) * 1000 / seconds
	}
	return sum * left
}

// renewStatic replaces nodes of static pools that drifted or are too old, one for one, while the pool has no more than
// its size.
func (p *planner) renewStatic() {
	pools := p.staticPools(eventual)
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		nodes := pools[pool]
		slices.SortStableFunc(nodes, byTurn)
		for i, node := range nodes {
			reason := renewal(node)
			no := p.otherZone(node)
			switch {
			case p.surplus[pool] > 0:
				const message = "NodePool %s has more nodes than spec.replicas; it is brought to its size first"
				node.keep(*because(Static, message, pool))
				continue
			case !node.mayDisrupt(replacing) && !starved(node):
				continue
			case no != nil:
				p.constrained = true
				node.keep(*no)
				continue
			case !p.budgets.fits(reason, node):
				p.constrain(node, reason, 0)
				continue
			case p.full():
				node.keep(tooManyCommands)
				continue
			}
			claims := pack.StaticClaims(p.fork.input(nodes[i:i+1], nil, nil), pool, 1)
			if len(claims) == 0 || !node.mayDisrupt(replacing) {
				p.staticFirst(node, reason)
				continue
			}
			become := outcome{claims: claims, price: claims[0].Price}
			p.choose(p.fork.command(reason, nodes[i:i+1], become), nodes[i:i+1])
		}
	}
}
