package disruption

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// maxTries is how many nodes that drifted or are too old are looked at for one plan. Each takes a plan of its own for
// its pods.
const maxTries = 100

// renewal returns the reason for which a node is replaced by a like one.
func renewal(node *poolNode) string {
	for _, m := range methods {
		if m.method&eventual != 0 && node.mayDisrupt(m.method) {
			return m.reason
		}
	}
	return model.ReasonExpired
}

// byAge orders nodes to renew: those without pods first, then those whose time came first.
func byAge(a, b *poolNode) int {
	since := func(node *poolNode) int64 {
		if node.Claim.Drift != "" && node.Claim.DriftUnix > 0 {
			return node.Claim.DriftUnix
		}
		return cmp.Or(node.Claim.CreatedUnix, node.Claim.LaunchedUnix)
	}
	busy := func(node *poolNode) int { return min(1, len(node.Pods)) }
	return cmp.Or(cmp.Compare(busy(a), busy(b)), cmp.Compare(since(a), since(b)), strings.Compare(a.name(), b.name()))
}

// queue is what is to be renewed of one pool.
type queue struct {
	pool      string
	poolNodes []*poolNode
}

// renew replaces nodes that drifted or are too old. Pools take turns, so that one whose nodes cannot be replaced holds
// up no other (R41), and so do the nodes of a pool, over several plans, where more of them cannot be than are looked at
// for one.
func (p *planner) renew() {
	queues := p.toRenew()
	p.rotate(queues)
	for tries := 0; len(queues) > 0; {
		for i := range queues {
			q := &queues[i]
			node := q.poolNodes[0]
			q.poolNodes = q.poolNodes[1:]
			reason := renewal(node)
			no := p.otherZone(node)
			switch {
			case !node.mayDisrupt(eventual): // a command before this one moves pods onto it
			case no != nil:
				p.constrained = true
				node.keep(*no)
			case !p.budgets.fits(reason, node):
				p.constrain(node, reason, 0)
			case p.full(), tries >= maxTries:
				node.keep(tooManyCommands)
				p.replan.soon()
			default:
				if len(node.Pods) > 0 {
					tries++
				}
				p.renewOne(node, reason)
			}
		}
		queues = slices.DeleteFunc(queues, func(q queue) bool { return len(q.poolNodes) == 0 })
	}
}

// toRenew returns what is to be renewed, by pool, each in its order.
func (p *planner) toRenew() []queue {
	var queues []queue
	for _, node := range p.candidatesFor(eventual) {
		if node.Pool.Replicas != nil {
			continue
		}
		pool := node.Node.Pool()
		i := slices.IndexFunc(queues, func(q queue) bool { return q.pool == pool })
		if i < 0 {
			i = len(queues)
			queues = append(queues, queue{pool: pool})
		}
		queues[i].poolNodes = append(queues[i].poolNodes, node)
	}
	slices.SortFunc(queues, func(a, b queue) int { return strings.Compare(a.pool, b.pool) })
	for _, q := range queues {
		slices.SortStableFunc(q.poolNodes, byTurn)
	}
	return queues
}

// rotate begins each long queue further on from minute to minute.
func (p *planner) rotate(queues []queue) {
	for i := range queues {
		q := &queues[i]
		if n := len(q.poolNodes); n > maxTries {
			from := int(p.fork.now/60%int64(n)) * maxTries % n
			q.poolNodes = slices.Concat(q.poolNodes[from:], q.poolNodes[:from])
		}
	}
}

// renewOne replaces a node by what its pods need beside the room there is, if they all have a place then. They do not
// go to nodes that are to be renewed themselves, from where they would have to move again, unless there is nothing else
// for them.
func (p *planner) renewOne(node *poolNode, reason string) {
	o := p.fork.without([]*poolNode{node}, p.lasting())
	if len(o.homeless) > 0 {
		o = p.fork.without([]*poolNode{node}, p.fork.unready)
	}
	if len(o.homeless) > 0 && terminatesFirst(node.Pool) {
		p.renewFirst(node, reason)
		return
	}
	if len(o.homeless) > 0 {
		node.keep(describe(o.homeless))
		return
	}
	if len(o.claims) > 0 && !node.mayDisrupt(replacing) {
		if starved(node) {
			p.renewFirst(node, reason)
		}
		return
	}
	if on := p.awaited(node, &o); on != "" {
		node.keep(model.KeptReason{Code: NotInitialized, Message: "its pods would go to node " + on +
			", which an earlier command launched, and which is not initialized"})
		return
	}
	command := p.fork.command(reason, []*poolNode{node}, o)
	if no := p.unbalanced(&command, []*poolNode{node}); no != nil {
		node.keep(*no)
		return
	}
	p.choose(command, []*poolNode{node})
}

// awaited returns a node that was launched in place of others by a command that was undone, is not initialized, and
// would take pods of the node, so that fewer instances are launched for them; "" where there is none. Otherwise
// each try would launch one more instance that does not become ready.
func (p *planner) awaited(node *poolNode, o *outcome) string {
	if len(o.claims) == 0 {
		return ""
	}
	unready := maps.Clone(p.fork.unready)
	for i := range p.fork.in.Commands {
		c := &p.fork.in.Commands[i]
		if c.State != model.CommandUndone {
			continue
		}
		for k := range c.Replacements {
			if claim := p.fork.claims[c.Replacements[k].Name]; claim != nil && !claim.Ending() {
				delete(unready, claim.NodeName)
			}
		}
	}
	if len(unready) == len(p.fork.unready) {
		return ""
	}
	there := p.fork.without([]*poolNode{node}, unready)
	if len(there.homeless) > 0 || len(there.claims) >= len(o.claims) {
		return ""
	}
	for _, move := range there.moves {
		if p.fork.unready[move.Node] {
			return move.Node
		}
	}
	return ""
}

// lasting returns what takes no pods of nodes that are renewed: what is not ready, and what is to be renewed.
func (p *planner) lasting() map[string]bool {
	out := maps.Clone(p.fork.unready)
	for _, node := range p.fork.poolNodes {
		if node.eligible&eventual != 0 && !node.planned {
			out[node.name()] = true
		}
	}
	return out
}
