package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/model"
)

// A limit in dollars is reached as nearly as the cheapest offering allows, and what a claim may become costs no more
// than the claim holds.
func TestDollarsAnHourAreReachedAndNotPassed(t *testing.T) {
	const limit = 400_000
	w := newWorld(64).pool("general", func(p *model.Pool) { p.Limits = model.Resources{model.Dollars: limit} })
	plan := w.pods("web", 60, cpu(1000)).sound(t)
	if placed(plan) == 0 || len(plan.Unschedulable) == 0 {
		t.Fatalf("%d placed, %d left out", placed(plan), len(plan.Unschedulable))
	}
	refusedWith(t, plan, plan.Unschedulable[0].Pod.Name, LimitReached)
	var held int64
	for _, claim := range plan.Claims {
		held += claim.Reserve[model.Dollars]
	}
	if cheapest := cheapestFor(w.in.Catalogs["default"], 1000); held > limit || int64(plan.Price)+int64(cheapest) <= limit {
		t.Errorf("claims hold %d of %d and cost %d; another for %d would have fitted", held, limit, plan.Price, cheapest)
	}
}

// cheapestFor returns the price of the cheapest offering whose instance has that much CPU for pods.
func cheapestFor(types []model.InstanceType, cpuMilli int64) model.MicroUSD {
	best := model.MicroUSD(offerings.PriceCeiling)
	for i := range types {
		for _, o := range types[i].Offerings {
			if o.Available && types[i].Allocatable()[model.CPU] >= cpuMilli {
				best = min(best, o.Price)
			}
		}
	}
	return best
}

// What is left of a limit makes a claim's offerings few: each costs no more than the claim holds.
func TestAClaimIsHeldToWhatIsLeftOfTheDollars(t *testing.T) {
	free := newWorld(64).pool("general", nil)
	open, err := onlyClaim(free.pods("web", 1, cpu(1000)).complete(t))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(64).pool("general", func(p *model.Pool) { p.Limits = model.Resources{model.Dollars: int64(open.Price) + 5_000} })
	claim, err := onlyClaim(w.pods("web", 1, cpu(1000)).complete(t))
	if err != nil {
		t.Fatal(err)
	}
	if claim.Price != open.Price || claim.Reserve[model.Dollars] > int64(open.Price)+5_000 || len(claim.InstanceTypes) >= len(open.InstanceTypes) {
		t.Errorf("%d types at up to %d micro-USD, of %d without a limit", len(claim.InstanceTypes), claim.Reserve[model.Dollars], len(open.InstanceTypes))
	}
	for _, capacityType := range claim.CapacityTypes {
		if capacityType == model.OnDemand {
			t.Errorf("on-demand is acceptable at up to %d micro-USD", claim.Reserve[model.Dollars])
		}
	}
}
