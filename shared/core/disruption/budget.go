package disruption

import (
	"fmt"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/disruption/budget"
	"github.com/joiner-sh/joiner/shared/model"
)

// budgetsLeft is what the budgets of pools leave. It is shared by all commands of a plan: a node that is disrupted for
// one reason is not there for any other.
type budgetsLeft struct {
	nodes    map[string]int                       // by pool: those that percentages are of
	busy     map[poolCause]int                    // those that are disrupted, or not ready
	planned  map[poolCause]int                    // those of the busy that commands of this plan disrupt
	counted  map[string]bool                      // nodes that are among the busy, by name
	bounds   map[string]map[string][]budget.Bound // by pool and reason
	byReason map[string]bool                      // pools of which a budget counts its own reasons only
	invalid  map[string]error                     // by pool: why it is left alone
}

// poolCause names a count of nodes: those of a pool that are busy for a reason that budgets may name, or for another
// cause.
type poolCause struct{ pool, cause string }

const otherCause = "" // not ready, or ending for what no budget names: it counts for every budget

// causes are all there are.
var causes = []string{otherCause, model.ReasonEmpty, model.ReasonDrifted, model.ReasonUnderutilized}

// newBudgetsLeft counts the nodes of every pool and reads its budgets. Percentages are of the nodes that are
// initialized and whose instances are not ending; busy are those, and the ones that end, that an open command disrupts,
// that leave for whatever cause, or that are not ready; where claims cannot be read, those without one too.
func newBudgetsLeft(c *cluster, replan *replan) *budgetsLeft {
	l := &budgetsLeft{
		nodes: make(map[string]int), busy: make(map[poolCause]int), planned: make(map[poolCause]int),
		counted: make(map[string]bool), bounds: make(map[string]map[string][]budget.Bound),
		byReason: make(map[string]bool), invalid: make(map[string]error),
	}
	for _, node := range c.poolNodes {
		if node.Claim == nil && c.in.Unclaimed {
			l.count(node, otherCause)
		}
		if node.Claim == nil || !node.Node.Initialized() {
			continue
		}
		if node.Claim.State != model.Terminating {
			l.nodes[node.Node.Pool()]++
		}
		if node.command != nil || node.Claim.Ending() || node.Node.DeletedUnix != 0 || !node.Node.Ready ||
			c.deleted[node.Claim.Name] {
			l.count(node, c.causeOf(node))
		}
	}
	for i := range c.in.Snapshot.Pools {
		pool := &c.in.Snapshot.Pools[i]
		l.bounds[pool.Name] = make(map[string][]budget.Bound)
		l.byReason[pool.Name] = pool.Annotations[model.AnnotationByReason] == "true"
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
	for i := range c.in.Commands {
		if command := &c.in.Commands[i]; node.Claim.Ending() && command.ID == node.Claim.Command {
			return model.ReasonNamed(command.Reason).Budget
		}
	}
	return otherCause
}

// count makes the node one of the busy.
func (l *budgetsLeft) count(node *poolNode, cause string) {
	if !l.counted[node.name()] {
		l.counted[node.name()] = true
		l.busy[poolCause{node.Node.Pool(), cause}]++
	}
}

// sum returns how many nodes of a pool counts have that a budget with those reasons counts.
func (l *budgetsLeft) sum(counts map[poolCause]int, pool string, reasons []string) int {
	n := 0
	for _, cause := range causes {
		if cause == otherCause || len(reasons) == 0 || !l.byReason[pool] || slices.Contains(reasons, cause) {
			n += counts[poolCause{pool, cause}]
		}
	}
	return n
}

// tightest returns which of a pool's budgets leaves the least for the reason, and how many nodes it counts.
func (l *budgetsLeft) tightest(pool, reason string) (bound budget.Bound, busy int) {
	bounds, known := l.bounds[pool][model.ReasonNamed(reason).Budget]
	bound, busy = budget.Bound{Nodes: budget.Unlimited}, l.sum(l.busy, pool, nil)
	if !known {
		bound.Nodes = 0
	}
	for _, b := range bounds {
		if n := l.sum(l.busy, pool, b.Reasons); b.Nodes-n < bound.Nodes-busy {
			bound, busy = b, n
		}
	}
	return bound, busy
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
			l.planned[poolCause{node.Node.Pool(), cause}]++
		}
		l.count(node, cause)
	}
}

// clone returns a copy to try things out on.
func (l *budgetsLeft) clone() *budgetsLeft {
	out := *l
	out.busy, out.planned, out.counted = maps.Clone(l.busy), maps.Clone(l.planned), maps.Clone(l.counted)
	return &out
}

// full words why a pool's budgets keep a node now, when so many other nodes that are not taken yet come first.
func (l *budgetsLeft) full(pool, reason string, first int) model.KeptReason {
	if err := l.invalid[pool]; err != nil {
		return *because(InvalidBudget, "NodePool %s: %s", pool, err)
	}
	bound, busy := l.tightest(pool, reason)
	reason, planned := model.ReasonNamed(reason).Budget, l.sum(l.planned, pool, bound.Reasons)
	message := fmt.Sprintf(
		"budgets of NodePool %s allow %d of its %d nodes to be disrupted at once (%s): %d are disrupted or not ready",
		pool, bound.Nodes, l.nodes[pool], reason, busy-planned)
	if first = min(first, l.left(pool, reason)) + planned; first > 0 {
		message += fmt.Sprintf(", and %d others of this plan come first", first)
	}
	return model.KeptReason{Code: NodeBudget, Message: message}
}
