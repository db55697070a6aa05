package provision

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// backOff is which offerings had no capacity lately and are left alone, and which of them are probed.
type backOff struct {
	*state
	port   UnavailableOfferings
	probes map[model.UnavailableOffering]probe // of half-open unavailable offerings, by what they are about
	failed bool                                // one of this run's came back without capacity
	early  bool                                // something waits: offerings are probed before their back-off is over
}

// maxProbes is how many half-open unavailable offerings one launch tries at most.
const maxProbes = 5

// probe is one half-open unavailable offering this run has asked for.
type probe struct {
	by          *attempt                  // who may use it; nil = nobody here
	unavailable model.UnavailableOffering // as stored since it was taken
}

// admit takes the probes of what a launch would try of half-open offerings and drops the offerings it may not try.
// again says that the launch is left with nothing, and that another plan knows more.
func (b *backOff) admit(ctx context.Context, a *attempt) (ok, again bool) {
	var templates []model.LaunchTemplate
	for _, template := range a.launch.Templates {
		var kept []model.Override
		for _, o := range template.Overrides {
			if b.mayProbe(ctx, a, o) {
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

// mayProbe reports whether the launch may use an offering, taking the probes of every half-open unavailable offering
// that names it.
func (b *backOff) mayProbe(ctx context.Context, a *attempt, o model.Override) bool {
	key := keyOf(o, a.launch.CapacityType)
	for i := range b.ledger.UnavailableOfferings {
		unavailable := &b.ledger.UnavailableOfferings[i]
		if !concerns(unavailable, a.launch.Class) || !offering.Covers(*unavailable, key) ||
			unavailable.SubnetID != "" && unavailable.SubnetID != o.SubnetID {
			continue
		}
		p, asked := b.probes[unavailable.About()]
		if !asked {
			if !b.opens(unavailable) {
				continue
			}
			if a.probes >= maxProbes {
				return false
			}
			p = b.probe(ctx, a, unavailable)
			b.probes[unavailable.About()] = p
		}
		if p.by != a {
			return false
		}
	}
	return true
}

// probe asks for the probe of an unavailable offering.
func (b *backOff) probe(ctx context.Context, a *attempt, unavailable *model.UnavailableOffering) probe {
	var taken model.UnavailableOffering
	err := b.effect(ctx, EffectProbe, func() (err error) {
		taken, err = b.port.TakeProbe(ctx, b.reg, *unavailable, b.now()+int64(b.settings.OfferingBackOff.Seconds())/3)
		return err
	})
	if err != nil {
		if !fault.Is(err, fault.Conflict) {
			b.problem("reserve the probe of an unavailable offering: %v", err)
		}
		return probe{}
	}
	a.probes++
	*unavailable = taken
	return probe{by: a, unavailable: taken}
}

// probed removes the unavailable offerings of offerings that a launch probed and that gave capacity.
func (b *backOff) probed(ctx context.Context, a *attempt) {
	if a.probes == 0 {
		return
	}
	for i := range b.ledger.UnavailableOfferings { // in the order of the ledger
		unavailable := b.ledger.UnavailableOfferings[i]
		p, asked := b.probes[unavailable.About()]
		if !asked || p.by != a || !gaveCapacity(a, unavailable) {
			continue
		}
		err := b.effect(ctx, EffectClear, func() error { return b.port.Clear(ctx, b.reg, p.unavailable) })
		if err != nil {
			b.problem("delete the record of an offering that has capacity again: %v", err)
		}
	}
}

// concerns reports whether an unavailable offering names launches from a class: what is marked within a placement
// group, is for the group only.
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
		if offering.Covers(unavailable, key) &&
			(unavailable.SubnetID == "" || unavailable.SubnetID == instance.SubnetID) {
			return true
		}
	}
	return false
}

// unavailableNow are the ledger's unavailable offerings, and the zones that the cluster is shifted away from. Once a
// probe has failed in this run what is half open stays closed for the rest of it, so that a stock-out is not looked for
// offering by offering.
func (b *backOff) unavailableNow() []model.UnavailableOffering {
	shifted := b.ledger.Shifts.Unavailable(b.now())
	if !b.failed && !b.early && len(shifted) == 0 {
		return b.ledger.UnavailableOfferings
	}
	unavailableOfferings := append([]model.UnavailableOffering{}, b.ledger.UnavailableOfferings...)
	for i := range unavailableOfferings {
		switch open := b.opens(&unavailableOfferings[i]); {
		case open && b.failed:
			unavailableOfferings[i].UntilUnix = b.now() + 1
		case open:
			unavailableOfferings[i].UntilUnix = min(unavailableOfferings[i].UntilUnix, b.now())
		}
	}
	return append(unavailableOfferings, shifted...)
}

// opens reports whether an offering may be probed. Its back-off grows as long as pods can run elsewhere; those that
// cannot, and nodes that a static pool lacks, are worth a probe every two thirds of the first back-off, or a stock-out
// that is over would keep them waiting for an hour.
func (b *backOff) opens(unavailable *model.UnavailableOffering) bool {
	return unavailable.HalfOpen(b.now()) || b.early && b.overdue(unavailable)
}

// overdue reports whether an offering has been left alone for most of a first back-off. One that opens within the time
// of a probe may be being probed right now.
func (b *backOff) overdue(unavailable *model.UnavailableOffering) bool {
	first := int64(b.settings.OfferingBackOff.Seconds())
	return unavailable.UntilUnix > b.now()+first/3 && b.now()-unavailable.AtUnix >= first*2/3
}

// pressing reports, once in a run, whether something is left over and offerings whose first back-off is long past may
// be probed for it.
func (b *backOff) pressing(leftOver bool) bool {
	if b.early || b.failed || !leftOver {
		return false
	}
	b.early = find(b.ledger.UnavailableOfferings, b.overdue) != nil
	return b.early
}

// counted fills in how often the unavailable offerings failed in a row and for how long they are left alone: the
// back-off, doubled with each failure, twentyfold at most. From the second failure on it is shorter by up to a half,
// each offering's by something else, so that offerings that failed together are not all closed when there is capacity
// again. Limits of the account begin at four times the back-off.
func (b *backOff) counted(unavailableOfferings []model.UnavailableOffering) []model.UnavailableOffering {
	before := make(map[model.UnavailableOffering]model.UnavailableOffering, len(b.ledger.UnavailableOfferings))
	for _, unavailable := range b.ledger.UnavailableOfferings {
		before[unavailable.About()] = unavailable
	}
	now, first := b.now(), max(1, int64(b.settings.OfferingBackOff.Seconds()))
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
		if p, asked := b.probes[unavailable.About()]; asked && p.by != nil {
			b.failed = true
		}
	}
	return unavailableOfferings
}

// spread returns a number from 0 to 100 that is the unavailable offering's own, and another with each failure.
func spread(unavailable *model.UnavailableOffering) int64 {
	hash := fnv.New32a()
	about := unavailable.About()
	fmt.Fprintf(hash, "%s/%s/%s/%s/%s/%d", about.InstanceType, about.Zone, about.CapacityType, about.Group,
		about.SubnetID+about.Reservation+about.PlacementGroup, unavailable.Failures)
	return int64(hash.Sum32() % 101)
}

// markUnavailable writes down offerings without capacity and reports whether there are any now that another plan will
// avoid. An unavailable offering that cannot be written stops nothing: it is advice.
func (b *backOff) markUnavailable(ctx context.Context, unavailableOfferings []model.UnavailableOffering) bool {
	if len(unavailableOfferings) == 0 {
		return false
	}
	err := b.effect(ctx, EffectUnavailable,
		func() error { return b.port.MarkUnavailable(ctx, b.reg, unavailableOfferings) })
	if err != nil {
		b.problem("record %d unavailable offerings: %v", len(unavailableOfferings), err)
	}
	return err == nil
}
