package oracle

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// leastSpecs is how many of the cases are evaluated at least.
const leastSpecs = 400

// TestPlansOfKarpentersSpecsHold evaluates plans of what Karpenter's own unit specs ask for.
func TestPlansOfKarpentersSpecsHold(t *testing.T) {
	report, err := Specs{Path: SpecCases, Every: 1, Workers: runtime.GOMAXPROCS(0), Depth: Default}.Run()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	report.Write(&text, 100)
	t.Log("\n" + text.String())
	if report.Failed() {
		t.Errorf("%d findings, %d errors, %d planned otherwise", len(report.Findings), len(report.Errors), len(report.Otherwise))
		t.Log("a finding that is new is a fault of the planner, or of how the case is posed; go run ./run -spec N shows it")
	}
	if report.Evaluated < leastSpecs {
		t.Errorf("%d judged, want at least %d", report.Evaluated, leastSpecs)
	}
}

// TestWrongPlansOfKarpentersSpecsAreCaught spoils plans of every tenth case: what waits is given up, or put on one node.
func TestWrongPlansOfKarpentersSpecsAreCaught(t *testing.T) {
	all, err := readSpecs(SpecCases)
	if err != nil {
		t.Fatal(err)
	}
	caught, asked := map[Check]int{}, map[Check]int{}
	for i := 0; i < len(all.cases.Cases); i += 10 {
		if !all.cases.Cases[i].Provision() {
			continue
		}
		p, err := all.pose(i)
		if err != nil {
			t.Fatal(err)
		}
		plan := pack.Plan(p.Input())
		if p.Beyond() != "" || len(plan.Claims) == 0 {
			continue
		}
		spoil := func(check Check, wrong model.Plan) {
			v, err := EvaluatePlan(p, &wrong, Depth{Orders: 1, Only: []Check{check}})
			if err != nil {
				t.Errorf("case %d: %v", i, err)
			}
			asked[check]++
			if slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Check == check }) {
				caught[check]++
			}
		}
		none, one := model.Plan{Nominations: plan.Nominations, Unschedulable: slices.Clone(plan.Unschedulable)}, plan
		one.Claims = slices.Clone(plan.Claims[:1])
		for c := range plan.Claims {
			for _, pod := range plan.Claims[c].Pods {
				none.Unschedulable = append(none.Unschedulable, model.Unschedulable{Pod: pod, Reasons: []model.Reason{{Code: "Spoiled", Message: "it is not planned"}}})
			}
			if c > 0 {
				one.Claims[0].Pods = slices.Concat(one.Claims[0].Pods, plan.Claims[c].Pods)
			}
		}
		spoil(GivenUp, none)
		if len(plan.Claims) > 1 {
			spoil(Holds, one)
		}
	}
	t.Logf("caught %v of %v", caught, asked)
	for _, check := range []Check{GivenUp, Holds} {
		if caught[check] == 0 || 2*caught[check] < asked[check] {
			t.Errorf("%s: caught in %d of %d cases", check, caught[check], asked[check])
		}
	}
}
