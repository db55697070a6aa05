package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// B9: while no watcher runs nothing is disrupted, though its last snapshot shows instances that stand empty; once one runs again
// they are.
func TestB9NothingIsDecidedByWhatASilentWatcherSaidLast(t *testing.T) {
	t.Parallel()
	from, until := 10*time.Minute+30*time.Second, 15*time.Minute
	c := small(8, 20*time.Minute)
	c.Scenario.Choices, c.Scenario.Pools = true, []model.Pool{thrifty("web", 120, world.Need(model.LabelCapacityType, model.OnDemand))}
	c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(10 * time.Minute), Replicas: 2}}
	c.Plan = []sim.Source{{Kind: sim.KindMute, Rate: 1, From: from, Until: until}}
	after := 0
	for _, k := range play(t, c).commands() {
		at := k.at.Sub(world.Start)
		if at > from+15*time.Second && at < until {
			t.Errorf("command %s (%s) was decided %s after the start, and nobody watched from %s on", k.ID, k.Reason, at, from)
		}
		if at >= until {
			after++
		}
	}
	if after == 0 {
		t.Error("nothing was given back once a watcher ran again: the test shows nothing")
	}
}

// commits returns the disruption function's effects that commit commands, and when these were recorded.
func commits(t *testing.T, c sim.Config) ([]sim.Exact, []time.Time) {
	t.Helper()
	d := &diary{}
	c.Checkers = func() []audit.Checker { return append(audit.All(), d) }
	result := sim.Run(c)
	if len(result.Violations) > 0 {
		t.Fatal(result.Violations)
	}
	var out []sim.Exact
	for _, p := range result.Effects {
		for i, name := range p.Names {
			if p.Program == "disrupt" && name == "ledger.commit" {
				out = append(out, sim.Exact{Program: p.Program, Invocation: p.Invocation, Effect: i + 1, Mode: world.DiesAfter})
			}
		}
	}
	var at []time.Time
	for _, k := range d.commands() {
		at = append(at, k.at)
	}
	return out, at
}

// A node that is deleted and joins again under its name, after it was condemned and before it is tainted, is another one: the taint
// is not put on it.
func TestScenarioTaintIsPutOnlyOnTheNodeOfThatUID(t *testing.T) {
	t.Parallel()
	c := idling()
	c.Seed = 2 // kubelets join again
	dies, at := commits(t, c)
	if len(dies) == 0 || len(at) == 0 {
		t.Fatal("nothing is committed")
	}
	c.Exact = dies[:1]
	again := ""
	c.Scenario.Arrange = func(w *world.World, after func(time.Duration, func())) {
		after(at[0].Sub(world.Start)+time.Second, func() {
			ledger := w.Cluster.Nodes()
			again = ledger[0].UID
			for _, node := range ledger {
				w.Cluster.DeleteNode(node.Name)
			}
		})
	}
	d := play(t, c)
	joined := slices.ContainsFunc(d.entries, func(e world.Entry) bool {
		fact, ok := e.Fact.(world.ObjectWritten)
		return ok && fact.Kind == world.KindNode && fact.Verb == "create" && e.At.After(at[0]) && fact.UID != again
	})
	if !joined {
		t.Error("no node joined again: the test shows nothing")
	}
}

// replacementWithoutCapacity is a world in which an instance is to be replaced by a cheaper type, of which there is none when it is asked for.
func replacementWithoutCapacity() sim.Config {
	c := small(6, 22*time.Minute)
	c.Scenario.Types, c.Scenario.Choices = []string{"m5.large", "m5.2xlarge"}, true
	c.Scenario.Pools = []model.Pool{thrifty("web", 30, world.Need(model.LabelCapacityType, model.OnDemand))}
	c.Scenario.Workloads[0].Shape = world.Shape(1100, 1<<30)
	c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(10 * time.Minute), Replicas: 1}}
	c.Scenario.Arrange = func(w *world.World, _ func(time.Duration, func())) {
		w.Fleet.Short(world.Shortage{
			Offering: model.OfferingKey{InstanceType: "m5.large"}, Code: "InsufficientInstanceCapacity", From: world.Start.Add(5 * time.Minute), Until: world.Start.Add(time.Hour),
		})
	}
	return c
}

// failures returns how long each taint stayed on the nodes of commands after a replacement of theirs had failed.
func (d *diary) failures() []time.Duration {
	failed, tainted := map[string]time.Time{}, map[string]string{} // when, by command; the command, by node
	of := map[string]string{}                                      // the command, by its replacements' names
	var out []time.Duration
	for _, e := range d.entries {
		switch fact := e.Fact.(type) {
		case world.LedgerWritten:
			for _, change := range fact.Commands {
				for _, r := range change.After.Replacements {
					of[r.Name] = change.After.ID
				}
				for _, t := range change.After.Targets {
					tainted[t.Node] = change.After.ID
				}
			}
			for _, change := range fact.Claims {
				if id := of[claimName(change)]; id != "" && change.After.State == model.Gone && failed[id].IsZero() {
					failed[id] = e.At
				}
			}
		case world.ObjectWritten:
			id := tainted[fact.Name]
			if fact.Kind == world.KindNode && id != "" && !failed[id].IsZero() && !marked(fact.Node) {
				out = append(out, e.At.Sub(failed[id]))
				delete(tainted, fact.Name)
			}
		}
	}
	return out
}

func claimName(change world.ClaimChange) string {
	if change.After == nil {
		return ""
	}
	return change.After.Name
}

func marked(n *model.Node) bool {
	return n != nil && slices.ContainsFunc(n.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
}

// B4: where a replacement fails its nodes are free of the taint within a minute, also where the disruption function dies at any of its effects, and
// where each hint reaches two runs of disruption at once, so that the one that lives takes the hint away from the one that dies.
func TestB4NodesAreFreeAMinuteAfterAReplacementFailedThoughDisruptDies(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string][]sim.Source{"alone": nil, "two at once": {{Kind: sim.KindDouble, Rate: 1, Until: 22 * time.Minute}}} {
		t.Run(name, func(t *testing.T) {
			c := replacementWithoutCapacity()
			c.Plan = plan
			base := sim.Run(c)
			if len(base.Violations) > 0 {
				t.Fatal(base.Violations)
			}
			dies := sim.Crashes(base, []world.Mode{world.DiesBefore, world.DiesAfter}, "disrupt")
			freed := 0
			for i, run := range append([]sim.Config{c}, dies...) {
				if i > 0 && !long() && i%3 != 0 {
					continue
				}
				for _, took := range play(t, run).failures() {
					if freed++; took > time.Minute {
						t.Errorf("%s: a node kept the taint for %s after the replacement had failed", run.Name(), took)
					}
				}
			}
			if freed < 10 {
				t.Errorf("%d nodes were freed in %d runs: too little happens to show anything", freed, len(dies))
			}
		})
	}
}
