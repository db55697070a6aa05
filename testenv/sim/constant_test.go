package sim_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// chosen is a command of a run with when it was recorded, and when it ended.
type chosen struct {
	model.Command
	at, ended time.Time
}

// commands returns a run's commands, by when they were recorded.
func (d *diary) commands() []*chosen {
	byID, out := map[string]*chosen{}, []*chosen{}
	for _, e := range d.entries {
		fact, ok := e.Fact.(world.LedgerWritten)
		if !ok {
			continue
		}
		for _, change := range fact.Commands {
			c := byID[change.After.ID]
			if c == nil {
				c = &chosen{at: e.At}
				byID[change.After.ID] = c
				out = append(out, c)
			}
			if c.Command = *change.After; !c.State.Open() {
				c.ended = e.At
			}
		}
	}
	return out
}

// price returns what runs at a time costs per hour.
func (d *diary) price(at time.Time) model.MicroUSD {
	costs, sum := map[string]model.MicroUSD{}, model.MicroUSD(0)
	for _, e := range d.entries {
		if e.At.After(at) {
			break
		}
		switch fact := e.Fact.(type) {
		case world.InstanceStarted:
			costs[fact.Instance.ID] = fact.Price
			sum += fact.Price
		case world.InstanceEnded:
			sum -= costs[fact.ID]
			delete(costs, fact.ID)
		}
	}
	return sum
}

// comesToRest fails the test unless nothing is disrupted any more from some time on, and what runs costs no more for anything that
// was. Whether there is capacity again is tried now and then, by a command that comes to nothing.
func (d *diary) comesToRest(t *testing.T, within time.Duration) {
	t.Helper()
	settled := world.Start.Add(sim.ConstantFrom + within)
	seldom := world.Start.Add(sim.ConstantFrom + max(within, 5*time.Hour)) // pauses between tries have grown to hours by then
	commands, tries := d.commands(), 0
	for _, c := range commands {
		switch {
		case !c.at.After(settled):
		case c.State == model.CommandUndone && c.FailureCode == model.ReplacementFailed:
			if c.at.After(seldom) {
				tries++
			}
		default:
			t.Errorf("%s after everything had been the same for %s: command %s (%s) of %d nodes, %d replacements, saving %d µ$", c.at.Sub(world.Start).Round(time.Second), within, c.ID, c.Reason, len(c.Targets), len(c.Replacements), c.Savings)
		}
		if c.at.Before(world.Start.Add(sim.ConstantFrom+2*time.Minute)) || c.State != model.CommandDone {
			continue
		}
		if before, after := d.price(c.at.Add(-time.Second)), d.price(c.ended.Add(time.Hour)); after > before {
			t.Errorf("command %s (%s) at %s: it cost %d µ$ an hour before, and %d an hour after", c.ID, c.Reason, c.at.Sub(world.Start).Round(time.Second), before, after)
		}
	}
	if rest := d.entries[len(d.entries)-1].At.Sub(seldom); tries > 1+int(max(0, rest)/(2*time.Hour)) {
		t.Errorf("what is not to be had was tried %d times in %s", tries, rest.Round(time.Minute))
	}
	if last := len(commands); last > 0 {
		t.Logf("%d commands, the last %s after the start; %d µ$ an hour when all was constant, %d at the end", last, commands[last-1].at.Sub(world.Start).Round(time.Second), d.price(world.Start.Add(sim.ConstantFrom)), d.price(d.entries[len(d.entries)-1].At))
	}
}

// B11: with constant pods, prices and capacity, commands become none and stay that for a day: 200 worlds in the long form.
func TestB11NothingIsGivenBackForEver(t *testing.T) {
	t.Parallel()
	// What was decided before all was constant is not reversed for half an hour, and neither is what follows: where
	// kube-scheduler bound a moved pod elsewhere, and another got an instance of its own, that ends half an hour later.
	// It goes node by node, as budgets have it.
	runs, length, within := uint64(5), 8*time.Hour, 90*time.Minute
	if long() {
		runs, length, within = 200, 37*time.Hour, 12*time.Hour
	}
	given := 0
	first, runs := among(t, runs)
	for seed := first; seed < first+runs; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := play(t, sim.Constant(seed, length))
			d.comesToRest(t, within)
			given += len(d.commands())
		})
	}
	if given < int(runs) {
		t.Errorf("%d commands in %d worlds: too little happens to show anything", given, runs)
	}
}

