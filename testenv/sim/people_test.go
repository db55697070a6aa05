package sim_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Whatever can go wrong is drawn, and none of it in more than half of the runs.
func TestEveryKindOfTroubleIsDrawn(t *testing.T) {
	const runs = 2000
	drawn := map[string]int{}
	for seed := range uint64(runs) {
		kinds := map[string]bool{}
		for _, s := range sim.Draw(seed).Plan {
			kinds[s.Kind] = true
		}
		for kind := range kinds {
			drawn[kind]++
		}
	}
	for _, kind := range []string{
		sim.KindCrash, sim.KindError, sim.KindLost, sim.KindSlow, sim.KindRepeat, sim.KindLate, sim.KindOutage, sim.KindSkew, sim.KindCold, sim.KindThrottle,
		sim.KindDouble, sim.KindLeaders, sim.KindWatch, sim.KindShortage, sim.KindLimit, sim.KindFleet, sim.KindVisibility, sim.KindJoin, sim.KindSilence,
		sim.KindSpot, sim.KindFailure, sim.KindStale, sim.KindLag, sim.KindMute, sim.KindQueue, sim.KindTicks, sim.KindTemplates, sim.KindPeople,
		sim.KindObjects, sim.KindEvents, sim.KindChecks, sim.KindLongHush, sim.KindForce, sim.KindPools, sim.KindSpoilt,
		sim.KindBurst, sim.KindDefinitions, sim.KindShift,
		sim.KindLateLease, sim.KindRefused, sim.KindUnpublished, sim.KindPlanning, sim.KindStorm, sim.KindStuck, sim.KindDeltas,
		sim.KindUnread, sim.KindByHand, sim.KindTaken, sim.KindVisitors, sim.KindBudgets, sim.KindStops,
		sim.KindAlarms, sim.KindTenant, sim.KindDaemons, sim.KindKept, sim.KindHostile,
	} {
		if n := drawn[kind]; n < runs/40 || n > runs/2 {
			t.Errorf("%s is drawn in %d of %d runs", kind, n, runs)
		}
	}
}

// busy is a world with every flow in which something of a kind goes on for 30 minutes.
func busy(seed uint64, kind string, rate float64) sim.Config {
	c := small(4, 40*time.Minute)
	c.Seed, c.Scenario.Choices = seed, true
	c.Scenario.Pools = []model.Pool{thrifty("web", 30, world.Need(model.LabelCapacityType, model.OnDemand))}
	for i := 1; i < 10; i++ {
		c.Scenario.Workloads[0].Steps = append(c.Scenario.Workloads[0].Steps, world.Step{At: world.Start.Add(time.Duration(i) * 3 * time.Minute), Replicas: 2 + 7*(i%3)})
	}
	c.Plan = []sim.Source{{Kind: kind, Rate: rate, Until: 30 * time.Minute}}
	return c
}

// Each of what people do, and of the faults beside leases, launches and what is read, is played by itself, from seed to seed until it came
// about often enough; nothing is left waiting.
func TestScenarioWhatComesBetweenAPlanAndWhatIsDone(t *testing.T) {
	const often, most = 2, 40 // times, seeds
	least := 1                // seeds
	if long() {
		least = 10
	}
	for _, kind := range []string{
		sim.KindTaken, sim.KindVisitors, sim.KindBudgets, sim.KindStops, sim.KindAlarms,
		sim.KindTenant, sim.KindDaemons, sim.KindKept, sim.KindLateLease, sim.KindRefused, sim.KindUnpublished,
		sim.KindPlanning, sim.KindStorm, sim.KindStuck, sim.KindDeltas,
		sim.KindUnread, sim.KindByHand,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			done, seed := int64(0), 0
			for ; seed < least || done < often && seed < most && !t.Failed(); seed++ {
				c := busy(uint64(seed), kind, 0.7)
				var waiting []string
				c.After = func(w *world.World) { waiting = w.Cluster.Waiting() }
				r := sim.Run(c)
				if len(r.Violations) > 0 || len(waiting) > 0 {
					t.Errorf("seed %d: %v wait; %s", seed, waiting, report(r))
				}
				done += happened(r, kind)
			}
			if done < often && !t.Failed() {
				t.Errorf("it came about %d times in %d runs, want %d: that shows too little", done, seed, often)
			}
		})
	}
}

