package provision_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// someTypes have 108 offerings.
var someTypes = []string{
	"m5.large", "m5.xlarge", "m5.2xlarge", "c5.large", "c5.xlarge", "c5.2xlarge", "r5.large", "r5.xlarge", "r5.2xlarge",
	"m6g.large", "m6g.xlarge", "c6g.large", "c6g.xlarge", "r6g.large", "t3.large", "t3.xlarge", "g4dn.xlarge", "g4dn.2xlarge",
}

// R46, S22, A8: nothing available for an hour. Fewer than twenty launches a minute are tried, each offering less and less often,
// and the first probe after it finds the capacity.
func TestR46S22TotalStockOutIsProbedAndNotHammered(t *testing.T) {
	w := start(t, world.Options{Types: someTypes})
	w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity")
	pending(w, "web", 40, world.Shape(1500, gib))
	gpu := world.Shape(900, gib)
	gpu.Requests["nvidia.com/gpu"] = 1
	pending(w, "gpu", 3, gpu)
	total := 0
	for minute := range 60 {
		before := w.Fleet.Calls()
		for range 4 {
			w.Tick(15 * time.Second)
			pass(t, w, provision.TriggerResync)
		}
		calls := w.Fleet.Calls() - before
		total += calls
		if calls >= 20 {
			t.Errorf("%d calls in minute %d", calls, minute)
		}
	}
	if n := len(w.Fleet.Instances()); n != 0 || total == 0 {
		t.Fatalf("%d machines, %d calls", n, total)
	}
	w.Fleet.Break(model.OfferingKey{}, "")
	for minute := range 10 {
		w.Tick(time.Minute)
		pass(t, w, provision.TriggerResync)
		if len(w.Cluster.Waiting()) == 0 {
			t.Logf("%d calls in the hour without capacity; every pod ran %d minutes after it", total, minute)
			settle(t, w)
			sound(t, w)
			return
		}
	}
	t.Errorf("%d pods wait ten minutes after capacity came back", len(w.Cluster.Waiting()))
}

// R47, S23: the pool of weight 100 is dry; what can run in the one of weight 10 does so within a minute.
func TestR47S23FallbackPoolServesWithinAMinute(t *testing.T) {
	for name, types := range map[string][]string{"few offers": {"m5.large", "m6g.large"}, "many offers": someTypes} {
		t.Run(name, func(t *testing.T) {
			w := world.New(world.Options{Types: types})
			w.Cluster.AddClass(world.Class("default"))
			preferred := world.Pool("preferred", "default", world.Need(model.LabelArch, "amd64"))
			preferred.Weight = 100
			w.Cluster.AddPool(preferred)
			fallback := world.Pool("fallback", "default", world.Need(model.LabelArch, "arm64"))
			fallback.Weight = 10
			w.Cluster.AddPool(fallback)
			catalog, err := w.Catalog.InstanceTypes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range catalog.Types {
				if m.Arch == "amd64" {
					w.Fleet.Break(model.OfferingKey{InstanceType: m.Name}, "InsufficientInstanceCapacity")
				}
			}
			pending(w, "web", 20, world.Shape(1500, gib))
			pass(t, w, provision.TriggerBatch)
			for range 11 {
				w.Tick(5 * time.Second)
				pass(t, w, provision.TriggerResync)
			}
			if waiting := w.Cluster.Waiting(); len(waiting) != 0 {
				t.Errorf("after a minute %d pods wait, %d machines, %d calls", len(waiting), len(w.Fleet.Instances()), w.Fleet.Calls())
			}
		})
	}
}

