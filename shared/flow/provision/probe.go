package provision

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxProbes is how many half-open marks one launch tries at most.
const maxProbes = 5

// probe is one half-open mark this run has asked for.
type probe struct {
	by   *attempt   // who may use it; nil = nobody here
	mark model.Mark // as stored since it was taken
}

// admit takes the probes of what a launch would try of half-open offers and drops the offers it may not try. again says
// that the launch is left with nothing, and that another plan knows more.
func (r *run) admit(ctx context.Context, a *attempt) (ok, again bool) {
	var templates []model.LaunchTemplate
	for _, template := range a.launch.Templates {
		var kept []model.Override
		for _, o := range template.Overrides {
			if r.mayTry(ctx, a, o) {
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

// mayTry reports whether the launch may use an offer, taking the probes of every half-open mark that speaks of it.
func (r *run) mayTry(ctx context.Context, a *attempt, o model.Override) bool {
	key := model.OfferKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: a.launch.CapacityType}
	for _, mark := range r.halfOpen() {
		if !concerns(mark, a.launch.Class) || !offer.Covers(*mark, key) || mark.SubnetID != "" && mark.SubnetID != o.SubnetID {
			continue
		}
		p, asked := r.probes[mark.About()]
		if !asked {
			if a.probes >= maxProbes {
				return false
			}
			p = r.probe(ctx, a, mark)
			r.probes[mark.About()] = p
		}
		if p.by != a {
			return false
		}
	}
	return true
}

// halfOpen returns the ledger's marks that are half open, and those whose probes this run has asked for.
func (r *run) halfOpen() []*model.Mark {
	var marks []*model.Mark
	for i := range r.ledger.Marks {
		mark := &r.ledger.Marks[i]
		if _, asked := r.probes[mark.About()]; asked || r.opens(mark) {
			marks = append(marks, mark)
		}
	}
	return marks
}

// probe asks for the probe of a mark.
func (r *run) probe(ctx context.Context, a *attempt, mark *model.Mark) probe {
	var taken model.Mark
	err := r.effect(ctx, EffectProbe, func() (err error) {
		taken, err = r.Offers.Probe(ctx, r.reg, *mark, r.now()+int64(r.settings.OfferBackOff.Seconds())/3)
		return err
	})
	if err != nil {
		if !fault.Is(err, fault.Conflict) {
			r.problem("take the probe of an offer: %v", err)
		}
		return probe{}
	}
	a.probes++
	*mark = taken
	return probe{by: a, mark: taken}
}

// probed removes the marks of offers that a launch probed and that gave capacity.
func (r *run) probed(ctx context.Context, a *attempt) {
	if a.probes == 0 {
		return
	}
	for i := range r.ledger.Marks { // in the order of the ledger
		mark := r.ledger.Marks[i]
		p, asked := r.probes[mark.About()]
		if !asked || p.by != a || !gaveCapacity(a, mark) {
			continue
		}
		err := r.effect(ctx, EffectClear, func() error { return r.Offers.Clear(ctx, r.reg, p.mark) })
		if err != nil {
			r.problem("clear the mark of an offer that gave capacity: %v", err)
		}
	}
}

// concerns reports whether a mark speaks of launches from a class: what is marked within a placement group, is for the group
// only.
func concerns(mark *model.Mark, class model.Class) bool {
	group := class.Status.PlacementGroup
	return mark.PlacementGroup == "" || group != nil && group.ID == mark.PlacementGroup
}

func gaveCapacity(a *attempt, mark model.Mark) bool {
	if !concerns(&mark, a.launch.Class) {
		return false
	}
	for _, instance := range a.result.Instances {
		key := model.OfferKey{InstanceType: instance.Type, Zone: instance.Zone, CapacityType: instance.CapacityType}
		if offer.Covers(mark, key) && (mark.SubnetID == "" || mark.SubnetID == instance.SubnetID) {
			return true
		}
	}
	return false
}

// marksNow are the ledger's marks. Once a probe has failed in this run what is half open stays closed for the rest of it,
// so that a stock-out is not looked for offer by offer.
func (r *run) marksNow() []model.Mark {
	if !r.probeFailed && !r.pressed {
		return r.ledger.Marks
	}
	marks := append([]model.Mark{}, r.ledger.Marks...)
	for i := range marks {
		switch open := r.opens(&marks[i]); {
		case open && r.probeFailed:
			marks[i].UntilUnix = r.now() + 1
		case open:
			marks[i].UntilUnix = min(marks[i].UntilUnix, r.now())
		}
	}
	return marks
}

// opens reports whether an offer may be probed. Its back-off grows as long as pods can run elsewhere; those that cannot
// are worth a probe every two thirds of the first back-off, or a stock-out that is over would keep them waiting for an
// hour.
func (r *run) opens(mark *model.Mark) bool {
	return mark.HalfOpen(r.now()) || r.pressed && r.overdue(mark)
}

// overdue reports whether an offer has been left alone for most of a first back-off. One that opens within the time of a probe may be being
// probed right now.
func (r *run) overdue(mark *model.Mark) bool {
	first := int64(r.settings.OfferBackOff.Seconds())
	return mark.UntilUnix > r.now()+first/3 && r.now()-mark.AtUnix >= first*2/3
}

// pressing reports, once in a run, whether pods are left over and offers whose first back-off is long past may be probed
// for them.
func (r *run) pressing(plan model.Plan) bool {
	if r.pressed || r.probeFailed || len(plan.Unschedulable) == 0 {
		return false
	}
	for i := range r.ledger.Marks {
		if r.overdue(&r.ledger.Marks[i]) {
			r.pressed = true
			return true
		}
	}
	return false
}

// counted fills in how often the marks' offers failed in a row and for how long they are left alone: the back-off,
// doubled with each failure, twentyfold at most. From the second failure on it is shorter by up to a half, each offer's by
// something else, so that offers that failed together are not all closed when there is capacity again. Limits of the
// account begin at four times the back-off.
func (r *run) counted(marks []model.Mark) []model.Mark {
	before := make(map[model.Mark]model.Mark, len(r.ledger.Marks))
	for _, mark := range r.ledger.Marks {
		before[mark.About()] = mark
	}
	now, first := r.now(), max(1, int64(r.settings.OfferBackOff.Seconds()))
	for i := range marks {
		mark := &marks[i]
		mark.AtUnix, mark.Failures = now, 1
		if known, ok := before[mark.About()]; ok && !known.Forgotten(now) {
			mark.Failures = known.Failures + 1
		}
		doublings := mark.Failures - 1
		if accountLimit(mark.Reason) {
			doublings += 2
		}
		wait := min(first<<min(doublings, 10), 20*first)
		if mark.Failures > 1 {
			wait -= wait * spread(mark) / 200
		}
		mark.UntilUnix = now + wait
		mark.ForgetUnix = mark.UntilUnix + 20*first
		if p, asked := r.probes[mark.About()]; asked && p.by != nil {
			r.probeFailed = true
		}
	}
	return marks
}

// spread returns a number from 0 to 100 that is the mark's own, and another with each failure.
func spread(mark *model.Mark) int64 {
	hash := fnv.New32a()
	about := mark.About()
	fmt.Fprintf(hash, "%s/%s/%s/%s/%s/%d", about.InstanceType, about.Zone, about.CapacityType, about.Group, about.SubnetID+about.Reservation+about.PlacementGroup, mark.Failures)
	return int64(hash.Sum32() % 101)
}
