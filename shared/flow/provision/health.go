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

// health brings the record of which pools' instances join up to what the ledger knows now. An outcome is read from its
// claim's name, so that it counts once however often it is seen. Another pool, or another spec of it or of its class, begins
// anew: what failed may be mended.
func (r *pass) health() {
	before := map[string]model.PoolHealth{}
	for _, health := range r.ledger.Notes.Health {
		before[health.Pool] = health
	}
	outcomes := r.registrationOutcomes()
	var list []model.PoolHealth
	for i := range r.snapshot.Pools {
		pool := &r.snapshot.Pools[i]
		spec := r.specOf(pool)
		health, known := before[pool.Name]
		delete(before, pool.Name)
		if !known && len(outcomes[pool.UID]) == 0 {
			continue
		}
		if !known || health.UID != pool.UID || health.Spec != spec {
			r.changed[pool.Name] = true
			since := int64(0) // what the ledger shows at first sight of a pool is of this spec as far as anybody can tell
			if known {
				since = r.now()
			}
			health = model.PoolHealth{Pool: pool.Name, UID: pool.UID, Spec: spec, SinceUnix: since}
		}
		latest := latestOutcomes(health, outcomes[pool.UID])
		if !slices.Equal(latest, health.Outcomes) {
			health.Outcomes, r.changed[pool.Name] = latest, true
		}
		list = append(list, health)
	}
	if len(list) > healthPools {
		slices.SortStableFunc(list, func(a, b model.PoolHealth) int { return cmp.Compare(lastOutcome(&b), lastOutcome(&a)) })
		list = list[:healthPools]
		slices.SortFunc(list, func(a, b model.PoolHealth) int { return cmp.Compare(a.Pool, b.Pool) })
	}
	if !slices.EqualFunc(list, r.ledger.Notes.Health, sameHealth) {
		r.ledger.Notes.Health, r.noted = list, true
	}
}

// seenOutcome is an outcome with the time its claim was recorded at.
type seenOutcome struct {
	model.RegistrationOutcome
	recordedUnix int64
}

// registrationOutcomes returns whose instances joined and whose did not in time, by pool UID. Refusals and capacity that is not there
// say nothing about instances.
func (r *pass) registrationOutcomes() map[string][]seenOutcome {
	out := map[string][]seenOutcome{}
	for _, claims := range [][]model.Claim{r.ledger.Ended, r.ledger.Claims} {
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
			case claim.FailureCode == model.EndedNeverRegistered || r.neverJoined(claim):
				outcome.AtUnix = claim.LaunchedUnix + int64(r.settings.JoinWithin.Seconds())
			default:
				continue
			}
			out[claim.PoolUID] = append(out[claim.PoolUID], outcome)
		}
	}
	return out
}

// latestOutcomes joins what is remembered with what is seen of instances that were asked for since. One that joined after all
// did join.
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
	return a.Pool == b.Pool && a.UID == b.UID && a.Spec == b.Spec && a.SinceUnix == b.SinceUnix && slices.Equal(a.Outcomes, b.Outcomes)
}

// specOf stands for a pool and its class as people wrote them.
func (r *pass) specOf(pool *model.Pool) string {
	class := "none"
	for i := range r.snapshot.Classes {
		if c := &r.snapshot.Classes[i]; c.Name == pool.Template.ClassName {
			class = fmt.Sprintf("%s/%d", c.UID, c.Generation)
		}
	}
	return fmt.Sprintf("%d %s", pool.Generation, class)
}

// reportHealth shows on pools whether their instances join, where that may have changed.
func (r *pass) reportHealth() {
	byPool := map[string]*model.PoolHealth{}
	for i := range r.ledger.Notes.Health {
		byPool[r.ledger.Notes.Health[i].Pool] = &r.ledger.Notes.Health[i]
	}
	for i := range r.snapshot.Pools {
		pool := &r.snapshot.Pools[i]
		if r.changed[pool.Name] && pool.DeletedUnix == 0 {
			r.report.Pools = append(r.report.Pools, healthCondition(pool, byPool[pool.Name]))
		}
	}
}

// healthCondition says whether a pool's instances join.
func healthCondition(pool *model.Pool, health *model.PoolHealth) model.Condition {
	condition := model.Condition{Object: pool.Name, UID: pool.UID, Type: "NodeRegistrationHealthy", Status: "Unknown", Reason: "AwaitingReconciliation",
		Message: "no instance has been launched since the NodePool or its EC2NodeClass was changed"}
	if health == nil || len(health.Outcomes) == 0 {
		return condition
	}
	failed, last := 0, ""
	for _, outcome := range health.Outcomes {
		if !outcome.Joined {
			failed, last = failed+1, outcome.Claim
		}
	}
	if failed >= healthFailures {
		condition.Status, condition.Reason = "False", "RegistrationFailed"
		condition.Message = fmt.Sprintf("%d of the latest %d instances did not join the cluster in time, the last of them that of NodeClaim %s: check its console output, "+
			"and the user data, role and network of the NodePool's EC2NodeClass", failed, len(health.Outcomes), last)
		return condition
	}
	condition.Status, condition.Reason, condition.Message = "True", condition.Type, ""
	return condition
}