// among returns the first seed and how many there are of 0 to most−1: all, or those JOINER_SIM_WORLDS=first-last names, so that a
// long test can be run in parts.
func among(t *testing.T, most uint64) (first, runs uint64) {
	text := os.Getenv("JOINER_SIM_WORLDS")
	if text == "" {
		return 0, most
	}
	var last uint64
	if n, err := fmt.Sscanf(text, "%d-%d", &first, &last); n != 2 || err != nil || last < first || last >= most {
		t.Fatalf("JOINER_SIM_WORLDS=%q: write the first and the last world, such as 0-%d", text, most-1)
	}
	return first, last - first + 1
}

// steady is a constant world of one pool and so many pods, of which all but some have gone after ten minutes.
func steady(before, after int, shape model.PodShape, types ...string) sim.Config {
	c := small(before, 12*time.Hour)
	c.Scenario.Types, c.Scenario.Choices = types, true
	c.Scenario.Pools = []model.Pool{thrifty("web", 30, world.Need(model.LabelCapacityType, model.OnDemand))}
	c.Scenario.Workloads[0].Shape = shape
	c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(10 * time.Minute), Replicas: after}}
	return c
}

// R39: the type that would be cheapest is not available. What is tried in its place fails, once or twice, and then nothing changes
// any more, for the rest of the day.
func TestR39APermanentStockOutComesToRest(t *testing.T) {
	t.Parallel()
	c := steady(12, 3, world.Shape(700, 1<<30), "m5.large", "m5.xlarge", "m5.2xlarge")
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		for _, name := range []string{"m5.large", "m5.xlarge"} {
			w.Fleet.Short(world.Shortage{
				Offering: model.OfferingKey{InstanceType: name}, Code: "InsufficientInstanceCapacity", From: world.Start.Add(5 * time.Minute), Until: world.Start.Add(100 * 24 * time.Hour),
			})
		}
	}
	d := play(t, c)
	d.comesToRest(t, 3*time.Hour)
	late := slices.DeleteFunc(d.calls(true), func(at time.Time) bool { return at.Before(world.Start.Add(4 * time.Hour)) })
	if len(late) > 4 {
		t.Errorf("what is not to be had is asked for %d times in the last eight hours", len(late))
	}
}

// S28: pods that would rather be apart, or in one zone, and cannot all be, move nobody to and fro.
func TestS28PreferencesMoveNobodyToAndFro(t *testing.T) {
	t.Parallel()
	for name, prefers := range map[string]func(shape *model.PodShape, self *model.Selector){
		"apart": func(shape *model.PodShape, self *model.Selector) {
			shape.PreferredPodAntiAffinity = []model.WeightedPodTerm{{Weight: 100, Term: model.PodTerm{TopologyKey: model.LabelHostname, Selector: self}}}
		},
		"spread": func(shape *model.PodShape, self *model.Selector) {
			shape.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Anyway: true, Selector: self}}
		},
		"another zone": func(shape *model.PodShape, _ *model.Selector) {
			shape.PreferredNodeAffinity = []model.WeightedTerm{{Weight: 100, Term: model.NodeTerm{Requirements: []model.Requirement{world.Need(model.LabelZone, "us-west-2c")}}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			shape := world.Shape(400, 1<<30)
			shape.Labels = map[string]string{"app": "web"}
			prefers(&shape, &model.Selector{MatchLabels: shape.Labels})
			d := play(t, steady(14, 5, shape, "m5.large", "m5.xlarge", "m5.2xlarge"))
			d.comesToRest(t, 2*time.Hour)
			if n := len(d.commands()); n > 12 {
				t.Errorf("%d commands for 14 pods", n)
			}
		})
	}
}

