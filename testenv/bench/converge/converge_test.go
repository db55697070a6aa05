package converge

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/bound"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

func clusterOf(t *testing.T, spec problem.Spec) *problem.Problem {
	t.Helper()
	p, err := problem.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlainWayConvergesByTheRules guards the runner, the carrying out and the checker together: what is plainly right is
// found right, step by step, and ends.
func TestPlainWayConvergesByTheRules(t *testing.T) {
	p := clusterOf(t, problem.Spec{Family: "underused", Nodes: 8, Types: 100})
	pods := len(p.Displaced())
	r, err := Run(p, OneByOne, Options{Decisions: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.String())
	for _, v := range r.Violations {
		t.Error(v)
	}
	least := bound.Price(p.FromNothing(), bound.Options{EmptyHost: true, EveryZone: true, Branches: 100_000}).PerHour
	if !r.Finished || r.Decisions < 3 || r.PodsMoved < pods/2 || r.PriceLast >= 0.6*r.PriceFirst || r.PriceLast < least {
		t.Errorf("the bound is $%v/h: %+v", least, r)
	}
	if r.MaxSeconds <= 0 || r.MedianSeconds > r.MaxSeconds || r.LastSeconds <= 0 || r.AllocBytes == 0 {
		t.Errorf("measured %+v", r)
	}
}

// TestDecisionsThatUndoEachOtherAreToldFromAnEnd guards that a loop is not taken for a convergence.
func TestDecisionsThatUndoEachOtherAreToldFromAnEnd(t *testing.T) {
	p := clusterOf(t, problem.Spec{Family: "underused", Nodes: 3, Types: 50})
	again := func(in disruption.Input) model.DisruptPlan { // each node for one like it
		plan := OneByOne(in)
		node := &in.Snapshot.Nodes[0]
		claim := model.PlannedClaim{Name: "again-" + strings.TrimPrefix(node.Name, "again-"), Pool: node.Pool(), Class: "default", InstanceTypes: []string{node.Labels[model.LabelInstanceType]},
			Offering: model.OfferingKey{InstanceType: node.Labels[model.LabelInstanceType], Zone: node.Labels[model.LabelZone], CapacityType: node.Labels[model.LabelCapacityType]}}
		claim.Name += "x"
		for i := range in.Snapshot.Pods {
			if pod := &in.Snapshot.Pods[i]; pod.NodeName == node.Name {
				claim.Pods = append(claim.Pods, model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID})
			}
		}
		plan.Commands = []model.PlannedCommand{{Reason: model.ReasonUnderutilized, Nodes: []string{node.Name}, Replacements: []model.PlannedClaim{claim}}}
		return plan
	}
	r, err := Run(p, again, Options{Decisions: 4})
	if err != nil {
		t.Fatal(err)
	}
	if r.Finished || r.Decisions != 4 || len(r.Violations) == 0 {
		t.Errorf("finished %v after %d decisions with %d violations", r.Finished, r.Decisions, len(r.Violations))
	}
}

// TestPlansThatLosePodsAreErrors guards that nothing is carried out that leaves a pod nowhere.
func TestPlansThatLosePodsAreErrors(t *testing.T) {
	p := clusterOf(t, problem.Spec{Family: "underused", Nodes: 3, Types: 50})
	for name, command := range map[string]model.PlannedCommand{
		"a node there is not":  {Nodes: []string{"nowhere"}},
		"pods without a place": {Nodes: []string{"node-00000"}},
		"a type there is not":  {Nodes: []string{"node-00000"}, Replacements: []model.PlannedClaim{{Name: "new", Pool: "default"}}},
	} {
		lost := func(disruption.Input) model.DisruptPlan {
			return model.DisruptPlan{Commands: []model.PlannedCommand{command}}
		}
		if _, err := Run(p, lost, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