// happened returns how often what a kind stands for came about in a run.
func happened(r sim.Result, kind string) int64 {
	n := r.Stats.Faults[kind]
	for _, what := range map[string][]string{
		sim.KindLateLease: {"is slow ledger.cluster", "is slow ledger.acquire", "is slow ledger.hold"}, sim.KindRefused: {"loses reply fleet.launch"},
		sim.KindUnpublished: {"fails store.segment", "fails store.base"}, sim.KindPlanning: {"is slow store.at", "is slow cluster.list", "is slow cluster.look"},
	}[kind] {
		n += r.Stats.Faults[what]
	}
	return n
}

// F4: a segment of what is published is deleted, again and again, and nothing else goes wrong. Whoever reads it next says so, and the watcher
// publishes the state whole: at no time can nobody read it for longer than a tick, a heartbeat and the minute between two bases take.
func TestF4ADeltaThatIsDeletedIsPublishedAgain(t *testing.T) {
	const step, most = 5 * time.Second, 150 * time.Second
	c := busy(1, sim.KindDeltas, 1)
	var torn, longest time.Duration
	gaps := 0
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		for when := time.Minute; when < c.Scenario.Length; when += step {
			at(when, func() {
				manifest, err := w.Ledger.Manifest(t.Context(), world.Name)
				if err != nil || manifest == nil {
					return
				}
				if _, err := w.Store.SnapshotAt(t.Context(), *manifest); err == nil {
					torn = 0
					return
				}
				if torn += step; torn == step {
					gaps++
				}
				longest = max(longest, torn)
			})
		}
	}
	d := play(t, c)
	if gaps < 2 || longest > most {
		t.Errorf("%d times something was gone, for %s at the longest, want two times and %s at most", gaps, longest, most)
	}
	commands := 0
	for _, e := range d.entries {
		if fact, ok := e.Fact.(world.LedgerWritten); ok {
			for _, change := range fact.Commands {
				if change.Before == nil {
					commands++
				}
			}
		}
	}
	if commands == 0 {
		t.Error("nothing was given back")
	}
	t.Logf("%d times something was gone, for %s at the longest; %d commands", gaps, longest, commands)
}

// With limits that become what a pool has right before a launch is recorded, and a world that is otherwise well, no more is launched than
// the limit was since the plan was made, and all pods run once the limits are back.
func TestA6LimitsTakenBetweenPlanAndLaunch(t *testing.T) {
	c := busy(1, sim.KindTaken, 1)
	taken := 0
	d := play(t, c)
	for _, e := range d.entries {
		if fact, ok := e.Fact.(world.ObjectWritten); ok && fact.Pool != nil && fact.Pool.Limits != nil {
			taken++
		}
	}
	if taken < 3 {
		t.Errorf("limits were taken %d times", taken)
	}
}

// A hostile cluster on the same control plane is attached to a world in which nothing else goes wrong: all rules hold there as they do
// alone, and nothing crosses.
func TestScenarioAHostileClusterBesideAnother(t *testing.T) {
	played := 0
	for seed := uint64(1); played < 3; seed++ {
		c := sim.Draw(seed)
		if c.Scenario.Neighbors == 0 {
			continue
		}
		played++
		c.Plan = c.Plan[len(c.Plan)-3:]
		if c.Plan[0].Kind != sim.KindHostile {
			t.Fatalf("seed %d: the plan ends with %v", seed, c.Plan)
		}
		r := sim.Run(c)
		for _, v := range r.Violations {
			t.Errorf("seed %d: %s", seed, v)
		}
		if r.Stats.Faults[sim.KindHostile] < 3 {
			t.Errorf("seed %d: it attacked %d times", seed, r.Stats.Faults[sim.KindHostile])
		}
	}
}
