package provision_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// running returns how many instances of a world run now and what they cost per hour.
func running(t *testing.T, w *world.World) (n int, price model.MicroUSD) {
	t.Helper()
	catalog, err := w.Catalog.InstanceTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	prices := map[model.OfferingKey]model.MicroUSD{}
	for _, m := range catalog.Types {
		for _, o := range m.Offerings {
			prices[model.OfferingKey{InstanceType: m.Name, Zone: o.Zone, CapacityType: o.CapacityType}] = o.Price
		}
	}
	for _, m := range w.Fleet.Instances() {
		if !m.Terminated {
			n++
			price += prices[model.OfferingKey{InstanceType: m.Type, Zone: m.Zone, CapacityType: m.CapacityType}]
		}
	}
	return n, price
}

// M26: limit of ten nodes or of a dollar an hour, eight planners at once, fifty instances wanted, processes killed at
// random: the limit is not passed at any instant and reached exactly.
func TestR14LimitOfTenInstancesIsNeverPassedAndReachedExactly(t *testing.T) {
	const onDemand = model.MicroUSD(96_000) // m5.large
	for name, limits := range map[string]struct {
		limits model.Resources
		most   int
	}{
		"ten nodes":           {model.Resources{model.Nodes: 10}, 10},
		"a dollar an hour":    {model.Resources{model.Dollars: 1_000_000}, 10},
		"exactly ten dollars": {model.Resources{model.Dollars: 10 * int64(onDemand)}, 10},
		"less than ten":       {model.Resources{model.Dollars: 10*int64(onDemand) - 1}, 9},
	} {
		for seed := range uint64(4) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := start(t, world.Options{Types: []string{"m5.large"}})
				pool := world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand))
				pool.Limits = limits.limits
				w.Cluster.AddPool(pool)
				pending(w, "web", 50, world.Shape(1500, gib))
				random := rand.New(rand.NewPCG(seed, 14))
				check := func() {
					n, price := running(t, w)
					usd, limited := limits.limits[model.Dollars]
					if n > limits.most || limited && int64(price) > usd {
						t.Fatalf("%d machines cost %d micro-USD an hour", n, price)
					}
					if held, _ := w.Ledger.Held("default"); held[model.Nodes] > int64(limits.most) {
						t.Fatalf("%d nodes held", held[model.Nodes])
					}
				}
				for range 6 {
					var group sync.WaitGroup
					for range 8 {
						f := world.Fault{At: 1 + random.IntN(16), Mode: world.Modes[random.IntN(len(world.Modes))]}
						group.Go(func() { _, _ = w.Process(f).Run(t.Context(), provision.TriggerBatch) })
					}
					group.Wait()
					check()
					for range 12 {
						w.Tick(5 * time.Second)
						check()
					}
				}
				for range 4 {
					pass(t, w, provision.TriggerResync)
					w.Tick(time.Minute)
					check()
				}
				if n, _ := running(t, w); n != limits.most {
					t.Errorf("%d machines run in the end, want %d", n, limits.most)
				}
				sound(t, w)
			})
		}
	}
}

// S6: the count of a limit goes down within one pass as well.
func TestS6NodeLimitOfThreeWithFivePodsThatNeedANodeEach(t *testing.T) {
	for _, batches := range []int{1, 3} {
		w := start(t, world.Options{Types: []string{"m5.large"}})
		pool := world.Pool("default", "default")
		pool.Limits = model.Resources{model.Nodes: 3}
		w.Cluster.AddPool(pool)
		for range batches {
			w.Cluster.AddPods("b", 0, world.Shape(1500, gib))
		}
		pending(w, "web", 5, world.Shape(1500, gib))
		for range batches {
			pass(t, w, provision.TriggerBatch)
		}
		if n, _ := running(t, w); n != 3 {
			t.Errorf("%d batches: %d machines, want 3", batches, n)
		}
	}
}

// What a claim holds in dollars comes down to what its instance costs, and comes back whole where there is none.
func TestDollarsAreSettledAndRefundedOnce(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "m5.4xlarge"}})
	pool := world.Pool("default", "default")
	pool.Limits = model.Resources{model.Dollars: 5_000_000}
	w.Cluster.AddPool(pool)
	w.Fleet.RefuseNext(fault.New(fault.Throttled, "RequestLimitExceeded", "slow down"))
	pending(w, "web", 2, world.Shape(1500, gib))
	pass(t, w, provision.TriggerBatch)
	if held, _ := w.Ledger.Held("default"); len(held) != 0 {
		t.Fatalf("after a launch that failed %v is held", held)
	}
	w.Tick(time.Minute)
	pass(t, w, provision.TriggerResync)
	held, _ := w.Ledger.Held("default")
	if n, price := running(t, w); n == 0 || held[model.Dollars] != int64(price) {
		t.Errorf("%d machines cost %d, %d held", n, price, held[model.Dollars])
	}
	if status := w.Cluster.PoolStatus("default"); status.Resources[model.Dollars] != held[model.Dollars] {
		t.Errorf("the pool shows %v", status.Resources)
	}
	sound(t, w)
}

// Instances that are in the ledger count whoever launched them, above the limit too.
func TestInstancesAboveTheLimitLetNoMoreIn(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 3, world.Shape(1500, gib))
	pass(t, w, provision.TriggerBatch)
	pool := world.Pool("default", "default")
	pool.Limits = model.Resources{model.Nodes: 2}
	w.Cluster.AddPool(pool)
	pending(w, "more", 3, world.Shape(1500, gib))
	pass(t, w, provision.TriggerBatch)
	if n, _ := running(t, w); n != 3 {
		t.Errorf("%d machines run, want the three there were", n)
	}
}
