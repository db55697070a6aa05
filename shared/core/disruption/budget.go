package disruption

import (
	"fmt"
	"maps"

	"github.com/joiner-sh/joiner/shared/core/disruption/budget"
	"github.com/joiner-sh/joiner/shared/model"
)

// budgetsLeft is what the budgets of pools leave. It is shared by all commands of a plan: a node that is disrupted for
// one reason is not there for any other.
type budgetsLeft struct {
	nodes    map[string]int                       // by pool: those that percentages are of
	busy     map[string]budget.Counts             // by pool: those that are disrupted, or not ready
	planned  map[string]budget.Counts             // those of the busy that commands of this plan disrupt
	counted  map[string]bool                      // nodes that are among the busy, by name
	bounds   map[string]map[string][]budget.Bound // by pool and reason
	byReason map[string]bool                      // pools of which a budget counts its own reasons only
	invalid  map[string]error                     // by pool: why it is left alone
}

// newBudgetsLeft counts the nodes of every pool and reads its budgets. Percentages are of the nodes that are
// initialized and whose instances are not ending; busy are those, and the ones that end, that an open command disrupts,
// that leave for whatever cause, or that are not ready; where claims cannot be read, those without one too.
func newBudgetsLeft(c *cluster, replan *replan) *budgetsLeft {
	l := &budgetsLeft{
		nodes: make(map[string]int), busy: make(map[string]budget.Counts), planned: make(map[string]budget.Counts),
		counted: make(map[string]bool), bounds: make(map[string]map[string][]budget.Bound),
		byReason: make(map[string]bool), invalid: make(map[string]error),
	}
	for _, node := range c.poolNodes {
		if node.Claim == nil && c.in.Unclaimed {
			l.count(node, budget.OtherCause)
		}
		if node.Claim == nil {
			continue
		}
		if budget.Measured(node.Node, node.Claim) {
			l.nodes[node.Node.Pool()]++
		}
		if budget.Busy(node.Node, node.Claim, node.command != nil || c.deleted[node.Claim.Name]) {
			l.count(node, c.causeOf(node))
		}
	}
	for i := range c.in.Snapshot.Pools {
		pool := &c.in.Snapshot.Pools[i]
		l.bounds[pool.Name] = make(map[string][]budget.Bound)
		l.byReason[pool.Name] = budget.ByReason(pool)
		for _, of := range model.DisruptionReasons {
			reason := of.Name
			if of.Budget != reason {
				continue
			}
			bounds, again, err := budget.Bounds(pool.Disruption.Budgets, reason, l.nodes[pool.Name], c.now)
			if err != nil {
				bounds, l.invalid[pool.Name] = []budget.Bound{{Nodes: 0}}, err
			}
			l.bounds[pool.Name][reason] = bounds
			if l.nodes[pool.Name] > 0 {
				replan.at(again)
			}
		}
	}
	return l
}

// causeOf returns the reason, as budgets name it, of the command that disrupts the node or has ended it.
func (c *cluster) causeOf(node *poolNode) string {
	if node.command != nil {
		return model.ReasonNamed(node.command.Reason).Budget
	}
	if !node.Claim.Ending() {
		return budget.OtherCause
	}
	return budget.CauseOf(node.Claim, c.in.Commands)
}

// count makes the node one of the busy.
func (l *budgetsLeft) count(node *poolNode, cause string) {
	if !l.counted[node.name()] {
		l.counted[node.name()] = true
		add(l.busy, node.Node.Pool(), cause)
	}
}

// add makes a pool's count for a cause one higher.
func add(counts map[string]budget.Counts, pool, cause string) {
	if counts[pool] == nil {
		counts[pool] = budget.Counts{}
	}
	counts[pool][cause]++
}

// cloned returns a copy of counts.
func cloned(counts map[string]budget.Counts) map[string]budget.Counts {
	out := make(map[string]budget.Counts, len(counts))
	for pool, of := range counts {
		out[pool] = maps.Clone(of)
	}
	return out
}

// tightest returns which of a pool's budgets leaves the least for the reason, and how many nodes it counts.
func (l *budgetsLeft) tightest(pool, reason string) (bound budget.Bound, busy int) {
	bounds, known := l.bounds[pool][model.ReasonNamed(reason).Budget]
	if !known {
		bounds = []budget.Bound{{Nodes: 0}}
	}
	return budget.Tightest(bounds, l.busy[pool], l.byReason[pool])
}

// left returns how many more nodes of a pool may be disrupted for the reason now.
func (l *budgetsLeft) left(pool, reason string) int {
	bound, busy := l.tightest(pool, reason)
	return max(0, bound.Nodes-busy)
}

// fits reports whether all of the nodes may be disrupted together for the reason. One that is busy already takes
// nothing.
func (l *budgetsLeft) fits(reason string, nodes ...*poolNode) bool {
	need := make(map[string]int)
	for _, node := range nodes {
		pool := node.Node.Pool()
		if l.left(pool, reason) == 0 { // a busy one too: what is at its limit is left alone
			return false
		}
		if !l.counted[node.name()] {
			if need[pool]++; need[pool] > l.left(pool, reason) {
				return false
			}
		}
	}
	return true
}

// take takes what disruption of the nodes for the reason takes.
func (l *budgetsLeft) take(reason string, nodes ...*poolNode) {
	cause := model.ReasonNamed(reason).Budget
	for _, node := range nodes {
		if !l.counted[node.name()] {
			add(l.planned, node.Node.Pool(), cause)
		}
		l.count(node, cause)
	}
}

// clone returns a copy to try things out on.
func (l *budgetsLeft) clone() *budgetsLeft {
	out := *l
	out.busy, out.planned, out.counted = cloned(l.busy), cloned(l.planned), maps.Clone(l.counted)
	return &out
}

// full words why a pool's budgets keep a node now, when so many other nodes that are not taken yet come first.
func (l *budgetsLeft) full(pool, reason string, first int) model.KeptReason {
	if err := l.invalid[pool]; err != nil {
		return *because(InvalidBudget, "NodePool %s: %s", pool, err)
	}
	bound, busy := l.tightest(pool, reason)
	reason, planned := model.ReasonNamed(reason).Budget, l.planned[pool].Sum(bound.Reasons, l.byReason[pool])
	message := fmt.Sprintf(
		"budgets of NodePool %s allow %d of its %d nodes to be disrupted at once (%s): %d are disrupted or not ready",
		pool, bound.Nodes, l.nodes[pool], reason, busy-planned)
	if first = min(first, l.left(pool, reason)) + planned; first > 0 {
		message += fmt.Sprintf(", and %d others of this plan come first", first)
	}
	return model.KeptReason{Code: NodeBudget, Message: message}
}
