package provision

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxProbes is how many half-open unavailable offerings one launch tries at most.
const maxProbes = 5

// probe is one half-open unavailable offering this run has asked for.
type probe struct {
	by          *attempt                  // who may use it; nil = nobody here
	unavailable model.UnavailableOffering // as stored since it was taken
}

// admit takes the probes of what a launch would try of half-open offerings and drops the offerings it may not try. again says
// that the launch is left with nothing, and that another plan knows more.
func (r *pass) admit(ctx context.Context, a *attempt) (ok, again bool) {
	var templates []model.LaunchTemplate
	for _, template := range a.launch.Templates {
		var kept []model.Override
		for _, o := range template.Overrides {
			if r.mayProbe(ctx, a, o) {
				kept = append(kept, o)
			} else {
				again = true
			}
		}
		if len(kept) > 0 {
			template.Overrides = kept
			templates = append(templates, template)
		}
	}
	a.launch.Templates = templates
	return len(templates) > 0, again
}

// mayProbe reports whether the launch may use an offering, taking the probes of every half-open unavailable offering that names it.
func (r *pass) mayProbe(ctx context.Context, a *attempt, o model.Override) bool {
	key := model.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: a.launch.CapacityType}
	for _, unavailable := range r.halfOpen() {
		if !concerns(unavailable, a.launch.Class) || !offering.Covers(*unavailable, key) || unavailable.SubnetID != "" && unavailable.SubnetID != o.SubnetID {
			continue
		}
		p, asked := r.probes[unavailable.About()]
		if !asked {
			if a.probes >= maxProbes {
				return false
			}
			p = r.probe(ctx, a, unavailable)
			r.probes[unavailable.About()] = p
		}
		if p.by != a {
			return false
		}
	}
	return true
}

// halfOpen returns the ledger's unavailable offerings that are half open, and those whose probes this run has asked for.
func (r *pass) halfOpen() []*model.UnavailableOffering {
	var unavailableOfferings []*model.UnavailableOffering
	for i := range r.ledger.UnavailableOfferings {
		unavailable := &r.ledger.UnavailableOfferings[i]
		if _, asked := r.probes[unavailable.About()]; asked || r.opens(unavailable) {
			unavailableOfferings = append(unavailableOfferings, unavailable)
		}
	}
	return unavailableOfferings
}

// probe asks for the probe of an unavailable offering.
func (r *pass) probe(ctx context.Context, a *attempt, unavailable *model.UnavailableOffering) probe {
	var taken model.UnavailableOffering
	err := r.effect(ctx, EffectProbe, func() (err error) {
		taken, err = r.Unavailable.TakeProbe(ctx, r.reg, *unavailable, r.now()+int64(r.settings.OfferingBackOff.Seconds())/3)
		return err
	})
	if err != nil {
		if !fault.Is(err, fault.Conflict) {
			r.problem("reserve the probe of an unavailable offering: %v", err)
		}
		return probe{}
	}
	a.probes++
	*unavailable = taken
	return probe{by: a, unavailable: taken}
}

// probed removes the unavailable offerings of offerings that a launch probed and that gave capacity.
func (r *pass) probed(ctx context.Context, a *attempt) {
	if a.probes == 0 {
		return
	}
	for i := range r.ledger.UnavailableOfferings { // in the order of the ledger
		unavailable := r.ledger.UnavailableOfferings[i]
		p, asked := r.probes[unavailable.About()]
		if !asked || p.by != a || !gaveCapacity(a, unavailable) {
			continue
		}
		err := r.effect(ctx, EffectClear, func() error { return r.Unavailable.Clear(ctx, r.reg, p.unavailable) })
		if err != nil {
			r.problem("delete the record of an offering that has capacity again: %v", err)
		}
	}
}

// concerns reports whether an unavailable offering names launches from a class: what is marked within a placement group, is for the group
// only.
func concerns(unavailable *model.UnavailableOffering, class model.Class) bool {
	group := class.Status.PlacementGroup
	return unavailable.PlacementGroup == "" || group != nil && group.ID == unavailable.PlacementGroup
}

func gaveCapacity(a *attempt, unavailable model.UnavailableOffering) bool {
	if !concerns(&unavailable, a.launch.Class) {
		return false
	}
	for _, instance := range a.result.Instances {
		key := model.OfferingKey{InstanceType: instance.Type, Zone: instance.Zone, CapacityType: instance.CapacityType}
		if offering.Covers(unavailable, key) && (unavailable.SubnetID == "" || unavailable.SubnetID == instance.SubnetID) {
			return true
		}
	}
	return false
}

