package provision_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// mixed is a world with two pools and pods that need at least three launches: two architectures and a GPU. One offering is
// dry, so that a launch leaves an error and a mark.
func mixed(t *testing.T) *world.World {
	w := start(t, world.Options{Visibility: 3 * time.Second, Types: []string{"m6g.large", "m5.large", "g4dn.xlarge"}})
	pool := world.Pool("heavy", "default")
	pool.Weight = 10
	pool.Template.Taints = []model.Taint{{Key: "heavy", Effect: model.NoSchedule}}
	pool.Template.StartupTaints = nil
	pool.Limits = model.Resources{model.Nodes: 20}
	w.Cluster.AddPool(pool)
	arm := world.Shape(900, 2*gib)
	arm.NodeSelector = map[string]string{model.LabelArch: "arm64"}
	heavy := world.Shape(1500, 2*gib)
	heavy.Tolerations = []model.Toleration{{Key: "heavy", Operator: "Exists"}}
	heavy.NodeSelector = map[string]string{model.LabelArch: "amd64", model.LabelNodePool: "heavy"}
	gpu := world.Shape(500, gib)
	gpu.Requests["nvidia.com/gpu"] = 1
	w.Cluster.AddPods("arm", 3, arm)
	w.Cluster.AddPods("gpu", 1, gpu)
	pending(w, "heavy", 2, heavy)
	cheapest := model.OfferingKey{InstanceType: "m6g.large", Zone: "us-west-2a", CapacityType: model.Spot}
	for _, zone := range []string{"us-west-2a", "us-west-2b", "us-west-2c"} {
		cheapest.Zone = zone
		w.Fleet.SetCapacity(cheapest, 0)
	}
	return w
}

// untilDone runs the flow until the pods of mixed run, the first process with the fault. It returns that process.
func untilDone(t *testing.T, w *world.World, f world.Fault) *world.Process {
	t.Helper()
	first := w.Process(f)
	_, _ = first.Run(t.Context(), provision.TriggerBatch) // its error is what the fault made it
	settle(t, w)
	return first
}

// TestEveryEffectMayGoWrong lets each effect of the first run go wrong in every way, once, and expects the very same end:
// instances = claims = what a run without faults launches, and every pod bound.
func TestEveryEffectMayGoWrong(t *testing.T) {
	calm := mixed(t)
	effects := untilDone(t, calm, world.Fault{}).Effects()
	sound(t, calm)
	want := len(calm.Fleet.Instances())
	if want < 3 || len(effects) < 12 {
		t.Fatalf("the calm run launches %d machines with the effects %v; too few to show anything", want, effects)
	}
	seen := map[string]bool{}
	for i, effect := range effects {
		seen[effect] = true
		for _, mode := range world.Modes {
			t.Run(fmt.Sprintf("%02d %s %s", i+1, effect, mode), func(t *testing.T) {
				t.Parallel()
				w := mixed(t)
				untilDone(t, w, world.Fault{At: i + 1, Mode: mode})
				sound(t, w)
				if got := len(w.Fleet.Instances()); got != want {
					t.Errorf("%d machines were launched, want %d\n%s", got, want, claimsText(t, w))
				}
			})
		}
	}
	for _, effect := range []string{"acquire", "spend", "remember", "template", "record", "launch", "mark", "settle", "show", "advance", "decision", "tell", "release"} {
		if !seen[effect] {
			t.Errorf("the run never came to %q: %v", effect, effects)
		}
	}
}

// TestEveryEffectOfARegistrationMayGoWrong does the same to the run that registers and initializes the nodes.
func TestEveryEffectOfARegistrationMayGoWrong(t *testing.T) {
	joined := func(t *testing.T) *world.World {
		w := mixed(t)
		pass(t, w, provision.TriggerBatch)
		w.Tick(40 * time.Second)
		return w
	}
	calm := joined(t)
	effects := untilDone(t, calm, world.Fault{}).Effects()
	want := len(calm.Fleet.Instances())
	registered := 0
	for i, effect := range effects {
		if effect == "node" {
			registered++
		}
		for _, mode := range world.Modes {
			t.Run(fmt.Sprintf("%02d %s %s", i+1, effect, mode), func(t *testing.T) {
				t.Parallel()
				w := joined(t)
				untilDone(t, w, world.Fault{At: i + 1, Mode: mode})
				sound(t, w)
				if got := len(w.Fleet.Instances()); got != want {
					t.Errorf("%d machines were launched, want %d", got, want)
				}
			})
		}
	}
	if registered != want {
		t.Errorf("%d nodes were patched in the calm run, want %d: %v", registered, want, effects)
	}
}

