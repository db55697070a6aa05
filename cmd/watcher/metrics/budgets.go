package metrics

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/disruption/budget"
	"github.com/joiner-sh/joiner/shared/model"
)

// allowance is how many nodes of a pool its budgets let be disrupted for a reason now, and how many count against them.
type allowance struct {
	pool, reason       string
	allowed, consuming int
}

// bounded are the reasons that budgets may name.
var bounded = []string{model.ReasonDrifted, model.ReasonEmpty, model.ReasonUnderutilized}

// allowances returns those of every pool, by pool and reason. A node does not say what it is disrupted for, so that
// it counts for every budget, whatever joiner.sh/budgets-by-reason says. A pool whose budgets cannot be read lets none
// be disrupted.
func allowances(pools []model.Pool, nodes []model.Node, now int64) []allowance {
	total, consuming := map[string]int{}, map[string]budget.Counts{}
	for i := range nodes {
		node := &nodes[i]
		pool := node.Pool()
		if budget.Measured(node, nil) {
			total[pool]++
		}
		goes := slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
		if budget.Busy(node, nil, goes) {
			if consuming[pool] == nil {
				consuming[pool] = budget.Counts{}
			}
			consuming[pool][budget.OtherCause]++
		}
	}
	var out []allowance
	for i := range pools {
		pool := &pools[i]
		of := total[pool.Name]
		for _, reason := range bounded {
			bounds, _, err := budget.Bounds(pool.Disruption.Budgets, reason, of, now)
			bound, goes := budget.Tightest(bounds, consuming[pool.Name], budget.ByReason(pool))
			if err != nil {
				bound.Nodes = 0
			}
			allowed := max(0, min(bound.Nodes, of)-goes)
			out = append(out, allowance{pool.Name, strings.ToLower(reason), allowed, goes})
		}
	}
	return out
}