// R48: what is written is what is read: every offering that failed is avoided until its time, whatever it is.
func TestR48WhatIsMarkedIsWhatIsAvoided(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "c5.large", "t3.large"}})
	w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity")
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	catalog, err := w.Catalog.InstanceTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	marked := map[model.OfferingKey]bool{}
	for _, unavailable := range load(t, w).UnavailableOfferings {
		marked[unavailable.OfferingKey] = true
	}
	for _, m := range catalog.Types {
		for _, o := range m.Offerings {
			if !marked[model.OfferingKey{InstanceType: m.Name, Zone: o.Zone, CapacityType: o.CapacityType}] {
				t.Errorf("%s in %s as %s is not marked", m.Name, o.Zone, o.CapacityType)
			}
		}
	}
	calls := w.Fleet.Calls()
	w.Fleet.Break(model.OfferingKey{}, "")
	w.Tick(time.Minute)
	if pass(t, w, provision.TriggerResync); w.Fleet.Calls() != calls {
		t.Error("a marked offer was asked for")
	}
}

// R49, S21: asking too often says nothing about capacity. Nobody calls for a while, and then all goes on.
func TestR49S21ThrottlingMakesNothingUnavailableAndStopsEverybodyForAWhile(t *testing.T) {
	w := start(t, world.Options{})
	other := world.Registration()
	other.Cluster = "other"
	if err := w.Ledger.Register(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.Fleet.RefuseNext(fault.New(fault.Throttled, "RequestLimitExceeded", "request limit exceeded"))
	pending(w, "web", 2, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	outcome, err := w.Process(world.Fault{}).Flow().Run(t.Context(), provision.Request{
		Cluster: "other", Trigger: provision.TriggerBatch, Owner: "other", Deadline: w.Clock.Now().Add(world.InvocationTimeout),
	})
	if err != nil || outcome.Claims != 0 || w.Fleet.Calls() != 1 {
		t.Fatalf("the other cluster: %+v %v, %d calls", outcome, err, w.Fleet.Calls())
	}
	if unavailableOfferings := load(t, w).UnavailableOfferings; len(unavailableOfferings) != 0 {
		t.Errorf("marks %+v", unavailableOfferings)
	}
	w.Tick(11 * time.Second)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims == 0 { // R64: nothing is lost
		t.Errorf("after the pause: %+v", outcome)
	}
	settle(t, w)
	sound(t, w)
}

// The pause doubles while EC2 goes on asking for less, up to a minute.
func TestThrottlingAgainDoublesThePause(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "web", 2, world.Shape(900, gib))
	var pauses []int64
	for range 5 {
		w.Fleet.RefuseNext(fault.New(fault.Throttled, "RequestLimitExceeded", "request limit exceeded"))
		calls := w.Fleet.Calls()
		for w.Fleet.Calls() == calls {
			w.Tick(time.Second)
			pass(t, w, provision.TriggerResync)
		}
		pauses = append(pauses, load(t, w).Allowance.ClosedUntilUnix-w.Clock.Now().Unix())
	}
	if fmt.Sprint(pauses) != "[10 20 40 60 60]" {
		t.Errorf("pauses of %v seconds", pauses)
	}
}

// R50: the zone goes on through its other subnet.
func TestR50SubnetWithoutAddressesDoesNotBarItsZone(t *testing.T) {
	TestIC02SubnetWithoutAddressesIsMarkedAndNotItsTypes(t)
}

// R51, S25, R58: an error that is not about capacity stops one class, which is reported at once; the others launch.
func TestR51S25RefusedRequestStopsOneClassOnly(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Cluster.AddClass(world.Class("good"))
	w.Cluster.AddPool(world.Pool("good", "good", world.Need("team", "b")))
	bad := world.Shape(900, gib)
	bad.NodeSelector = map[string]string{model.LabelNodePool: "default"}
	good := world.Shape(900, gib)
	good.NodeSelector = map[string]string{model.LabelNodePool: "good"}
	w.Cluster.AddPods("bad", 2, bad)
	pending(w, "good", 2, good)
	w.Fleet.RefuseNext(fault.New(fault.Invalid, "InvalidParameterValue", "the tags are malformed"))
	outcome := pass(t, w, provision.TriggerBatch)
	if n := len(w.Fleet.Instances()); n == 0 || outcome.Claims != n {
		t.Errorf("%d machines, %+v", n, outcome)
	}
	events := append(w.Cluster.Events("EC2NodeClass", "default"), w.Cluster.Events("EC2NodeClass", "good")...)
	if len(events) != 1 || events[0].Reason != "LaunchFailed" || !strings.Contains(events[0].Message, "malformed") {
		t.Errorf("classes are told %+v", events)
	}
}

// A7, S24: as long as pods can run elsewhere the back-off doubles from three minutes to an hour, and what gives capacity
// again is open at once for everybody.
func TestS24OfferingBacksOffDoublesAndIsProbedByOne(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "m5.xlarge"}})
	pool := world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand), world.Need(model.LabelZone, "us-west-2a"))
	w.Cluster.AddPool(pool)
	w.Fleet.Break(model.OfferingKey{InstanceType: "m5.large"}, "InsufficientInstanceCapacity")
	apart := world.Shape(900, gib)
	apart.Labels = map[string]string{"app": "web"}
	apart.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: &model.Selector{MatchLabels: apart.Labels}}}
	var waits []int64
	for i := range 7 {
		pending(w, fmt.Sprintf("web%d", i), 1, apart)
		pass(t, w, provision.TriggerBatch)
		unavailableOfferings := load(t, w).UnavailableOfferings
		if len(unavailableOfferings) != 1 || unavailableOfferings[0].InstanceType != "m5.large" || unavailableOfferings[0].Failures != i+1 {
			t.Fatalf("after %d failures: %+v", i+1, unavailableOfferings)
		}
		wait := unavailableOfferings[0].UntilUnix - w.Clock.Now().Unix()
		waits = append(waits, (wait+30)/60)
		w.Tick(time.Duration(wait) * time.Second)
	}
	for i, most := range []int64{3, 6, 12, 24, 48, 60, 60} {
		if waits[i] > most || i == 0 && waits[i] != most || waits[i] < most/2 {
			t.Errorf("left alone for %v minutes", waits)
		}
	}
	w.Fleet.Break(model.OfferingKey{InstanceType: "m5.large"}, "")
	pending(w, "last", 1, apart)
	if outcome := pass(t, w, provision.TriggerBatch); outcome.Claims != 1 || len(load(t, w).UnavailableOfferings) != 0 {
		t.Errorf("%+v, marks %+v", outcome, load(t, w).UnavailableOfferings)
	}
}

