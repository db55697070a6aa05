package provision_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// oldSnapshot lists what was there some time ago.
type oldSnapshot struct {
	provision.Connector
	snapshot *model.Snapshot
}

func (o oldSnapshot) Connect(ctx context.Context, reg model.Registration) (provision.Clients, error) {
	site, err := o.Connector.Connect(ctx, reg)
	site.Cluster = listsOld{site.Cluster, o.snapshot}
	return site, err
}

type listsOld struct {
	provision.Cluster
	snapshot *model.Snapshot
}

func (l listsOld) List(context.Context) (*model.Snapshot, error) { return l.snapshot, nil }

// static is a world with a pool of n instances and no pods.
func static(t *testing.T, n int64) *world.World {
	t.Helper()
	w := start(t, world.Options{Types: []string{"m5.large", "c5.large"}})
	pool := world.Pool("fixed", "default")
	pool.Replicas = &n
	w.Cluster.AddPool(pool)
	return w
}

func TestStaticPoolIsFilledAndKept(t *testing.T) {
	w := static(t, 5)
	if outcome := pass(t, w, provision.TriggerConfig); outcome.Claims != 5 {
		t.Fatalf("%+v", outcome)
	}
	settle(t, w)
	sound(t, w)
	five := int64(7)
	pool := world.Pool("fixed", "default")
	pool.Replicas, pool.Limits = &five, model.Resources{model.Nodes: 6}
	w.Cluster.AddPool(pool)
	settle(t, w)
	if n, _ := running(t, w); n != 6 {
		t.Errorf("%d machines run, want 6 of 7 because of the limit", n)
	}
	sound(t, w)
}

// R4, S8: the process is killed at every effect of the fill, in every way; in the end there are as many as replicas, and
// never more at any time.
func TestR4S8StaticPoolKilledWhileItFillsEqualsReplicas(t *testing.T) {
	calm := static(t, 4)
	process := calm.Process(world.Fault{})
	if _, err := process.Run(t.Context(), provision.TriggerResync); err != nil {
		t.Fatal(err)
	}
	for i, effect := range process.Effects() {
		for _, mode := range world.Modes {
			t.Run(fmt.Sprintf("%02d %s %s", i+1, effect, mode), func(t *testing.T) {
				t.Parallel()
				w := static(t, 4)
				_, _ = w.Process(world.Fault{At: i + 1, Mode: mode}).Run(t.Context(), provision.TriggerResync)
				for range 30 {
					w.Tick(5 * time.Second)
					_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
					if n, _ := running(t, w); n > 4 {
						t.Fatalf("%d machines run", n)
					}
				}
				if n, _ := running(t, w); n != 4 {
					t.Errorf("%d machines run, want 4", n)
				}
				sound(t, w)
			})
		}
	}
}

// R5: two workers fill at once.
func TestR5StaticPoolFilledByTwoWorkersEqualsReplicas(t *testing.T) {
	w := static(t, 4)
	for range 3 {
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { _, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerConfig) })
		}
		group.Wait()
	}
	settle(t, w)
	if n, _ := running(t, w); n != 4 {
		t.Errorf("%d machines run, want 4", n)
	}
	sound(t, w)
}

// R24, S7: instances that never join. Their class is held longer and longer, one instance at a time is tried, an event says so
// once for each failure, and the limit holds all the time.
func TestR24S7BrokenBootstrapIsHeldAndTriedByOneInstance(t *testing.T) {
	w := world.New(world.Options{Types: []string{"m5.large"}, Boot: 1000 * time.Hour})
	w.Cluster.AddClass(world.Class("default"))
	pool := world.Pool("default", "default")
	pool.Limits = model.Resources{model.Nodes: 8}
	w.Cluster.AddPool(pool)
	pending(w, "web", 3, world.Shape(1500, gib))
	most := 0
	for minute := range 4 * 60 {
		w.Tick(time.Minute)
		if minute%5 == 0 { // pods come and go, a hundred times
			w.Cluster.DeletePod("default", fmt.Sprintf("churn-%d-0", minute-5))
			w.Cluster.AddPods(fmt.Sprintf("churn-%d", minute), 1, world.Shape(1500, gib))
			w.Tick(time.Second)
		}
		pass(t, w, provision.TriggerResync)
		if n, _ := running(t, w); n > most {
			most = n
		}
		if held, _ := w.Ledger.Held("default"); held[model.Nodes] > 8 {
			t.Fatalf("%d nodes held", held[model.Nodes])
		}
		if minute == 59 {
			if n, _ := running(t, w); n > 7 { // three or four at first, then one by one
				t.Errorf("%d machines in the first hour", n)
			}
		}
	}
	suspensions := load(t, w).Notes.ClassSuspensions
	if len(suspensions) != 1 || suspensions[0].Failures < 3 || most > 8 {
		t.Errorf("holds %+v, %d machines", suspensions, most)
	}
	if reported := w.Cluster.Events("EC2NodeClass", "default"); len(reported) != suspensions[0].Failures {
		t.Errorf("told %d times of %d failures: %+v", len(reported), suspensions[0].Failures, reported)
	}
}

