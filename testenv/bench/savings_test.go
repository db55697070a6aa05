package bench

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// TestMovesOfADryRunAddUpToWhatThePriceFallsBy carries plans out and prices the machines that are there before and after, to the micro-dollar:
// that is what the commands said they save, together. Of a packed cluster nodes drift, for otherwise there is nothing to move.
func TestMovesOfADryRunAddUpToWhatThePriceFallsBy(t *testing.T) {
	for _, family := range problem.Clusters {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			commands, replaced := 0, 0
			for seed := uint64(1); seed <= 4; seed++ {
				p := newProblem(t, problem.Spec{Family: family, Nodes: 50, Types: 200, Seed: seed})
				for decision := 1; decision <= 3; decision++ {
					in := p.Running()
					if decision == 1 && (family == "packed" || seed%2 == 0) {
						for i := 0; i < len(in.Claims); i += 5 {
							in.Claims[i].Drift, in.Claims[i].DriftUnix = model.ReasonDrifted, in.Claims[i].CreatedUnix+1
						}
					}
					plan := disruption.Plan(in)
					said := model.MicroUSD(0)
					for i := range plan.Commands {
						said += plan.Commands[i].Savings
						replaced += len(plan.Commands[i].Replacements)
					}
					commands += len(plan.Commands)
					after, _, err := p.CarryOut(plan.Commands)
					if err != nil {
						t.Fatal(err)
					}
					before, then := p.PriceOfNodes(), after.PriceOfNodes()
					if plan.PriceBefore != before || plan.PriceAfter != then || before-then != said {
						t.Errorf("seed %d, decision %d: %d micro-dollars an hour before and %d then, and the plan says %d, %d and that its %d commands save %d",
							seed, decision, before, then, plan.PriceBefore, plan.PriceAfter, len(plan.Commands), said)
					}
					p = after
				}
			}
			if commands < 20 || replaced < 10 && family != "guarded" { // there what moves fits what exists
				t.Errorf("%d commands with %d replacements: that is no test", commands, replaced)
			}
		})
	}
}