// C3, R46: where pods can run nowhere else, an offering is probed every two or three minutes however often it failed,
// so that the end of a stock-out is found out soon. So it is for nodes that a static pool lacks. A NodeClaim made by
// hand has its own pauses besides.
func TestOfferingThatIsWaitedForIsProbedEveryFewMinutes(t *testing.T) {
	one := int64(1)
	for name, c := range map[string]struct {
		replicas *int64
		pods     int
		byHand   bool
		most     time.Duration
	}{
		"pods":            {nil, 1, false, 3 * time.Minute},
		"nodes of a pool": {&one, 0, false, 3 * time.Minute},
		"made by hand":    {nil, 0, true, 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{Types: []string{"m5.large"}})
			pool := world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand),
				world.Need(model.LabelZone, "us-west-2a"))
			pool.Replicas = c.replicas
			w.Cluster.AddPool(pool)
			w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity")
			pending(w, "web", c.pods, world.Shape(900, gib))
			if c.byHand {
				w.Cluster.MakeClaim(model.Claim{Name: "mine", Class: "default", Requirements: pool.Template.Requirements})
			}
			for i := range 8 {
				calls, began := w.Fleet.Calls(), w.Clock.Now()
				for w.Fleet.Calls() == calls && w.Clock.Now().Sub(began) < time.Hour {
					w.Tick(10 * time.Second)
					pass(t, w, provision.TriggerResync)
				}
				took := w.Clock.Now().Sub(began).Round(time.Minute)
				if got := w.Fleet.Calls() - calls; got != 1 || i > 0 && (took < 2*time.Minute || took > c.most) {
					t.Errorf("%d calls after %s", got, took)
				}
			}
			w.Fleet.Break(model.OfferingKey{}, "")
			w.Tick(c.most + time.Minute)
			if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 1 || len(load(t, w).UnavailableOfferings) != 0 {
				t.Errorf("%+v, marks %+v", outcome, load(t, w).UnavailableOfferings)
			}
		})
	}
}

