package provision

import (
	"sort"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// pace is how many claims of a pool may be launched in a minute.
type pace struct {
	*state
	tight map[string]int // claims of this round's plan by pools whose limits leave pods waiting
}

// launchesLeft returns how many claims of a pool may still be recorded in this minute, and so many more, of an
// allowance that at most doubles from one minute to the next and is LaunchFloor at least. So a backlog that waited for
// hours comes up like a ramp, and nobody makes a pool launch without bound.
//
// Where the pool's limits leave pods waiting, it is half of what they leave, and a third of LaunchFloor at least: what
// a backlog would fill in one go it fills over some minutes, and namespaces that come meanwhile find room.
func (p *pace) launchesLeft(pool string, more int64) int {
	rate := p.launchRate(pool)
	most := max(int64(p.settings.LaunchFloor), 2*rate.Before)
	if left, tight := p.tight[pool]; tight {
		most = min(most, max(int64(p.settings.LaunchFloor/3), (int64(left)+rate.Starts)/2))
	}
	return int(max(0, most+more-rate.Starts))
}

// launchesLeftLate is room for a namespace that nothing was launched for in this minute while others had some: a tenth
// of LaunchFloor beyond what those may have, or it would wait for the next minute where they took all of this one.
func (p *pace) launchesLeftLate(pool string) int {
	if p.launchRate(pool).Starts == 0 {
		return p.launchesLeft(pool, 0)
	}
	return p.launchesLeft(pool, int64(p.settings.LaunchFloor/10))
}

// launchedFor returns the namespaces that claims of each pool were recorded for in this minute.
func (p *pace) launchedFor() map[[2]string]bool {
	out := map[[2]string]bool{}
	for i := range p.ledger.Claims {
		if claim := &p.ledger.Claims[i]; claim.CreatedUnix/60 == p.now()/60 {
			for _, pod := range claim.Pods {
				out[[2]string{claim.Pool, pod.Namespace}] = true
			}
		}
	}
	return out
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

// launchRate returns a pool's count, moved on to this minute.
func (p *pace) launchRate(pool string) model.LaunchRate {
	minute := p.now() / 60
	for _, rate := range p.ledger.Notes.Paces {
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
func (p *pace) start(pool string, n int) {
	rate := p.launchRate(pool)
	rate.Starts = max(0, rate.Starts+int64(n))
	p.setLaunchRate(rate)
}

// discountUnknown notes of n claims that were counted and of which it is unknown whether they were launched: what an
// outage lets pile up must not make room for more.
func (p *pace) discountUnknown(pool string, n int) {
	rate := p.launchRate(pool)
	rate.UnknownOutcome += int64(n)
	p.setLaunchRate(rate)
}

func (p *pace) setLaunchRate(rate model.LaunchRate) {
	paces := []model.LaunchRate{rate}
	for _, other := range p.ledger.Notes.Paces {
		if other.Pool != rate.Pool && other.Minute >= rate.Minute-1 { // older ones say nothing any more
			paces = append(paces, other)
		}
	}
	sort.Slice(paces, func(i, j int) bool { return paces[i].Pool < paces[j].Pool })
	p.ledger.Notes.Paces, p.noted = paces, true
}
