package provision

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// What a pool's health is evaluated by.
const (
	healthOutcomes = 4   // of its latest instances
	healthFailures = 2   // of them make it unhealthy
	healthPools    = 500 // whose outcomes are remembered, those with the latest first
)

// neverLaunched is the FailureCode of a claim nobody found out the fate of.
const neverLaunched = "NeverLaunched"

// poolHealth is whether the instances of NodePools join.
type poolHealth struct {
	*state
	changed map[string]bool // pools whose health is to be reported, by name
}

// update brings the record of which pools' instances join up to what the ledger knows now. An outcome is read from its
// claim's name, so that it counts once however often it is seen. Another pool, or another spec of it or of its class,
// begins anew: what failed may be mended.
func (h *poolHealth) update() {
	before := map[string]model.PoolHealth{}
	for _, health := range h.ledger.Notes.Health {
		before[health.Pool] = health
	}
	outcomes := h.registrationOutcomes()
	var list []model.PoolHealth
	for i := range h.snapshot.Pools {
		pool := &h.snapshot.Pools[i]
		spec := h.specOf(pool)
		health, known := before[pool.Name]
		delete(before, pool.Name)
		if !known && len(outcomes[pool.UID]) == 0 {
			continue
		}
		if !known || health.UID != pool.UID || health.Spec != spec {
			h.changed[pool.Name] = true
			// what the ledger shows at first sight of a pool is of this spec as far as anybody can tell
			since := int64(0)
			if known {
				since = h.now()
			}
			health = model.PoolHealth{Pool: pool.Name, UID: pool.UID, Spec: spec, SinceUnix: since}
		}
		latest := latestOutcomes(health, outcomes[pool.UID])
		if !slices.Equal(latest, health.Outcomes) {
			health.Outcomes, h.changed[pool.Name] = latest, true
		}
		list = append(list, health)
	}
	if len(list) > healthPools {
		slices.SortStableFunc(list, func(a, b model.PoolHealth) int {
			return cmp.Compare(lastOutcome(&b), lastOutcome(&a))
		})
		list = list[:healthPools]
		slices.SortFunc(list, func(a, b model.PoolHealth) int { return cmp.Compare(a.Pool, b.Pool) })
	}
	if !slices.EqualFunc(list, h.ledger.Notes.Health, sameHealth) {
		h.ledger.Notes.Health, h.noted = list, true
	}
}

// seenOutcome is an outcome with the time its claim was recorded at.
type seenOutcome struct {
	model.RegistrationOutcome
	recordedUnix int64
}

// registrationOutcomes returns whose instances joined and whose did not in time, by pool UID. Refusals and capacity
// that is not there say nothing about instances.
func (h *poolHealth) registrationOutcomes() map[string][]seenOutcome {
	out := map[string][]seenOutcome{}
	for _, claims := range [][]model.Claim{h.ledger.Ended, h.ledger.Claims} {
		for i := range claims {
			claim := &claims[i]
			outcome := seenOutcome{model.RegistrationOutcome{Claim: claim.Name}, claim.CreatedUnix}
			switch {
			case claim.PoolUID == "":
				continue
			case claim.RegisteredUnix != 0:
				outcome.AtUnix, outcome.Joined = claim.RegisteredUnix, true
			case claim.FailureCode == neverLaunched:
				outcome.AtUnix = claim.GoneUnix
			case claim.FailureCode == model.EndedNeverRegistered || h.neverJoined(claim):
				outcome.AtUnix = claim.LaunchedUnix + h.joinWithin(claim)
			default:
				continue
			}
			out[claim.PoolUID] = append(out[claim.PoolUID], outcome)
		}
	}
	return out
}

// latestOutcomes joins what is remembered with what is seen of instances that were asked for since. One that joined
// after all did join.
func latestOutcomes(health model.PoolHealth, seen []seenOutcome) []model.RegistrationOutcome {
	byClaim := map[string]model.RegistrationOutcome{}
	for _, outcome := range health.Outcomes {
		byClaim[outcome.Claim] = outcome
	}
	for _, outcome := range seen {
		if outcome.recordedUnix > health.SinceUnix {
			byClaim[outcome.Claim] = outcome.RegistrationOutcome
		}
	}
	list := make([]model.RegistrationOutcome, 0, len(byClaim))
	for _, outcome := range byClaim {
		list = append(list, outcome)
	}
	slices.SortFunc(list, func(a, b model.RegistrationOutcome) int {
		return cmp.Or(cmp.Compare(a.AtUnix, b.AtUnix), cmp.Compare(a.Claim, b.Claim))
	})
	return list[max(0, len(list)-healthOutcomes):]
}

func lastOutcome(health *model.PoolHealth) int64 {
	if n := len(health.Outcomes); n > 0 {
		return health.Outcomes[n-1].AtUnix
	}
	return 0
}

func sameHealth(a, b model.PoolHealth) bool {
	return a.Pool == b.Pool && a.UID == b.UID && a.Spec == b.Spec && a.SinceUnix == b.SinceUnix &&
		slices.Equal(a.Outcomes, b.Outcomes)
}

// specOf stands for a pool and its class as people wrote them.
func (h *poolHealth) specOf(pool *model.Pool) string {
	class := h.class(pool.Template.ClassName)
	if class == nil {
		return fmt.Sprintf("%d none", pool.Generation)
	}
	return fmt.Sprintf("%d %s/%d", pool.Generation, class.UID, class.Generation)
}

// conditions shows on pools whether their instances join, where that may have changed.
func (h *poolHealth) conditions() {
	for i := range h.snapshot.Pools {
		pool := &h.snapshot.Pools[i]
		if h.changed[pool.Name] && pool.DeletedUnix == 0 {
			h.poolCondition(pool, "NodeRegistrationHealthy", h.joins)
		}
	}
}

// joins says whether a pool's instances join, as its condition does.
func (h *poolHealth) joins(pool *model.Pool) (status, reason, message string) {
	health := find(h.ledger.Notes.Health, func(of *model.PoolHealth) bool { return of.Pool == pool.Name })
	if health == nil || len(health.Outcomes) == 0 {
		return "Unknown", "AwaitingReconciliation",
			"no instance has been launched since the NodePool or its EC2NodeClass was changed"
	}
	failed, last := 0, ""
	for _, outcome := range health.Outcomes {
		if !outcome.Joined {
			failed, last = failed+1, outcome.Claim
		}
	}
	if failed >= healthFailures {
		return "False", "RegistrationFailed",
			fmt.Sprintf("%d of the latest %d instances did not join the cluster in time, "+
				"the last of them that of NodeClaim %s: check its console output, and the user data, role and network "+
				"of the NodePool's EC2NodeClass", failed, len(health.Outcomes), last)
	}
	return "True", "NodeRegistrationHealthy", ""
}