// D17: of two clusters one takes the probe; the other leaves the offering alone until it is known how that went.
func TestTwoClustersShareOneProbe(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pool := world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand), world.Need(model.LabelZone, "us-west-2a"))
	w.Cluster.AddPool(pool)
	other := world.Registration()
	other.Cluster = "other"
	if err := w.Ledger.Register(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity")
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	calls := w.Fleet.Calls()
	w.Tick(4 * time.Minute)
	// In the middle of the first cluster's probe the second comes along.
	flow := w.Process(world.Fault{}).Flow()
	flow.Effects = onEffect{provision.EffectLaunch, new(sync.Once), func() {
		outcome, err := w.Process(world.Fault{}).Flow().Run(t.Context(), provision.Request{
			Cluster: "other", Trigger: provision.TriggerBatch, Owner: "second", Deadline: w.Clock.Now().Add(world.InvocationTimeout),
		})
		if err != nil || outcome.Claims != 0 || w.Fleet.Calls() != calls {
			t.Errorf("the second cluster: %+v %v, %d calls", outcome, err, w.Fleet.Calls()-calls)
		}
	}}
	if _, err := flow.Run(t.Context(), provision.Request{
		Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: "first", Deadline: w.Clock.Now().Add(world.InvocationTimeout),
	}); err != nil || w.Fleet.Calls() != calls+1 {
		t.Errorf("the first cluster: %v, %d calls", err, w.Fleet.Calls()-calls)
	}
}

// A process that took a probe and died leaves the offering alone for a minute, not for ever.
func TestProbeOfADeadProcessLapses(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pool := world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand), world.Need(model.LabelZone, "us-west-2a"))
	w.Cluster.AddPool(pool)
	w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity")
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	w.Fleet.Break(model.OfferingKey{}, "")
	w.Tick(4 * time.Minute)
	_, _ = w.Process(world.Fault{At: 1, Effect: "probe", Mode: world.DiesAfter}).Run(t.Context(), provision.TriggerResync)
	settle(t, w)
	sound(t, w)
}

// An account's limit of vCPUs is that of a group of families and of one capacity type; it is looked at again slowly.
func TestAccountLimitMakesItsGroupUnavailableAndNoOther(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "c5.large", "g4dn.xlarge"}})
	pool := world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand))
	w.Cluster.AddPool(pool)
	w.Fleet.Break(model.OfferingKey{InstanceType: "m5.large"}, "VcpuLimitExceeded")
	w.Fleet.Break(model.OfferingKey{InstanceType: "c5.large"}, "VcpuLimitExceeded")
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	instances, unavailableOfferings := w.Fleet.Instances(), load(t, w).UnavailableOfferings
	if len(instances) != 1 || instances[0].Type != "g4dn.xlarge" {
		t.Errorf("machines %+v", instances)
	}
	if len(unavailableOfferings) != 1 || unavailableOfferings[0].Group != "standard" || unavailableOfferings[0].CapacityType != model.OnDemand || unavailableOfferings[0].UntilUnix-w.Clock.Now().Unix() < 600 {
		t.Errorf("marks %+v", unavailableOfferings)
	}
	if events := w.Cluster.Events("EC2NodeClass", "default"); len(events) != 1 || events[0].Reason != "AccountLimit" {
		t.Errorf("the class is told %+v", events)
	}
}

