package disruption

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// terminatesFirst reports whether nodes of the pool that are renewed go before their replacements come, where there is
// no capacity for both: if people say so, and unless they say otherwise for a static pool that may not have one node
// more.
func terminatesFirst(pool *model.Pool) bool {
	switch pool.Annotations[model.AnnotationTerminateFirst] {
	case "true":
		return true
	case "false":
		return false
	}
	most, limited := pool.Limits[model.Nodes]
	return pool.Replicas != nil && limited && most <= *pool.Replicas
}

// starved reports whether the node may be replaced but for its replacement, which had no capacity lately, and may go
// before it.
func starved(node *poolNode) bool { return node.skipReplacement && terminatesFirst(node.Pool) }

// freed returns the question with what the node takes free again: its share of the pool's limits, and the capacity of
// its instance.
func freed(in pack.Input, node *poolNode) pack.Input {
	claim := node.Claim
	held := maps.Clone(in.Usage[claim.Pool])
	for name, amount := range claim.Reserved { // each on its own: the order does not matter
		if held != nil {
			held[name] = max(0, held[name]-amount)
		}
	}
	in.Usage = maps.Clone(in.Usage)
	if held != nil {
		in.Usage[claim.Pool] = held
	}
	in.Catalogs = maps.Clone(in.Catalogs)
	for _, key := range []string{claim.Class, model.CatalogKey(claim.Class, claim.Pool)} {
		if types, has := in.Catalogs[key]; has {
			in.Catalogs[key] = withCapacityOf(types, claim)
		}
	}
	return in
}

// withCapacityOf returns the types with one instance more to be had like the claim's.
func withCapacityOf(types []model.InstanceType, claim *model.Claim) []model.InstanceType {
	i := slices.IndexFunc(types, func(t model.InstanceType) bool { return t.Name == claim.InstanceType })
	if i < 0 {
		return types
	}
	types = slices.Clone(types)
	types[i].Offerings = slices.Clone(types[i].Offerings)
	for k := range types[i].Offerings {
		o := &types[i].Offerings[k]
		if o.Zone != claim.Zone || o.CapacityType != claim.CapacityType || o.ReservationID != claim.Reservation {
			continue
		}
		o.Available = true
		if o.CapacityType == model.Reserved {
			o.ReservationCapacity = max(0, o.ReservationCapacity) + 1
		}
	}
	return types
}

// staticFirst disrupts a node of a static pool without a replacement where one can be launched once the node is gone,
// and the pool lacks no more nodes than its budgets let it: those that are not there yet count as well as those that
// are disrupted.
func (p *planner) staticFirst(node *poolNode, reason string) {
	pool, alone := node.Pool, []*poolNode{node}
	if !terminatesFirst(pool) ||
		len(pack.StaticClaims(freed(p.fork.input(alone, nil, nil), node), pool.Name, 1)) == 0 {
		node.keep(*because(NoReplacement, "no replacement can be launched: the limits of NodePool %s, "+
			"or its requirements, allow no more instances now", pool.Name))
		return
	}
	missing := p.missing(pool)
	if bound, _ := p.budgets.tightest(pool.Name, reason); missing >= bound.Nodes {
		p.constrained = true
		node.keep(*because(NodeBudget, "NodePool %s lacks %d of its %d nodes, as many as its budgets allow (%s)",
			pool.Name, missing, *pool.Replicas, reason))
		return
	}
	p.chooseFirst(node, reason, outcome{price: node.Price})
}

// missing returns how many nodes the static pool has less than its size that are ready and stay.
func (p *planner) missing(pool *model.Pool) int {
	missing := int(*pool.Replicas)
	for _, node := range p.fork.poolNodes {
		if node.Node.Pool() == pool.Name && node.Claim != nil && node.Claim.State == model.Initialized &&
			node.Node.Initialized() && !p.budgets.counted[node.name()] {
			missing--
		}
	}
	return max(0, missing)
}

