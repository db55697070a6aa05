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

// allowances returns those of every pool, by pool and reason. Budgets are of the initialized nodes of a pool; those
// that go already, or are not ready, count against them. A pool whose budgets cannot be read lets none be disrupted.
func allowances(pools []model.Pool, nodes []model.Node, now int64) []allowance {
	total, consuming := map[string]int{}, map[string]int{}
	for i := range nodes {
		node := &nodes[i]
		if node.Pool() == "" || !node.Initialized() {
			continue
		}
		total[node.Pool()]++
		goes := slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
		if goes || node.DeletedUnix != 0 || !node.Ready {
			consuming[node.Pool()]++
		}
	}
	var out []allowance
	for i := range pools {
		pool := &pools[i]
		of, goes := total[pool.Name], consuming[pool.Name]
		for _, reason := range bounded {
			limit, _, err := budget.Limit(pool.Disruption.Budgets, reason, of, now)
			if err != nil {
				limit = 0
			}
			allowed := max(0, min(limit, of)-goes)
			out = append(out, allowance{pool.Name, strings.ToLower(reason), allowed, goes})
		}
	}
	return out
}
