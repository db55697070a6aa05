package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/bound"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/measure"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// smallSpecs are problems of every family that are planned and evaluated in a moment.
func smallSpecs() []problem.Spec {
	var specs []problem.Spec
	for seed := uint64(1); seed <= 3; seed++ {
		for _, family := range slices.Concat(problem.Families, problem.Backlogs) {
			specs = append(specs, problem.Spec{Family: family, Pods: 800, Types: 200, Seed: seed})
		}
		for _, family := range problem.Existing {
			specs = append(specs, problem.Spec{Family: family, Pods: 200, Types: 200, Nodes: 40, Seed: seed})
			specs = append(specs, problem.Spec{Family: family, Pods: 10, Types: 200, Nodes: 200, Seed: seed})
		}
	}
	return append(specs, problem.Spec{Family: "diverse", Pods: 400, OnDemand: true}, problem.Spec{Family: "bench", Pods: 1000})
}

// What is planned in portions keeps every rule, leaves nothing, and costs at most 1 % more than what is planned at once: a portion's
// last nodes are half empty, and the next portion's pods go there.
func TestF088PortionsBreakNoRuleAndCostWhatOnePlanCosts(t *testing.T) {
	spec := problem.Spec{Family: "backlog", Pods: 6000}
	p := newProblem(t, spec)
	once := pack.Plan(p.Input())
	all, plans, _ := measure.Portions(p.Input(), model.PlanBound{Pods: 6000, Sets: 300, Rules: 1000})
	if plans < 4 || plans > 5 {
		t.Errorf("1,200 workloads take %d plans of 300", plans)
	}
	report := check.Plan(p, check.FromPlan(all))
	for _, v := range report.Violations {
		if v.Rule != check.Flexibility { // what is on its way is one machine
			t.Error(v)
		}
	}
	if report.Left > 0 || len(all.Unschedulable) > 0 {
		t.Errorf("%d pods are left, %d without a place", report.Left, len(all.Unschedulable))
	}
	if all.Price > once.Price/100*101 {
		t.Errorf("portions cost %d, one plan %d", all.Price, once.Price)
	}
}

func newProblem(t testing.TB, spec problem.Spec) *problem.Problem {
	t.Helper()
	p, err := problem.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mostOverBound is how far above the bound the price of a small plan may be. Small plans are further from it than large
// ones: their last node is half empty.
const mostOverBound = 1.25

func TestPlansOfEveryFamilyBreakNoRuleAndStayNearTheBound(t *testing.T) {
	for _, spec := range smallSpecs() {
		t.Run(spec.String(), func(t *testing.T) {
			t.Parallel()
			p := newProblem(t, spec)
			report := check.Plan(p, check.FromPlan(pack.Plan(p.Input())))
			for i, v := range report.Violations {
				if i == 10 {
					t.Errorf("… and %d more", len(report.Violations)-i)
					break
				}
				t.Error(v)
			}
			if report.Left > 0 {
				t.Errorf("%d of %d pods are left, and every one of them can be placed", report.Left, len(p.Pods))
			}
			if len(p.Nodes) > 0 {
				return
			}
			b := bound.Price(p, bound.Options{EmptyHost: true, EveryZone: true, Rounds: 300, Branches: 300_000})
			switch ratio := report.Price / b.PerHour; {
			case ratio < 1:
				t.Errorf("$%v/h is below the bound of $%v/h: the bound is wrong", report.Price, b.PerHour)
			case ratio > mostOverBound:
				t.Errorf("$%.4f/h is %.3f times the bound of $%.4f/h, want at most %.2f", report.Price, ratio, b.PerHour, mostOverBound)
			default:
				t.Logf("$%.4f/h, %.3f times the bound, %d claims", report.Price, ratio, report.Claims)
			}
		})
	}
}

// TestPlansUseExistingNodesFirst guards that nodes with room cost nothing: with most of it free, few nodes are bought.
func TestPlansUseExistingNodesFirst(t *testing.T) {
	for _, family := range []string{"existing", "existingspread"} {
		t.Run(family, func(t *testing.T) {
			p := newProblem(t, problem.Spec{Family: family, Pods: 10, Nodes: 100})
			plan := pack.Plan(p.Input())
			if len(plan.Claims) > 0 {
				t.Errorf("10 pods onto 100 nodes with room: %s", fmt.Sprint(len(plan.Claims), " claims"))
			}
		})
	}
}
