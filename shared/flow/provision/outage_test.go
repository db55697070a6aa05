package provision_test

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// C11: EC2 is down for three hours while pods pile up. Nothing that runs is touched, and afterwards a pool's launches at most
// double from one minute to the next, also those an invocation recorded and did not come to make.
func TestC11LaunchesRampUpAfterThreeHoursWithoutEC2(t *testing.T) {
	for name, down := range map[string]time.Duration{"three hours": 3 * time.Hour, "ten minutes": 10 * time.Minute, "ten minutes, of launches": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{Types: []string{"m5.large"}})
			pending(w, "old", 1, world.Shape(1500, gib))
			pass(t, w, provision.TriggerBatch)
			settle(t, w)
			old := onlyClaim(t, w)
			const floor = 5
			pass := func() {
				flow := w.Process(world.Fault{}).Flow()
				flow.Settings.LaunchFloor = floor
				_, _ = flow.Run(t.Context(), provision.Request{
					Cluster: world.Name, Trigger: provision.TriggerResync, Owner: w.Clock.Now().String(), Deadline: w.Clock.Now().Add(world.InvocationTimeout),
				})
			}
			if name != "ten minutes, of launches" {
				w.Fleet.Unreachable(w.Clock.Now().Add(down))
			} else { // what was to be launched is recorded, again and again
				for range 10_000 {
					w.Fleet.RefuseNext(fault.New(fault.Internal, "", "i/o timeout"))
				}
			}
			pending(w, "web", 100, world.Shape(1500, gib))
			for passed := time.Duration(0); passed < down; passed += 20 * time.Second {
				pass()
				w.Tick(20 * time.Second)
			}
			if n := len(w.Fleet.Instances()); n != 1 || load(t, w).Claims[0].Name == "" {
				t.Fatalf("%d machines during the outage", n)
			}
			for _, claim := range load(t, w).Claims {
				if claim.Name == old.Name && claim.State != model.Initialized {
					t.Errorf("claim %s became %s", claim.Name, claim.State)
				}
			}
			w.Fleet.Heal()
			var starts []int
			for range 12 {
				before := len(w.Fleet.Instances())
				minute := w.Clock.Now().Unix() / 60
				for w.Clock.Now().Unix()/60 == minute {
					pass()
					w.Tick(10 * time.Second)
				}
				starts = append(starts, len(w.Fleet.Instances())-before)
			}
			total := 0
			for i, n := range starts {
				total += n
				if i == 0 && n > floor || i > 0 && n > max(floor, 2*starts[i-1]) {
					t.Errorf("launches by the minute: %v", starts)
					break
				}
			}
			if total != 100 {
				t.Errorf("%d of 100 launched: %v", total, starts)
			}
		})
	}
}

// F101: whatever a launch meets, after five minutes its pods have an instance, are planned for anew, or somebody has learned why
// they wait; and in the end they run.
func TestF101NothingWaitsForALaunchWithoutAReason(t *testing.T) {
	none := world.Fault{}
	cases := map[string]struct {
		trouble  func(w *world.World)
		reported [3]string // kind, name and reason of an event that says why
		fault    world.Fault
	}{
		"refused":         {func(w *world.World) { w.Fleet.RefuseNext(fault.New(fault.Denied, "UnauthorizedOperation", "no")) }, [3]string{"EC2NodeClass", "default", "LaunchFailed"}, none},
		"no capacity":     {func(w *world.World) { w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity") }, [3]string{"Pod", "web-0", "FailedScheduling"}, none},
		"throttled":       {func(w *world.World) { w.Fleet.RefuseNext(fault.New(fault.Throttled, "RequestLimitExceeded", "slow")) }, [3]string{}, none},
		"answer lost":     {func(w *world.World) { w.Fleet.LoseNextReply() }, [3]string{}, none},
		"EC2 unreachable": {func(w *world.World) { w.Fleet.Unreachable(w.Clock.Now().Add(8 * time.Minute)) }, [3]string{"Pod", "web-0", "FailedScheduling"}, none},
		"outcome unknown": {func(*world.World) {}, [3]string{"NodePool", "default", "LaunchOutcomeUnknown"}, world.Fault{At: 1, Effect: "launch", Mode: world.Fails}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{Types: []string{"m5.large"}})
			pass(t, w, provision.TriggerConfig)
			pending(w, "web", 1, world.Shape(1500, gib))
			test.trouble(w)
			began := w.Clock.Now()
			for w.Clock.Now().Sub(began) < 5*time.Minute {
				_, _ = w.Process(test.fault).Run(t.Context(), provision.TriggerResync)
				w.Tick(20 * time.Second)
			}
			reported := test.reported[0] != "" && len(w.Cluster.Events(test.reported[0], test.reported[1])) > 0
			if test.reported[2] != "" && w.Cluster.EventCount(test.reported[0], test.reported[1], test.reported[2]) == 0 {
				t.Errorf("nobody is told %s: %+v", test.reported[2], w.Cluster.Events(test.reported[0], test.reported[1]))
			}
			for _, claim := range load(t, w).Claims {
				if claim.State == model.Intended && w.Clock.Now().Unix()-claim.CreatedUnix >= 300 && !reported {
					t.Errorf("claim %s has waited for its launch for %d s, and nobody is told", claim.Name, w.Clock.Now().Unix()-claim.CreatedUnix)
				}
			}
			if len(w.Cluster.Waiting()) > 0 && !reported {
				t.Errorf("pods wait and nobody is told: %v", w.Cluster.Waiting())
			}
			w.Fleet.Heal()
			w.Tick(5 * time.Minute)
			for range 30 {
				w.Tick(time.Minute)
				_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
			}
			if n, _ := running(t, w); n != 1 || len(w.Cluster.Waiting()) != 0 {
				t.Errorf("in the end %d machines, waiting %v", n, w.Cluster.Waiting())
			}
		})
	}
}

// R60: while EC2 cannot be reached events of pods say that, and nothing of limits or capacity.
func TestR60AnOutageIsNotToldAsALimit(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pass(t, w, provision.TriggerConfig)
	pending(w, "web", 1, world.Shape(1500, gib))
	w.Fleet.Unreachable(w.Clock.Now().Add(8 * time.Minute))
	for range 10 {
		_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
		w.Tick(20 * time.Second)
	}
	events := w.Cluster.Events("Pod", "web-0")
	if len(events) == 0 {
		t.Fatal("the pod is told nothing")
	}
	for _, event := range events {
		text := strings.ToLower(event.Message)
		if !strings.Contains(text, "ec2") || strings.Contains(text, "limit") || strings.Contains(text, "capacity") {
			t.Errorf("told: %s", event.Message)
		}
	}
}