// renewFirst disrupts a node without replacements where its pods have a place on what can be launched once it is gone.
// The pool waits until what it terminated before is replaced.
func (p *planner) renewFirst(node *poolNode, reason string) {
	pods := node.Pods
	in := p.fork.input([]*poolNode{node}, append(slices.Clone(p.fork.waiting), pods...), pods)
	in.Churning, in.Expected = p.fork.unready, p.fork.expected
	o := p.fork.read(pack.Plan(freed(in, node)), pods)
	if len(o.homeless) > 0 {
		node.keep(describe(o.homeless))
		return
	}
	if no := p.unreplaced(node.Pool.Name); no != nil {
		p.replan.soon()
		node.keep(*no)
		return
	}
	o.claims = nil
	p.chooseFirst(node, reason, o)
}

// chooseFirst makes a command part of the plan that launches nothing before its node ends.
func (p *planner) chooseFirst(node *poolNode, reason string, o outcome) {
	command := p.fork.command(reason, []*poolNode{node}, o)
	command.TerminateFirst = true
	if no := p.unbalanced(&command, []*poolNode{node}); no != nil {
		node.keep(*no)
		return
	}
	p.choose(command, []*poolNode{node})
}

const (
	settleSeconds = 120  // after a node was terminated first, its pods may still be on their way to being pending
	minded        = 3600 // for so long at most what was terminated first has others of its pool wait
)

// unreplaced returns why no node of the pool is terminated first now: one that was is not gone, or not replaced, yet.
func (p *planner) unreplaced(pool string) *model.KeptReason {
	for _, chosen := range p.chosen {
		if node := p.fork.byName[chosen.Nodes[0]]; chosen.TerminateFirst && node.Node.Pool() == pool {
			const message = "node %s of this plan is terminated first, before it is replaced"
			return because(TerminatedFirst, message, node.name())
		}
	}
	for i := range p.fork.in.Commands {
		c := &p.fork.in.Commands[i]
		if !c.TerminateFirst || len(c.Targets) == 0 || c.Targets[0].Pool != pool || p.fork.revalidated.is(c) {
			continue
		}
		done := c.State == model.CommandDone && c.EndedUnix+minded > p.fork.now
		if c.State.Open() || done && p.waitsFor(c) {
			return because(TerminatedFirst, "node %s was terminated before its replacement was launched (command %s), "+
				"and is not replaced yet", c.Targets[0].Node, c.ID)
		}
	}
	return nil
}

// waitsFor reports whether a node that a command terminated first is not gone, an instance of its pool is on its way,
// or pods that came since then are pending.
func (p *planner) waitsFor(c *model.Command) bool {
	if c.EndedUnix+settleSeconds > p.fork.now || p.fork.claims[c.Targets[0].Claim] != nil {
		return true
	}
	for _, claim := range p.fork.claims { // whether there is any does not depend on the order
		if claim.Pool == c.Targets[0].Pool && claim.State != model.Initialized && !claim.Ending() {
			return true
		}
	}
	snapshot := p.fork.in.Snapshot
	return slices.ContainsFunc(pack.Pending(snapshot), func(i int) bool {
		pod := &snapshot.Pods[i]
		return pod.NodeName == "" && pod.Buffer == "" && pod.CreatedUnix >= c.SinceUnix
	})
}

// unplacedFirst returns which pods of the nodes of a command that terminates first would have no place once its nodes
// are gone.
func (r *revalidation) unplacedFirst() []model.KeptReason {
	for _, node := range r.nodes {
		in := r.fork.input(nil, append(slices.Clone(r.fork.waiting), node.Pods...), node.Pods)
		in.Churning = r.fork.unready
		if o := r.fork.read(pack.Plan(freed(in, node)), node.Pods); len(o.homeless) > 0 {
			return []model.KeptReason{describe(o.homeless)}
		}
	}
	return nil
}
