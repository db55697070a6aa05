package disruption

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// empty disrupts nodes without pods that matter, as many as budgets allow, those of a pool together. Nothing is planned for
// what pods there are: losing them costs less than nothing.
func (v *planner) empty() {
	pools := make(map[string][]*poolNode)
	var names []string
	for _, node := range v.candidatesFor(emptying) {
		pool := node.Node.Pool()
		if pools[pool] == nil {
			names = append(names, pool)
		}
		pools[pool] = append(pools[pool], node)
	}
	slices.Sort(names)
	for _, name := range names {
		nodes := pools[name]
		slices.SortStableFunc(nodes, bySavings)
		room := v.budgets.left(name, model.ReasonEmpty)
		var given []*poolNode
		for _, node := range nodes {
			switch {
			case len(given) < room:
				given = append(given, node)
			default:
				v.constrain(node, model.ReasonEmpty, len(given))
			}
		}
		for chunk := range slices.Chunk(given, model.MaxCommandNodes) {
			if v.full() {
				for _, node := range chunk {
					v.cut(node)
				}
				continue
			}
			v.choose(v.command(model.ReasonEmpty, chunk, outcome{}), chunk)
		}
	}
}

// bySavings orders nodes by how much is saved for what is disturbed, most first.
func bySavings(a, b *poolNode) int {
	return cmp.Or(cmp.Compare(int64(b.Price)*a.CostMilli, int64(a.Price)*b.CostMilli), strings.Compare(a.name(), b.name()))
}
