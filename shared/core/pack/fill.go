package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Fill returns up to n claims of a pool of fixed size: machines for no pod in particular, each the cheapest the pool may
// be bought as. There are fewer where its limits leave no room for more, and none where it cannot be used at all.
func Fill(in Input, name string, n int) []model.PlannedClaim {
	snapshot := *in.Snapshot
	snapshot.Pools = nil
	for i := range in.Snapshot.Pools {
		if pool := in.Snapshot.Pools[i]; pool.Name == name {
			pool.Replicas = nil
			snapshot.Pools = []model.Pool{pool}
		}
	}
	in.Snapshot, in.Pending = &snapshot, []int{}
	p := newBoard(&in, noWishes).planner
	pools := p.pools()
	if len(pools) == 0 || pools[0].skip != nil {
		return nil
	}
	r := newRun(p, pools[0], nil, nil)
	for range n {
		made := node{area: r.pool.area(r.pool.allowed), load: make(vector, len(p.dims))}
		made.mask = made.area.mask
		if !r.settle(&made) {
			break
		}
		for i, amount := range made.hold {
			r.left[i] -= amount
		}
		if made.reservation != "" {
			r.reserved[made.reservation]--
			r.closeExhausted()
		}
		r.nodes = append(r.nodes, made)
	}
	r.pool.left = slices.Clone(r.left)
	p.runs = []*run{r}
	claims, _ := p.claims()
	return claims
}
