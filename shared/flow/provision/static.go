package provision

import (
	"github.com/joiner-sh/joiner/shared/model"
)

// missing returns how many instances a static pool lacks. Everything that is or may yet become one of its instances counts:
// recorded launches, instances that have not joined, claims that cannot be read, and nodes the ledger does not know; but no instance
// that is to end.
func (r *pass) missing(pool *model.Pool) int {
	if pool.Replicas == nil || pool.DeletedUnix != 0 || len(pool.Invalid) > 0 {
		return 0
	}
	have, known := int64(r.ledger.Unread.Claims()), map[string]bool{}
	for i := range r.ledger.Claims {
		claim := &r.ledger.Claims[i]
		if claim.ProviderID != "" {
			known[claim.ProviderID] = true
		}
		if claim.Pool == pool.Name && claim.Live() && !claim.Ending() {
			have++
		}
	}
	for i := range r.ledger.Ended {
		known[r.ledger.Ended[i].ProviderID] = true
	}
	for i := range r.snapshot.Nodes {
		if node := &r.snapshot.Nodes[i]; node.Pool() == pool.Name && !known[node.ProviderID] {
			have++
		}
	}
	return int(max(0, *pool.Replicas-have))
}

// short reports whether any static pool lacks instances.
func (r *pass) short() bool {
	for i := range r.snapshot.Pools {
		if r.missing(&r.snapshot.Pools[i]) > 0 {
			return true
		}
	}
	return false
}

// fill returns what static pools lack, no more of a pool than may be launched in this minute.
func (r *pass) fill() []model.Filling {
	var fill []model.Filling
	pools := r.round.Input.Snapshot.Pools
	for i := range pools {
		if n := min(r.missing(&pools[i]), r.launchesLeft(pools[i].Name)); n > 0 {
			fill = append(fill, model.Filling{Pool: pools[i].Name, Count: n})
		}
	}
	return fill
}