// emptyCluster connects to clusters that have no NodeClaims yet.
type emptyCluster struct{ provision.Connector }

func (c emptyCluster) Connect(ctx context.Context, reg model.Registration) (provision.Clients, error) {
	site, err := c.Connector.Connect(ctx, reg)
	site.Cluster = noClaims{site.Cluster}
	return site, err
}

type noClaims struct{ provision.Cluster }

func (c noClaims) List(ctx context.Context) (*model.Snapshot, error) {
	snapshot, err := c.Cluster.List(ctx)
	if err != nil {
		return nil, err
	}
	without := *snapshot
	without.Claims = nil
	return &without, nil
}

// D18: all clusters together stay under the rate, and everybody is served in the end.
func TestClustersShareOneRateOfCalls(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	names := []string{world.Name}
	for i := range 20 {
		reg := world.Registration()
		reg.Cluster = fmt.Sprintf("cluster-%d", i)
		if err := w.Ledger.Register(t.Context(), reg); err != nil {
			t.Fatal(err)
		}
		names = append(names, reg.Cluster)
	}
	pending(w, "web", 5, world.Shape(1500, gib))
	launched := map[string]int{}
	for second := range 30 {
		before := w.Fleet.Calls()
		for _, name := range names {
			flow := w.Process(world.Fault{}).Flow()
			flow.Connector = emptyCluster{flow.Connector}
			flow.Settings.ClaimsPerCall, flow.Settings.CallBurst, flow.Settings.CallsPerSecond = 1, 10, 2
			outcome, err := flow.Run(context.WithoutCancel(t.Context()), provision.Request{
				Cluster: name, Trigger: provision.TriggerResync, Owner: fmt.Sprint(name, second), Deadline: w.Clock.Now().Add(world.InvocationTimeout),
			})
			if err != nil {
				t.Fatal(err)
			}
			launched[name] += outcome.Claims
		}
		if calls, most := w.Fleet.Calls()-before, 2; second > 0 && calls > most || calls > 10 {
			t.Errorf("%d calls in second %d", calls, second)
		}
		w.Clock.Advance(time.Second)
	}
	if w.Fleet.Calls() < 60 {
		t.Errorf("%d calls in 30 seconds, %d could have been made", w.Fleet.Calls(), 10+29*2)
	}
}

// Scenario 7: each launch that meets a unavailable offering finds out about that one alone. Launches stay within the budget, no offering is
// tried twice within its time but by launches that were under way together at the beginning, and once there is capacity again every pod runs.
func TestScenario7RollingShortageOverAHundredOfferings(t *testing.T) {
	w := start(t, world.Options{Types: someTypes})
	w.Fleet.Short(world.Shortage{Code: "InsufficientInstanceCapacity", OneAtATime: true})
	pending(w, "web", 60, world.Shape(1500, gib))
	for minute := range 20 {
		before := w.Fleet.Calls()
		for range 4 {
			w.Tick(15 * time.Second)
			pass(t, w, provision.TriggerResync)
		}
		if calls := w.Fleet.Calls() - before; calls >= 20 || calls == 0 {
			t.Errorf("%d calls in minute %d", calls, minute)
		}
	}
	last := map[model.OfferingKey]time.Time{}
	for _, entry := range w.Log.Since(0) {
		call, is := entry.Fact.(world.FleetCalled)
		if !is {
			continue
		}
		for _, e := range call.Errors {
			if before, failed := last[e.Offering]; failed && entry.At.Sub(before) < 3*time.Minute && entry.At.Sub(world.Start) > 20*time.Second {
				t.Errorf("%v failed at %s and again at %s", e.Offering, before, entry.At)
			}
			last[e.Offering] = entry.At
		}
	}
	w.Fleet.Short(world.Shortage{})
	for range 10 {
		w.Tick(time.Minute)
		pass(t, w, provision.TriggerResync)
	}
	settle(t, w)
	sound(t, w)
}

