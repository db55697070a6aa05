package disruption

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// excess returns how many nodes a static pool has beyond its size. Instances on their way count, and are no nodes yet: of those it
// has too many of, it loses them once they have joined.
func (v *planner) excess(pool *model.Pool) int {
	if pool.Replicas == nil {
		return 0
	}
	if known, counted := v.surplus[pool.Name]; counted {
		return known
	}
	if v.surplus == nil {
		v.surplus = make(map[string]int)
	}
	joined := 0
	for _, node := range v.poolNodes {
		if node.Node.Pool() == pool.Name && node.Claim != nil && node.command == nil && node.Claim.State == model.Initialized && node.Node.DeletedUnix == 0 && !v.deleted(node.Claim) {
			joined++
		}
	}
	v.surplus[pool.Name] = max(0, joined-int(max(0, *pool.Replicas)))
	return v.surplus[pool.Name]
}

// shrink disrupts what static pools have beyond their size, whatever budgets say, as it is what people asked for: nodes without
// pods first, then those without a pod that must not be disturbed, each time those that cost least to lose.
func (v *planner) shrink() {
	for _, pool := range v.static() {
		n := v.excess(pool)
		if n == 0 {
			continue
		}
		var nodes []*poolNode
		for _, node := range v.candidatesFor(shrinking) {
			if node.Node.Pool() == pool.Name {
				nodes = append(nodes, node)
			}
		}
		slices.SortStableFunc(nodes, v.byLoss)
		nodes = nodes[:min(n, len(nodes))]
		for chunk := range slices.Chunk(nodes, model.MaxCommandNodes) {
			if v.full() {
				for _, node := range chunk {
					v.cut(node)
				}
				continue
			}
			v.choose(v.command(model.ReasonReplicas, chunk, outcome{}), chunk)
			v.surplus[pool.Name] -= len(chunk)
		}
	}
}

// static returns the pools of a fixed size, by name.
func (v *planner) static() []*model.Pool {
	var out []*model.Pool
	for _, name := range slices.Sorted(maps.Keys(v.pools)) {
		if v.pools[name].Replicas != nil {
			out = append(out, v.pools[name])
		}
	}
	return out
}

// byLoss orders nodes by what it costs to lose them: those of whom no pod has to be made anew and none must not be disturbed,
// then the others by whether any must not be, then by what their pods cost, less where a node has not long to live anyway.
func (v *planner) byLoss(a, b *poolNode) int {
	rank := func(node *poolNode) int {
		switch kept := v.shielded(node); {
		case len(node.Pods) == 0 && !kept:
			return 0
		case !kept:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(v.loss(a), v.loss(b)), strings.Compare(a.name(), b.name()))
}

// shielded reports whether a pod of the node must not be disturbed now.
func (v *planner) shielded(node *poolNode) bool {
	return slices.ContainsFunc(v.podsOf[node.name()], func(i int) bool {
		pod := &v.in.Snapshot.Pods[i]
		return pod.DeletedUnix == 0 && pack.Shielded(v.in.Snapshot.ShapeOf(pod).DoNotDisrupt, pod.StartedUnix).Active(v.now)
	})
}

// loss returns what the pods of a node cost to disturb, all of them, times the part of its life that is left, in millionths of an
// ordinary pod.
func (v *planner) loss(node *poolNode) int64 {
	sum := int64(0)
	for _, i := range v.podsOf[node.name()] {
		sum += podCost(v.in.Snapshot.ShapeOf(&v.in.Snapshot.Pods[i]))
	}
	left := int64(1000)
	if node.Claim.ExpireSeconds != nil && *node.Claim.ExpireSeconds > 0 {
		seconds := min(*node.Claim.ExpireSeconds, int64(1)<<40)
		age := max(0, v.now-cmp.Or(node.Claim.CreatedUnix, node.Claim.LaunchedUnix, v.now))
		left = max(0, seconds-age) * 1000 / seconds
	}
	return sum * left
}

// renewStatic replaces nodes of static pools that drifted or are too old, one for one, while the pool has no more than its size.
func (v *planner) renewStatic() {
	for _, pool := range v.static() {
		var nodes []*poolNode
		for _, node := range v.candidatesFor(eventual) {
			if node.Node.Pool() == pool.Name {
				nodes = append(nodes, node)
			}
		}
		slices.SortStableFunc(nodes, byAge)
		for i, node := range nodes {
			reason := renewal(node)
			switch {
			case v.excess(pool) > 0:
				node.keep(model.KeptReason{Code: Static, Message: "NodePool " + pool.Name + " has more nodes than spec.replicas; it is brought to its size first"})
				continue
			case !node.mayDisrupt(replacing):
				continue
			case !v.budgets.fits(reason, node):
				v.constrain(node, reason, 0)
				continue
			case v.full():
				v.cut(node)
				continue
			}
			claims := pack.StaticClaims(v.input(nodes[i:i+1], nil, nil), pool.Name, 1)
			if len(claims) == 0 {
				node.keep(model.KeptReason{Code: NoReplacement, Message: "no replacement can be launched: the limits of NodePool " + pool.Name + ", or its requirements, allow no more instances now"})
				continue
			}
			v.choose(v.command(reason, nodes[i:i+1], outcome{claims: claims, price: claims[0].Price}), nodes[i:i+1])
		}
	}
}