// R38: what was launched in the place of something is not disrupted within half an hour while nothing else has changed, and no
// command's workloads are moved again.
func TestR38NoOppositeDecisionsWithinHalfAnHour(t *testing.T) {
	t.Parallel()
	d := play(t, steady(16, 5, world.Shape(700, 1<<30), "m5.large", "m5.xlarge", "m5.2xlarge", "c5.xlarge"))
	commands := d.commands()
	came := map[string]*chosen{}
	for _, c := range commands {
		for _, target := range c.Targets {
			if before := came[target.Claim]; before != nil && before.Inputs == c.Inputs && c.at.Sub(before.ended) < 30*time.Minute {
				t.Errorf("command %s gives back %s, which took the place of what %s gave back %s before", c.ID, target.Claim, before.ID, c.at.Sub(before.ended))
			}
		}
		for _, r := range c.Replacements {
			came[r.Name] = c
		}
	}
	if len(commands) == 0 {
		t.Error("nothing was given back")
	}
}

// B3: eight runs of disruption at once, with clocks that are minutes off and a ledger that is slow, across the edges of a window in which
// nothing may be disrupted: the auditor counts at each commit.
func TestB3BudgetsAreExactUnderEightDisruptRunsAcrossAWindowsEdge(t *testing.T) {
	t.Parallel()
	seeds := uint64(3)
	if long() {
		seeds = 50
	}
	given, held := 0, 0
	for seed := range seeds {
		c := small(14, 50*time.Minute)
		c.Seed, c.Scenario.Choices, c.Scenario.DisruptRuns = seed, true, 8
		pool := thrifty("web", 0, world.Need(model.LabelCapacityType, model.OnDemand))
		pool.Disruption.Budgets = []model.Budget{{Nodes: "2"}, {Nodes: "30%", Reasons: []string{model.ReasonEmpty}}, {Nodes: "0", Schedule: "*/10 * * * *", DurationSeconds: 300}}
		c.Scenario.Pools = []model.Pool{pool}
		c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(9 * time.Minute), Replicas: 9}, {At: world.Start.Add(24 * time.Minute), Replicas: 2}}
		for _, source := range []sim.Source{{Kind: sim.KindSlow, Target: "ledger", Rate: 0.02}, {Kind: sim.KindSkew, Rate: 0.5}, {Kind: sim.KindRepeat, Target: "ledger", Rate: 0.05}} {
			source.Until = c.Scenario.Length
			c.Plan = append(c.Plan, source)
		}
		d := play(t, c)
		given += len(d.commands())
		for _, e := range d.entries {
			if fact, ok := e.Fact.(world.LeaseTaken); ok && fact.Fence.Lease == model.LeaseDisrupt {
				held++
			}
		}
	}
	if given < 4*int(seeds) || held < 100 {
		t.Errorf("%d commands, and the lease was taken %d times: too little happens to show anything", given, held)
	}
}

// R38: what took the place of an instance is left alone for half an hour, though its pods go and a smaller one would do; then it is
// replaced.
func TestR38ReplacementIsLeftAloneForHalfAnHour(t *testing.T) {
	t.Parallel()
	c := steady(6, 3, world.Shape(1100, 1<<30), "m5.large", "m5.xlarge", "m5.2xlarge")
	c.Scenario.Length = time.Hour
	c.Scenario.Workloads[0].Steps = append(c.Scenario.Workloads[0].Steps, world.Step{At: world.Start.Add(16 * time.Minute), Replicas: 1})
	came, turned := map[string]time.Time{}, 0
	for _, k := range play(t, c).commands() {
		for _, target := range k.Targets {
			if since := came[target.Claim]; !since.IsZero() {
				if turned++; k.at.Sub(since) < 30*time.Minute {
					t.Errorf("command %s gives back %s, which took the place of another %s before", k.ID, target.Claim, k.at.Sub(since).Round(time.Second))
				}
			}
		}
		for _, r := range k.Replacements {
			came[r.Name] = k.ended
		}
	}
	if turned == 0 {
		t.Error("no replacement was ever given back: the test shows nothing")
	}
}
