package disruption

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// disruptEmpty disrupts nodes without pods that matter, as many as budgets allow, those of a pool together. Nothing is
// planned for what pods there are: losing them costs less than nothing.
func (p *planner) disruptEmpty() {
	pools := make(map[string][]*poolNode)
	for _, node := range p.candidatesFor(emptying) {
		pools[node.Node.Pool()] = append(pools[node.Node.Pool()], node)
	}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		nodes := pools[name]
		slices.SortStableFunc(nodes, bySavings)
		let := min(len(nodes), p.budgets.left(name, model.ReasonEmpty))
		for _, node := range nodes[let:] {
			p.constrain(node, model.ReasonEmpty, let)
		}
		p.chooseEach(model.ReasonEmpty, nodes[:let])
	}
}

// bySavings orders nodes by how much is saved for what is disturbed, most first.
func bySavings(a, b *poolNode) int {
	return cmp.Or(
		cmp.Compare(int64(b.Price)*a.CostMilli, int64(a.Price)*b.CostMilli), strings.Compare(a.name(), b.name()))
}
