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
	nodes   map[string]int            // by pool: those that percentages are of
	busy    map[string]int            // by pool: those that are disrupted, or not ready
	planned map[string]int            // by pool: those of the busy that commands of this plan disrupt
	counted map[string]bool           // nodes that are among the busy, by name
	limits  map[string]map[string]int // by pool and reason: the most that may be busy
	invalid map[string]error          // by pool: why it is left alone
}

// newBudgetsLeft counts the nodes of every pool and reads its budgets. Percentages are of the nodes that are
// initialized and whose instances are not ending; busy are those, and the ones that end, that an open command disrupts,
// that leave for whatever cause, or that are not ready; where claims cannot be read, those without one too.
func newBudgetsLeft(c *cluster, replan *replan) *budgetsLeft {
	l := &budgetsLeft{
		nodes: make(map[string]int), busy: make(map[string]int), planned: make(map[string]int),
		counted: make(map[string]bool), limits: make(map[string]map[string]int), invalid: make(map[string]error),
	}
	for _, node := range c.poolNodes {
		if node.Claim == nil && c.in.Unclaimed {
			l.count(node)
		}
		if node.Claim == nil || !node.Node.Initialized() {
			continue
		}
		if node.Claim.State != model.Terminating {
			l.nodes[node.Node.Pool()]++
		}
		if node.command != nil || node.Claim.Ending() || node.Node.DeletedUnix != 0 || !node.Node.Ready ||
			c.deleted[node.Claim.Name] {
			l.count(node)
		}
	}
	for i := range c.in.Snapshot.Pools {
		pool := &c.in.Snapshot.Pools[i]
		l.limits[pool.Name] = make(map[string]int)
		for _, of := range model.DisruptionReasons {
			reason := of.Name
			if of.Budget != reason {
				continue
			}
			limit, again, err := budget.Limit(pool.Disruption.Budgets, reason, l.nodes[pool.Name], c.now)
			if err != nil {
				limit, l.invalid[pool.Name] = 0, err
			}
			l.limits[pool.Name][reason] = limit
			if l.nodes[pool.Name] > 0 {
				replan.at(again)
			}
		}
	}
	return l
}

// count makes the node one of the busy.
func (l *budgetsLeft) count(node *poolNode) {
	if !l.counted[node.name()] {
		l.counted[node.name()] = true
		l.busy[node.Node.Pool()]++
	}
}

// left returns how many more nodes of a pool may be disrupted for the reason now.
func (l *budgetsLeft) left(pool, reason string) int {
	limit, known := l.limits[pool][model.ReasonNamed(reason).Budget]
	if !known {
		return 0
	}
	return max(0, limit-l.busy[pool])
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

// take takes what disruption of the nodes takes.
func (l *budgetsLeft) take(nodes ...*poolNode) {
	for _, node := range nodes {
		if !l.counted[node.name()] {
			l.planned[node.Node.Pool()]++
		}
		l.count(node)
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
	reason, planned := model.ReasonNamed(reason).Budget, l.planned[pool]
	message := fmt.Sprintf(
		"budgets of NodePool %s allow %d of its %d nodes to be disrupted at once (%s): %d are disrupted or not ready",
		pool, l.limits[pool][reason], l.nodes[pool], reason, l.busy[pool]-planned)
	if first = min(first, l.left(pool, reason)) + planned; first > 0 {
		message += fmt.Sprintf(", and %d others of this plan come first", first)
	}
	return model.KeptReason{Code: NodeBudget, Message: message}
}
