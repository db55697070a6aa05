package provision

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// launchesLeft returns how many claims of a pool may still be recorded in this minute, of an allowance that at most doubles from
// one minute to the next and is LaunchFloor at least. So a backlog that waited for hours comes up like a ramp, and nobody
// makes a pool launch without bound.
//
// Where the pool's limits leave pods waiting, it is half of what they leave, and a third of LaunchFloor at least: what a backlog would fill
// in one go it fills over some minutes, and namespaces that come meanwhile find room.
func (r *pass) launchesLeft(pool string) int { return r.launchesLeftPlus(pool, 0) }

// launchesLeftLate is room for a namespace that nothing was launched for in this minute while others had some: a tenth of LaunchFloor beyond what
// those may have, or it would wait for the next minute where they took all of this one.
func (r *pass) launchesLeftLate(pool string) int {
	if r.launchRate(pool).Starts == 0 {
		return r.launchesLeft(pool)
	}
	return r.launchesLeftPlus(pool, int64(r.settings.LaunchFloor/10))
}

// launchedFor returns the namespaces that claims of each pool were recorded for in this minute.
func (r *pass) launchedFor() map[[2]string]bool {
	out := map[[2]string]bool{}
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.CreatedUnix/60 == r.now()/60 {
			for _, pod := range claim.Pods {
				out[[2]string{claim.Pool, pod.Namespace}] = true
			}
		}
	}
	return out
}

func (r *pass) launchesLeftPlus(pool string, more int64) int {
	rate := r.launchRate(pool)
	most := max(int64(r.settings.LaunchFloor), 2*rate.Before)
	if left, tight := r.tight[pool]; tight {
		most = min(most, max(int64(r.settings.LaunchFloor/3), (int64(left)+rate.Starts)/2))
	}
	return int(max(0, most+more-rate.Starts))
}

// tightOf returns how many claims the plan has of each pool whose limits leave pods waiting.
func tightOf(plan model.Plan) map[string]int {
	out := map[string]int{}
	for i := range plan.Unschedulable {
		for _, why := range plan.Unschedulable[i].Reasons {
			if why.Code == pack.LimitReached && why.Pool != "" {
				out[why.Pool] = 0
			}
		}
	}
	for i := range plan.Claims {
		if _, tight := out[plan.Claims[i].Pool]; tight {
			out[plan.Claims[i].Pool]++
		}
	}
	return out
}

// fairOrder returns the claims in the order in which they are launched: by priority of their pods, and within a priority in turns by
// namespace. A claim for pods of several namespaces is of the one with the fewest pods in the plan. Claims without pods that wait keep
// their order behind them.
func (r *pass) fairOrder(claims []model.PlannedClaim) []model.PlannedClaim {
	pods := map[string]int{} // by namespace
	for i := range claims {
		for _, pod := range claims[i].Pods {
			pods[pod.Namespace]++
		}
	}
	if len(pods) == 0 {
		return claims
	}
	var items []fairshare.Item
	rest := make([]model.PlannedClaim, 0, len(claims))
	for i := range claims {
		item, waits := fairshare.Item{Index: i, Priority: math.MinInt32}, false
		for _, ref := range claims[i].Pods {
			priority, asks := r.round.Priority(ref)
			if !asks {
				continue
			}
			fewer := cmp.Or(cmp.Compare(pods[ref.Namespace], pods[item.Namespace]), cmp.Compare(ref.Namespace, item.Namespace)) < 0
			if !waits || priority > item.Priority || priority == item.Priority && fewer {
				item.Priority, item.Namespace, waits = priority, ref.Namespace, true
			}
		}
		if waits {
			items = append(items, item)
		} else {
			rest = append(rest, claims[i])
		}
	}
	out := make([]model.PlannedClaim, 0, len(claims))
	for _, item := range fairshare.RoundRobin(items, r.plannerInput.Served) {
		out = append(out, claims[item.Index])
	}
	return append(out, rest...)
}

// launchRate returns a pool's count, moved on to this minute.
func (r *pass) launchRate(pool string) model.LaunchRate {
	minute := r.now() / 60
	for _, rate := range r.ledger.Notes.Paces {
		if rate.Pool != pool {
			continue
		}
		switch ahead := rate.Minute - minute; {
		case ahead > 2: // written by a clock that is wrong
			return model.LaunchRate{Pool: pool, Minute: minute, Starts: rate.Starts}
		case ahead >= 0:
			return rate
		case ahead == -1:
			return model.LaunchRate{Pool: pool, Minute: minute, Before: max(0, rate.Starts-rate.UnknownOutcome)}
		}
	}
	return model.LaunchRate{Pool: pool, Minute: minute}
}

// start counts n more claims of a pool, fewer where n < 0.
func (r *pass) start(pool string, n int) {
	rate := r.launchRate(pool)
	rate.Starts = max(0, rate.Starts+int64(n))
	r.setLaunchRate(rate)
}

// discountUnknown notes of n claims that were counted and of which it is unknown whether they were launched: what an outage lets pile up must not
// make room for more.
func (r *pass) discountUnknown(pool string, n int) {
	rate := r.launchRate(pool)
	rate.UnknownOutcome += int64(n)
	r.setLaunchRate(rate)
}

func (r *pass) setLaunchRate(rate model.LaunchRate) {
	paces := []model.LaunchRate{rate}
	for _, other := range r.ledger.Notes.Paces {
		if other.Pool != rate.Pool && other.Minute >= rate.Minute-1 { // older ones say nothing any more
			paces = append(paces, other)
		}
	}
	sort.Slice(paces, func(i, j int) bool { return paces[i].Pool < paces[j].Pool })
	r.ledger.Notes.Paces, r.noted = paces, true
}

// remember writes the notes where they have changed.
func (r *pass) remember(ctx context.Context) error {
	if !r.noted {
		return nil
	}
	err := r.effect(ctx, EffectRemember, func() error { return r.Memory.Remember(ctx, r.fence, r.ledger.Notes) })
	if err != nil {
		return fmt.Errorf("write the planner's notes: %w", err)
	}
	r.noted = false
	return nil
}