// unavailableNow are the ledger's unavailable offerings. Once a probe has failed in this run what is half open stays closed for the rest of it,
// so that a stock-out is not looked for offering by offering.
func (r *pass) unavailableNow() []model.UnavailableOffering {
	if !r.probeFailed && !r.probeEarly {
		return r.ledger.UnavailableOfferings
	}
	unavailableOfferings := append([]model.UnavailableOffering{}, r.ledger.UnavailableOfferings...)
	for i := range unavailableOfferings {
		switch open := r.opens(&unavailableOfferings[i]); {
		case open && r.probeFailed:
			unavailableOfferings[i].UntilUnix = r.now() + 1
		case open:
			unavailableOfferings[i].UntilUnix = min(unavailableOfferings[i].UntilUnix, r.now())
		}
	}
	return unavailableOfferings
}

// opens reports whether an offering may be probed. Its back-off grows as long as pods can run elsewhere; those that cannot
// are worth a probe every two thirds of the first back-off, or a stock-out that is over would keep them waiting for an
// hour.
func (r *pass) opens(unavailable *model.UnavailableOffering) bool {
	return unavailable.HalfOpen(r.now()) || r.probeEarly && r.overdue(unavailable)
}

// overdue reports whether an offering has been left alone for most of a first back-off. One that opens within the time of a probe may be being
// probed right now.
func (r *pass) overdue(unavailable *model.UnavailableOffering) bool {
	first := int64(r.settings.OfferingBackOff.Seconds())
	return unavailable.UntilUnix > r.now()+first/3 && r.now()-unavailable.AtUnix >= first*2/3
}

// pressing reports, once in a run, whether pods are left over and offerings whose first back-off is long past may be probed
// for them.
func (r *pass) pressing(plan model.Plan) bool {
	if r.probeEarly || r.probeFailed || len(plan.Unschedulable) == 0 {
		return false
	}
	for i := range r.ledger.UnavailableOfferings {
		if r.overdue(&r.ledger.UnavailableOfferings[i]) {
			r.probeEarly = true
			return true
		}
	}
	return false
}

// counted fills in how often the unavailable offerings failed in a row and for how long they are left alone: the back-off,
// doubled with each failure, twentyfold at most. From the second failure on it is shorter by up to a half, each offering's by
// something else, so that offerings that failed together are not all closed when there is capacity again. Limits of the
// account begin at four times the back-off.
func (r *pass) counted(unavailableOfferings []model.UnavailableOffering) []model.UnavailableOffering {
	before := make(map[model.UnavailableOffering]model.UnavailableOffering, len(r.ledger.UnavailableOfferings))
	for _, unavailable := range r.ledger.UnavailableOfferings {
		before[unavailable.About()] = unavailable
	}
	now, first := r.now(), max(1, int64(r.settings.OfferingBackOff.Seconds()))
	for i := range unavailableOfferings {
		unavailable := &unavailableOfferings[i]
		unavailable.AtUnix, unavailable.Failures = now, 1
		if known, ok := before[unavailable.About()]; ok && !known.Forgotten(now) {
			unavailable.Failures = known.Failures + 1
		}
		doublings := unavailable.Failures - 1
		if accountLimit(unavailable.Reason) {
			doublings += 2
		}
		wait := min(first<<min(doublings, 10), 20*first)
		if unavailable.Failures > 1 {
			wait -= wait * spread(unavailable) / 200
		}
		unavailable.UntilUnix = now + wait
		unavailable.ForgetUnix = unavailable.UntilUnix + 20*first
		if p, asked := r.probes[unavailable.About()]; asked && p.by != nil {
			r.probeFailed = true
		}
	}
	return unavailableOfferings
}

// spread returns a number from 0 to 100 that is the unavailable offering's own, and another with each failure.
func spread(unavailable *model.UnavailableOffering) int64 {
	hash := fnv.New32a()
	about := unavailable.About()
	fmt.Fprintf(hash, "%s/%s/%s/%s/%s/%d", about.InstanceType, about.Zone, about.CapacityType, about.Group, about.SubnetID+about.Reservation+about.PlacementGroup, unavailable.Failures)
	return int64(hash.Sum32() % 101)
}
