package reclaim

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// empty gives back nodes without pods that matter, as many as budgets allow, those of a pool together. Nothing is planned for
// what pods there are: losing them costs less than nothing.
func (v *view) empty() {
	pools := make(map[string][]*member)
	var names []string
	for _, m := range v.those(emptying) {
		pool := m.Node.Pool()
		if pools[pool] == nil {
			names = append(names, pool)
		}
		pools[pool] = append(pools[pool], m)
	}
	slices.Sort(names)
	for _, name := range names {
		members := pools[name]
		slices.SortStableFunc(members, byWorth)
		room := v.room.left(name, model.ReasonEmpty)
		var given []*member
		for _, m := range members {
			switch {
			case len(given) < room:
				given = append(given, m)
			default:
				v.constrain(m, model.ReasonEmpty)
			}
		}
		for chunk := range slices.Chunk(given, model.MaxCommandNodes) {
			if v.full() {
				for _, m := range chunk {
					v.cut(m)
				}
				continue
			}
			v.choose(v.command(model.ReasonEmpty, chunk, outcome{}), chunk)
		}
	}
}

// byWorth orders members by how much is saved for what is disturbed, most first.
func byWorth(a, b *member) int {
	return cmp.Or(cmp.Compare(int64(b.Price)*a.CostMilli, int64(a.Price)*b.CostMilli), strings.Compare(a.name(), b.name()))
}