// C11: thousands of pods that waited for hours come up like a ramp: a pool's launches at most double from one minute to the
// next.
func TestLaunchesRampUpAfterAnOutage(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 200, world.Shape(1500, gib))
	var starts []int
	for range 8 {
		before := len(w.Fleet.Instances())
		for range 6 {
			flow := w.Process(world.Fault{}).Flow()
			flow.Settings.LaunchFloor = 5
			if _, err := flow.Run(t.Context(), provision.Request{
				Cluster: world.Name, Trigger: provision.TriggerResync, Owner: w.Clock.Now().String(), Deadline: w.Clock.Now().Add(world.InvocationTimeout),
			}); err != nil {
				t.Fatal(err)
			}
			w.Tick(10 * time.Second)
		}
		starts = append(starts, len(w.Fleet.Instances())-before)
	}
	total := 0
	for i, n := range starts {
		total += n
		if i == 0 && n > 5 || i > 0 && n > max(5, 2*starts[i-1]) {
			t.Errorf("launches by the minute: %v", starts)
		}
	}
	if total != 200 {
		t.Errorf("%d of 200 launched: %v", total, starts)
	}
}

// Nothing that failed counts as a launch: a stock-out is no ramp-up.
func TestFailedLaunchesAreNoRunUp(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity")
	pending(w, "web", 50, world.Shape(1500, gib))
	pass(t, w, provision.TriggerBatch)
	for _, rate := range load(t, w).Notes.Paces {
		if rate.Starts != 0 {
			t.Errorf("%+v", rate)
		}
	}
}

// After the ledger was lost with everything in it, nothing is launched for pods whose instances are on their way, until those
// are in the ledger again.
func TestLostLedgerLaunchesNothingTwice(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 4, world.Shape(1500, gib))
	pass(t, w, provision.TriggerBatch)
	before := load(t, w).Claims
	w.Ledger = world.NewLedger(w.Clock.Now)
	if err := w.Ledger.Register(t.Context(), world.Registration()); err != nil {
		t.Fatal(err)
	}
	pending(w, "more", 1, world.Shape(1500, gib)) // fits none of those instances
	for range 17 {
		w.Tick(10 * time.Second)
		pass(t, w, provision.TriggerResync)
	}
	if n, _ := running(t, w); n != len(before) {
		t.Errorf("%d machines, want the %d there were", n, len(before))
	}
	// A ledger that stays empty does not stop pods for ever.
	for range 3 {
		w.Tick(10 * time.Second)
		pass(t, w, provision.TriggerResync)
	}
	if n, _ := running(t, w); n != len(before)+1 {
		t.Errorf("%d machines three minutes after the ledger was lost and nobody took them into it", n)
	}
}

// R68: whatever else is asked for has another token.
func TestR68TokenIsOfWhatIsAskedFor(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "c5.large"}})
	tokens := map[string]string{}
	for i := range 4 {
		pending(w, fmt.Sprintf("web-%d", i), 1+i, world.Shape(1500, gib))
		_, _ = w.Process(world.Fault{At: 1, Effect: "launch", Mode: world.DiesBefore}).Run(t.Context(), provision.TriggerBatch)
		for _, intent := range load(t, w).Intents {
			if request, seen := tokens[intent.Token]; seen && request != string(intent.Request) || len(intent.Token) > 64 {
				t.Errorf("token %s of two requests, or too long", intent.Token)
			}
			tokens[intent.Token] = string(intent.Request)
		}
		w.Tick(time.Minute)
	}
	if len(tokens) < 2 {
		t.Errorf("%d tokens", len(tokens))
	}
}
