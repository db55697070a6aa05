package sim_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// savings returns what is told of a run's savings, from the records and the ledger that the run left, and the ledger.
func (d *diary) savings(t *testing.T) (*explain.Saving, model.Ledger) {
	t.Helper()
	flow, clusterState := archive{d.world}.clusterState(t)
	reg, err := flow.Registration(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	saving, err := flow.Savings(t.Context(), reg, world.Start.Unix())
	if err != nil {
		t.Fatal(err)
	}
	return saving, clusterState.Installation.Ledger
}

// curve returns what the run's instances cost by now, and what they would have without the commands that were done: as if every instance
// that one disrupted had run on, and none that one bought had been bought. Of instances nothing but what the fleet itself says is used.
func (d *diary) curve(commands []model.Command) (cost, without float64) {
	now := d.world.Clock.Now()
	type run struct {
		from, to time.Time
		price    model.MicroUSD
	}
	runs, instance := map[string]*run{}, map[string]string{} // by instance; the instance, by claim
	for _, e := range d.entries {
		switch fact := e.Fact.(type) {
		case world.InstanceStarted:
			runs[fact.Instance.ID] = &run{e.At, now, fact.Price}
		case world.InstanceEnding:
			runs[fact.ID].to = e.At
		case world.LedgerWritten:
			for _, change := range fact.Claims {
				if change.After != nil && change.After.InstanceID != "" {
					instance[change.After.Name] = change.After.InstanceID
				}
			}
		}
	}
	dollars := func(price model.MicroUSD, d time.Duration) float64 { return float64(price) * d.Hours() }
	for _, r := range runs {
		cost += dollars(r.price, r.to.Sub(r.from))
	}
	without = cost
	for i := range commands {
		if commands[i].State != model.CommandDone {
			continue
		}
		for _, target := range commands[i].Targets {
			if r := runs[instance[target.Claim]]; r != nil {
				without += dollars(r.price, now.Sub(r.to))
			}
		}
		for _, bought := range commands[i].Replacements {
			if r := runs[instance[bought.Name]]; r != nil {
				without -= dollars(r.price, r.to.Sub(r.from))
			}
		}
	}
	return cost, without
}

// near fails the test unless two amounts are within one per cent of each other.
func near(t *testing.T, what string, got model.MicroUSD, want float64) {
	t.Helper()
	if off := math.Abs(float64(got)-want) / want; off > 0.01 || want == 0 {
		t.Errorf("%s: %d by the books, %.0f by the fleet: %.2f%% apart", what, got, want, 100*off)
	}
}

// D19: what the books say was spent is the fleet's cost curve, and together with what they say was saved it is what that curve would
// have been without the commands, each within 1%.
func TestD19SavingsSumToTheCostCurve(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		types []string
		shape model.PodShape
		steps []world.Step
	}{
		{"emptied", []string{"m5.large", "m5.xlarge", "m5.2xlarge"}, world.Shape(700, 1<<30), []world.Step{{At: world.Start.Add(10 * time.Minute), Replicas: 4}}},
		{"replaced", []string{"m5.large", "m5.2xlarge"}, world.Shape(1100, 1<<30), []world.Step{{At: world.Start.Add(10 * time.Minute), Replicas: 1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := small(12, 2*time.Hour)
			c.Scenario.Types, c.Scenario.Choices = test.types, true
			c.Scenario.Pools = []model.Pool{thrifty("web", 30, world.Need(model.LabelCapacityType, model.OnDemand))}
			c.Scenario.Workloads[0].Shape, c.Scenario.Workloads[0].Steps = test.shape, test.steps
			d := play(t, c)
			s, ledger := d.savings(t)
			cost, without := d.curve(ledger.Commands)
			near(t, "the fleet's own sum", d.world.Fleet.Cost(), cost)
			near(t, "spent", s.Spent, cost)
			near(t, "spent and saved", s.Spent+s.Saved, without)
			if s.Saved <= 0 || len(s.Moves) == 0 || s.Regrets != 0 {
				t.Errorf("saved %d by %d moves with %d regrets: the test shows nothing", s.Saved, len(s.Moves), s.Regrets)
			}
			t.Logf("spent $%.4f, saved $%.4f by %d moves of %d pods", s.Spent.USD(), s.Saved.USD(), len(s.Moves), s.Pods)
		})
	}
}

// D19: where people want within the hour what was disrupted, the move is a regret.
func TestD19AMoveUndoneWithinTheHourIsARegret(t *testing.T) {
	t.Parallel()
	again := func(after time.Duration) *explain.Saving {
		c := small(8, 2*time.Hour+30*time.Minute)
		c.Scenario.Choices = true
		c.Scenario.Pools = []model.Pool{thrifty("web", 30, world.Need(model.LabelCapacityType, model.OnDemand))}
		c.Scenario.Workloads[0].Shape, c.Scenario.Types = world.Shape(700, 1<<30), []string{"m5.large"}
		c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(10 * time.Minute), Replicas: 3}, {At: world.Start.Add(after), Replicas: 8}}
		saving, _ := play(t, c).savings(t)
		return saving
	}
	moved := func(s *explain.Saving) bool {
		return slices.ContainsFunc(s.Moves, func(m explain.CommandSaving) bool { return m.State == explain.CommandDone && m.PodsMoved > 0 })
	}
	soon, late := again(25*time.Minute), again(110*time.Minute)
	if !moved(soon) || !moved(late) {
		t.Fatalf("no pod was moved: %+v %+v: the test shows nothing", soon.Moves, late.Moves)
	}
	if soon.Regrets == 0 || late.Regrets != 0 {
		t.Errorf("%d regrets where it was wanted again within the hour, %d where later", soon.Regrets, late.Regrets)
	}
}