// TestEveryEffectOfAProbeMayGoWrong does the same to the run that probes offerings which were dry, with and without success.
func TestEveryEffectOfAProbeMayGoWrong(t *testing.T) {
	for name, back := range map[string]bool{"capacity is back": true, "still dry": false} {
		lapsed := func(t *testing.T) *world.World {
			w := start(t, world.Options{Types: []string{"m5.large"}, Visibility: 3 * time.Second})
			w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity")
			pending(w, "web", 2, world.Shape(1500, gib))
			pass(t, w, provision.TriggerBatch)
			w.Tick(4 * time.Minute)
			if back {
				w.Fleet.Break(model.OfferingKey{}, "")
			}
			return w
		}
		calm := lapsed(t)
		process := calm.Process(world.Fault{})
		if _, err := process.Run(t.Context(), provision.TriggerResync); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, effect := range process.Effects() {
			seen[effect] = true
			for _, mode := range world.Modes {
				t.Run(fmt.Sprintf("%s, %02d %s %s", name, i+1, effect, mode), func(t *testing.T) {
					t.Parallel()
					w := lapsed(t)
					_, _ = w.Process(world.Fault{At: i + 1, Mode: mode}).Run(t.Context(), provision.TriggerResync)
					if !back {
						w.Fleet.Break(model.OfferingKey{}, "")
						w.Tick(10 * time.Minute)
					}
					settle(t, w)
					sound(t, w)
					if got := len(w.Fleet.Instances()); got != 2 {
						t.Errorf("%d machines were launched, want 2", got)
					}
				})
			}
		}
		if !seen["probe"] || !seen["spend"] || seen["clear"] != back {
			t.Errorf("%s: effects %v", name, process.Effects())
		}
	}
}

func TestTwoRunsAtOnceLaunchOnce(t *testing.T) {
	calm := mixed(t)
	pass(t, calm, provision.TriggerBatch)
	want := len(calm.Fleet.Instances())

	w := mixed(t)
	var group sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		group.Go(func() { _, errs[i] = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch) })
	}
	group.Wait()
	for i, err := range errs {
		if err != nil && !fault.Is(err, fault.Conflict) {
			t.Errorf("run %d: %v", i, err)
		}
	}
	if got := len(w.Fleet.Instances()); got != want {
		t.Errorf("%d machines were launched, want %d", got, want)
	}
	settle(t, w)
	sound(t, w)
}

// TestRunThatLostItsLeaseWritesNothing lets the same invocation be delivered twice: the second takes the lease over in the middle
// of the first.
func TestRunThatLostItsLeaseWritesNothing(t *testing.T) {
	w := mixed(t)
	first := w.Process(world.Fault{})
	flow := first.Flow()
	request := provision.Request{Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: "one", Deadline: w.Clock.Now().Add(world.InvocationTimeout)}
	var second provision.Outcome
	flow.Effects = onEffect{provision.EffectRecord, new(sync.Once), func() {
		var err error
		if second, err = w.Process(world.Fault{}).Flow().Run(t.Context(), request); err != nil {
			t.Errorf("the second delivery: %v", err)
		}
	}}
	if _, err := flow.Run(t.Context(), request); !fault.Is(err, fault.Conflict) {
		t.Errorf("the first delivery got %v, want Conflict", err)
	}
	if got := len(w.Fleet.Instances()); got != second.Claims {
		t.Errorf("%d machines were launched, the second delivery recorded %d", got, second.Claims)
	}
	settle(t, w)
	sound(t, w)
}

// onEffect is an Effects that calls do before the first effect of a name.
type onEffect struct {
	name string
	do   *sync.Once
	what func()
}

func (o onEffect) Before(_ context.Context, effect string) error {
	if effect == o.name {
		o.do.Do(o.what)
	}
	return nil
}

func (o onEffect) After(context.Context, string) {}

// Calls side by side come to the same end as one after the other, and recover side by side too.
func TestLaunchesSideBySideComeToTheSameEnd(t *testing.T) {
	calm := mixed(t)
	untilDone(t, calm, world.Fault{})
	want := len(calm.Fleet.Instances())
	for _, mode := range []world.Mode{"", world.DiesBefore, world.DiesAfter} {
		w := mixed(t)
		parallel := func(f world.Fault) {
			flow := w.Process(f).Flow()
			flow.Settings.Parallel = 8
			_, _ = flow.Run(t.Context(), provision.Request{
				Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: string(mode) + w.Clock.Now().String(), Deadline: w.Clock.Now().Add(world.InvocationTimeout),
			})
		}
		parallel(world.Fault{At: 1, Effect: "launch", Mode: mode})
		w.Tick(due)
		parallel(world.Fault{})
		settle(t, w)
		sound(t, w)
		if got := len(w.Fleet.Instances()); got != want {
			t.Errorf("%q: %d machines, want %d", mode, got, want)
		}
	}
}