// insufficientBut has EC2 run out, in a way that each launch finds out of one offering alone, of all of someTypes but one.
func insufficientBut(w *world.World, left string) {
	for _, name := range someTypes {
		if name != left {
			w.Fleet.Short(world.Shortage{Code: "InsufficientInstanceCapacity", Offering: model.OfferingKey{InstanceType: name}, OneAtATime: true})
		}
	}
}

// asksFor is a pod that can run on instances of that type alone.
func asksFor(name string) model.PodShape {
	shape := world.Shape(1500, gib)
	shape.NodeSelector = map[string]string{model.LabelInstanceType: name}
	return shape
}

// D8: one cluster asks for what is not available, in a pool and in its fallback, for ten minutes. Another, whose launches had no capacity
// now and then too, launches what there is at once, each time.
func TestD8ClusterInAStockOutKeepsNobodyElseFromLaunching(t *testing.T) {
	w := world.New(world.Options{Types: someTypes})
	insufficientBut(w, "m5.large")
	w.Cluster.AddClass(world.Class("default"))
	for i, name := range []string{"first", "fallback"} {
		pool := world.Pool(name, "default", world.Need("team", "a"), world.Need(model.LabelArch, []string{"amd64", "arm64"}[i]))
		pool.Weight = int32(100 - 90*i)
		w.Cluster.AddPool(pool)
	}
	lasting := world.Shape(1500, 7*gib)
	lasting.NodeSelector = map[string]string{"team": "a"}
	other := w.Attach("other")
	other.Cluster.AddClass(world.Class("default"))
	other.Cluster.AddPool(world.Pool("default", "default"))
	pending(w, "web", 60, lasting)
	waited := 0
	for i := range 40 {
		pass(t, w, provision.TriggerResync)
		if i%8 == 1 {
			pending(other, fmt.Sprint("lost-", i), 1, asksFor("c5.large"))
		}
		if i%4 == 3 {
			pending(other, fmt.Sprint("web-", i), 1, asksFor("m5.large"))
		}
		if out := pass(t, other, provision.TriggerResync); i%4 == 3 && out.Claims != 1 {
			waited++
			t.Errorf("sweep %d: %d claims, problems %v", i, out.Claims, out.Problems)
		}
		w.Tick(15 * time.Second)
	}
	if a := load(t, w).Allowance; a.InsufficientMilli > 6*1000 || waited > 0 {
		t.Errorf("%d launches waited; the third bucket has %d left", waited, a.InsufficientMilli)
	}
}

// R46 of a region: twelve clusters want what is not available, and each launch finds out about one offering alone. Each has a few launches of
// its own that may had no capacity, and what is more all of them share.
func TestR46StockOutIsProbedAndNotHammeredByManyClusters(t *testing.T) {
	w := start(t, world.Options{Types: someTypes})
	insufficientBut(w, "")
	all := []*world.World{w}
	for i := range 11 {
		other := w.Attach(fmt.Sprintf("other-%02d", i))
		other.Cluster.AddClass(world.Class("default"))
		other.Cluster.AddPool(world.Pool("default", "default"))
		all = append(all, other)
	}
	for _, w := range all {
		w.Cluster.AddPods("web", 20, world.Shape(1500, gib))
	}
	for minute := range 6 {
		before := w.Fleet.Calls()
		for range 4 {
			w.Tick(15 * time.Second)
			for _, w := range all {
				pass(t, w, provision.TriggerResync)
			}
		}
		most := 10 + 8 + 2*len(all) // the bucket, what comes back to it in a minute, and what each cluster forgets in one
		if minute == 0 {
			most += 8 * len(all)
		}
		if calls := w.Fleet.Calls() - before; calls > most {
			t.Errorf("%d calls in minute %d, at most %d", calls, minute, most)
		}
	}
	if n := w.Fleet.Calls(); n <= len(someTypes)*6 {
		t.Errorf("%d calls in all: no offer was tried twice", n)
	}
}
