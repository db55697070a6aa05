package provision_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// spotByPrice returns the spot offerings of the world's catalog, cheapest first.
func spotByPrice(t *testing.T, w *world.World) []model.OfferingKey {
	t.Helper()
	catalog, err := w.Catalog.InstanceTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type priced struct {
		key   model.OfferingKey
		price model.MicroUSD
	}
	var all []priced
	for _, m := range catalog.Types {
		for _, o := range m.Offerings {
			if o.CapacityType == model.Spot {
				all = append(all, priced{model.OfferingKey{InstanceType: m.Name, Zone: o.Zone, CapacityType: o.CapacityType}, o.Price})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b priced) int { return int(a.price - b.price) })
	keys := make([]model.OfferingKey, len(all))
	for i := range all {
		keys[i] = all[i].key
	}
	return keys
}

func marked(ledger model.Ledger, key model.OfferingKey) bool {
	return slices.ContainsFunc(ledger.UnavailableOfferings, func(m model.UnavailableOffering) bool { return m.OfferingKey == key })
}

func TestOfferingsWithoutCapacityAreUnavailableAndTheNextIsBoughtInTheSameRun(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "m6g.large", "c5.large"}})
	offerings := spotByPrice(t, w)
	for _, insufficient := range offerings[:3] {
		w.Fleet.SetCapacity(insufficient, 0)
	}
	pending(w, "web", 1, world.Shape(900, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	instances := w.Fleet.Instances()
	if outcome.Claims != 1 || len(instances) != 1 {
		t.Fatalf("%+v", outcome)
	}
	if got := (model.OfferingKey{InstanceType: instances[0].Type, Zone: instances[0].Zone, CapacityType: instances[0].CapacityType}); got != offerings[3] {
		t.Errorf("bought %v, want the fourth cheapest, %v", got, offerings[3])
	}
	for _, insufficient := range offerings[:3] {
		if !marked(load(t, w), insufficient) {
			t.Errorf("%v is not marked", insufficient)
		}
	}
	w.Tick(2 * time.Minute)
	if n := len(load(t, w).UnavailableOfferings); n != 3 {
		t.Errorf("after two minutes %d marks are left, want 3", n)
	}
	w.Tick(time.Minute + time.Second)
	for _, unavailable := range load(t, w).UnavailableOfferings {
		if !unavailable.HalfOpen(w.Clock.Now().Unix()) {
			t.Errorf("after three minutes %+v may not be probed", unavailable)
		}
	}
	w.Tick(time.Hour + time.Second)
	if n := len(load(t, w).UnavailableOfferings); n != 0 {
		t.Errorf("an hour later %d marks are left, want none", n)
	}
}

// Every pool of capacity the first request named is dry: the second round of the same run finds what the first could not
// ask for, because one request buys one capacity type.
func TestRunPlansAgainWhereNothingOfARequestHasCapacity(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "c5.large"}})
	for _, spot := range spotByPrice(t, w) {
		w.Fleet.SetCapacity(spot, 0)
	}
	pending(w, "web", 2, world.Shape(900, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Rounds != 2 || outcome.Claims == 0 || outcome.Failed == 0 {
		t.Fatalf("%+v", outcome)
	}
	for _, instance := range w.Fleet.Instances() {
		if instance.CapacityType != model.OnDemand {
			t.Errorf("machine %s is %s", instance.ID, instance.CapacityType)
		}
	}
	settle(t, w)
	sound(t, w)
}

func TestMarkedOfferingIsNotAskedForAgainUntilItsTime(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	for _, capacityType := range []string{model.Spot, model.OnDemand} {
		w.Fleet.Break(model.OfferingKey{CapacityType: capacityType}, "InsufficientInstanceCapacity")
	}
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	calls := w.Fleet.Calls()
	for range 5 {
		w.Tick(20 * time.Second)
		pass(t, w, provision.TriggerResync)
	}
	if got := w.Fleet.Calls(); got != calls || calls > 2 {
		t.Errorf("%d calls in the first run and %d more while every offer is marked, want at most 2 and none", calls, got-calls)
	}
	events := w.Cluster.Events("Pod", "web-0")
	if !slices.ContainsFunc(events, func(e model.Event) bool { return e.Reason == "FailedScheduling" && e.Warning }) {
		t.Errorf("the pod is told %+v", events)
	}
	w.Fleet.Break(model.OfferingKey{CapacityType: model.Spot}, "")
	w.Fleet.Break(model.OfferingKey{CapacityType: model.OnDemand}, "")
	w.Tick(2 * time.Minute)
	settle(t, w)
	sound(t, w)
}

func TestPartOfAFleetIsKeptAndTheRestPlannedAgain(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	zones := []string{"us-west-2a", "us-west-2b", "us-west-2c"}
	for _, zone := range zones {
		w.Fleet.SetCapacity(model.OfferingKey{InstanceType: "m5.large", Zone: zone, CapacityType: model.Spot}, 1)
	}
	pending(w, "web", 5, world.Shape(1500, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	spot := 0
	for _, instance := range w.Fleet.Instances() {
		if instance.CapacityType == model.Spot {
			spot++
		}
	}
	if outcome.Claims != 5 || spot != 3 || outcome.Rounds != 2 || outcome.Failed != 2 {
		t.Fatalf("%d spot machines, %+v", spot, outcome)
	}
	settle(t, w)
	sound(t, w)
}

func TestThrottledLaunchMakesNothingUnavailableAndIsRetriedByResync(t *testing.T) {
	w := start(t, world.Options{})
	w.Fleet.RefuseNext(fault.New(fault.Throttled, "RequestLimitExceeded", "request limit exceeded"))
	pending(w, "web", 2, world.Shape(900, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	ledger := load(t, w)
	if outcome.Claims != 0 || outcome.Rounds != 1 || len(ledger.UnavailableOfferings) != 0 || len(ledger.Intents) != 0 || w.Fleet.Calls() != 1 {
		t.Fatalf("%+v\nmarks %v, %d calls", outcome, ledger.UnavailableOfferings, w.Fleet.Calls())
	}
	settle(t, w)
	sound(t, w)
}

// A code of throttling among the errors of an answer is no matter of the class either.
func TestThrottledPoolsOfAFleetBlameNobody(t *testing.T) {
	w := start(t, world.Options{})
	w.Fleet.Break(model.OfferingKey{}, "RequestLimitExceeded")
	pending(w, "web", 1, world.Shape(900, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Rounds != 1 || len(load(t, w).UnavailableOfferings) != 0 || len(w.Cluster.Events("EC2NodeClass", "default")) != 0 {
		t.Fatalf("%+v, class events %v", outcome, w.Cluster.Events("EC2NodeClass", "default"))
	}
	w.Fleet.Break(model.OfferingKey{}, "")
	settle(t, w)
	sound(t, w)
}

func TestAccountLimitOfSpotLeavesOnDemand(t *testing.T) {
	w := start(t, world.Options{})
	w.Fleet.RefuseNext(fault.New(fault.NoCapacity, "MaxSpotInstanceCountExceeded", "max spot instance count exceeded"))
	pending(w, "web", 1, world.Shape(900, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	instances := w.Fleet.Instances()
	if outcome.Rounds != 2 || len(instances) != 1 || instances[0].CapacityType != model.OnDemand {
		t.Fatalf("%+v, machines %+v", outcome, instances)
	}
	if unavailableOfferings := load(t, w).UnavailableOfferings; len(unavailableOfferings) != 1 || unavailableOfferings[0].OfferingKey != (model.OfferingKey{CapacityType: model.Spot}) {
		t.Errorf("marks %+v, want all of spot", unavailableOfferings)
	}
}

func TestSpotThatMayNotBeUsedIsNoMatterOfTheClass(t *testing.T) {
	w := start(t, world.Options{})
	w.Fleet.RefuseNext(fault.New(fault.Denied, "AuthFailure.ServiceLinkedRoleCreationNotPermitted", "no service-linked role"))
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	if instances := w.Fleet.Instances(); len(instances) != 1 || instances[0].CapacityType != model.OnDemand {
		t.Fatalf("machines %+v", instances)
	}
}

func TestIC02SubnetWithoutAddressesIsMarkedAndNotItsTypes(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Fleet.Break(model.OfferingKey{Zone: "us-west-2a"}, "InsufficientFreeAddressesInSubnet")
	w.Fleet.Break(model.OfferingKey{Zone: "us-west-2b"}, "InsufficientFreeAddressesInSubnet")
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	instances := w.Fleet.Instances()
	if len(instances) != 1 || instances[0].Zone != "us-west-2c" {
		t.Fatalf("machines %+v", instances)
	}
	for _, unavailable := range load(t, w).UnavailableOfferings {
		if unavailable.SubnetID == "" || unavailable.InstanceType != "" {
			t.Errorf("mark %+v, want a subnet's", unavailable)
		}
	}
}

// A57: whether the token of what was refused for its template is used up is read in two ways. Where it is the run plans once more; the class
// is blamed for nothing.
func TestLA10_A57_DeletedLaunchTemplateIsMadeAgain(t *testing.T) {
	for _, c := range []struct {
		reads         *reading.Set
		rounds, calls int
	}{
		{reading.Other(reading.TokenRefused), 1, 2}, {reading.Strict(reading.TokenRefused), 2, 3},
	} {
		w := start(t, world.Options{Fleet: world.FleetOptions{Readings: c.reads}})
		w.Fleet.ForgetBeforeNext()
		pending(w, "web", 1, world.Shape(900, gib))
		outcome := pass(t, w, provision.TriggerBatch)
		if outcome.Claims != 1 || outcome.Rounds != c.rounds || w.Fleet.Calls() != c.calls || len(w.Cluster.Events("EC2NodeClass", "default")) != 0 {
			t.Fatalf("%q: %+v, %d calls", c.reads, outcome, w.Fleet.Calls())
		}
		settle(t, w)
		sound(t, w)
	}
}

func TestMoreInstancesThanAskedForAreToldOf(t *testing.T) {
	w := start(t, world.Options{})
	w.Fleet.GiveMore(1)
	pending(w, "web", 1, world.Shape(900, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Claims != 1 || !strings.Contains(strings.Join(outcome.Problems, "\n"), "2 instances for 1 claims") {
		t.Errorf("%+v", outcome)
	}
}

// A run that is nearly over does not begin another round: what it launches then would be nobody's.
func TestNoFurtherRoundBeginsWithoutTimeForIt(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Fleet.Break(model.OfferingKey{CapacityType: model.Spot}, "InsufficientInstanceCapacity")
	pending(w, "web", 1, world.Shape(900, gib))
	flow := w.Process(world.Fault{}).Flow()
	outcome, err := flow.Run(t.Context(), provision.Request{
		Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: "late", Deadline: w.Clock.Now().Add(2 * time.Second),
	})
	if err != nil || outcome.Rounds != 1 || outcome.Claims != 0 {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 1 {
		t.Errorf("the next run: %+v", outcome)
	}
}

// A process that slept through its lease must not call EC2 any more: another may be at work on the same launch.
func TestNothingIsLaunchedAfterTheLease(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "web", 1, world.Shape(900, gib))
	flow := w.Process(world.Fault{}).Flow()
	flow.Effects = onEffect{provision.EffectRecord, new(sync.Once), func() { w.Clock.Advance(time.Minute) }}
	outcome, err := flow.Run(t.Context(), provision.Request{
		Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: "sleeper", Deadline: w.Clock.Now().Add(world.InvocationTimeout),
	})
	if err != nil || w.Fleet.Calls() != 0 || len(load(t, w).Intents) != 1 {
		t.Fatalf("%+v, %v, %d calls", outcome, err, w.Fleet.Calls())
	}
	settle(t, w)
	sound(t, w)
}
