package pack

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/model"
)

// A claim that was just planned is one that its pool would have, and so is one of a pool of fixed size: otherwise
// replacements that are launched a moment after they were planned would be refused.
func TestNoPlannedClaimIsForeignToItsPool(t *testing.T) {
	none := func(t *rapid.T, w *world, claims []model.PlannedClaim) {
		for i := range claims {
			for j := range w.in.Snapshot.Pools {
				pool := &w.in.Snapshot.Pools[j]
				if pool.Name != claims[i].Pool {
					continue
				}
				if field := Foreign(&claims[i], &pool.Template); field != "" {
					t.Errorf("%s of\n%+v\nis not that of\n%+v", field, claims[i], pool.Template)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, w := range []*world{drawWorld(t), drawRules(t)} {
			none(t, w, w.plan().Claims)
			for i := range w.in.Snapshot.Pools {
				none(t, w, StaticClaims(w.in, w.in.Snapshot.Pools[i].Name, 2))
			}
		}
	})
}
