package sim_test

import (
	"os"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// long reports whether there is time for the long form of a test.
func long() bool { return os.Getenv("JOINER_SIM") == "long" }

// given returns how many claims of a run were disrupted voluntarily to save.
func given(s *sim.Stats) int64 { return s.Ends[model.ReasonEmpty] + s.Ends[model.ReasonUnderutilized] }

// everywhere runs a world with one more fault at each effect, in each mode, and expects as many instances as without, and as many
// disrupted.
func everywhere(t *testing.T, base sim.Config, modes []world.Mode, programs ...string) {
	t.Helper()
	before := sim.Run(base)
	if len(before.Violations) > 0 {
		t.Fatalf("%s: %v", base.Name(), before.Violations)
	}
	crashes := sim.Crashes(before, modes, programs...)
	for _, c := range crashes {
		after := sim.Run(c)
		for _, v := range after.Violations {
			t.Errorf("%s: %s", c.Name(), v)
		}
		if after.Stats.Launches != before.Stats.Launches {
			t.Errorf("%s: %d machines were launched, want %d", c.Name(), after.Stats.Launches, before.Stats.Launches)
		}
		if given(&after.Stats) != given(&before.Stats) {
			t.Errorf("%s: %d machines were given back, want %d", c.Name(), given(&after.Stats), given(&before.Stats))
		}
	}
	t.Logf("%s: %d runs", base.Name(), len(crashes))
}

// Scenario 1 of the promises, and more: every effect of every program goes wrong in every way, once.
func TestScenario1_EveryEffectMayGoWrong(t *testing.T) {
	t.Parallel()
	modes, pods := sim.EveryMode, 3
	if !long() {
		modes, pods = []world.Mode{world.DiesBefore, world.DiesAfter, world.LosesReply}, 2
	}
	everywhere(t, sim.Tiny(pods), modes)
}

// Pairs: the launch of a single instance is killed somewhere, and whoever recovers it goes wrong as well.
func TestScenario1_EveryRecoveryMayGoWrong(t *testing.T) {
	t.Parallel()
	if !long() {
		t.Skip("set JOINER_SIM=long")
	}
	calm := sim.Run(sim.Tiny(1))
	for _, first := range sim.Crashes(calm, sim.EveryMode, "provision") {
		if x := first.Exact[0]; x.Invocation == 1 {
			everywhere(t, first, []world.Mode{world.DiesBefore, world.DiesAfter, world.LosesReply}, "provision", "interruption")
		}
	}
}

func TestTinyWorldLaunchesWhatItNeeds(t *testing.T) {
	c := sim.Tiny(3)
	result := sim.Run(c)
	if result.Stats.Launches != 3 || c.Scenario.Pools[0].Limits[model.Nodes] != 3 || len(result.Violations) > 0 {
		t.Errorf("%d launches, %v", result.Stats.Launches, result.Violations)
	}
}

// idling is a tiny world with choices, where pods go and instances with them: one is emptied, or the pods of two fit on one.
func idling() sim.Config {
	c := sim.Tiny(3)
	pool := thrifty("tiny", 0, world.Need(model.LabelCapacityType, model.OnDemand))
	pool.Limits = c.Scenario.Pools[0].Limits
	c.Scenario.Pools, c.Scenario.Choices, c.Scenario.Length = []model.Pool{pool}, true, 6*time.Minute
	c.Scenario.Workloads[0].Shape = world.Shape(800, 1<<30)
	c.Scenario.Workloads[0].Replicas = 4
	c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(2 * time.Minute), Replicas: 1}}
	return c
}

// Every effect of the disruption function goes wrong in every way, once, while it disrupts what is not needed any more: it is disrupted all
// the same, and nothing is bought for that.
func TestScenario1_EveryEffectOfDisruptMayGoWrong(t *testing.T) {
	t.Parallel()
	if result := sim.Run(idling()); given(&result.Stats) == 0 {
		t.Fatalf("nothing is given back: %v", result.Stats)
	}
	modes := sim.EveryMode
	if !long() {
		modes = []world.Mode{world.DiesBefore, world.DiesAfter, world.LosesReply}
	}
	everywhere(t, idling(), modes, "disrupt")
}
