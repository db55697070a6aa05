package disruption

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// M94: a plan counts the nodes that are to be disrupted and wait, by reason and by what is in their way, and what is
// not saved by it. Nodes that serve well, that are on their way out, or that people keep for good wait for nothing.
func TestM94PlansCountWhatWaits(t *testing.T) {
	shielded := func(s *model.PodShape) { s.DoNotDisrupt = "true" }
	w := newWorld().pool("general", budgets(model.Budget{Nodes: "2", Reasons: []string{model.ReasonEmpty}},
		model.Budget{Nodes: "50%"})).
		node("empty1", "general").node("empty2", "general").node("empty3", "general").
		node("drifted", "general", drifted(testNow-60)).running("db", "drifted", 3, cpu(1000), shielded).
		node("fine", "general").running("web", "fine", 3, cpu(1000), shielded).
		pool("kept", never).node("empty4", "kept")
	plan := Plan(w.in)
	want := []model.WaitingNodes{
		{Reason: model.ReasonDrifted, Blocker: "Pods", Nodes: 1},
		{Reason: model.ReasonEmpty, Blocker: "Budget", Nodes: 1},
	}
	if !slices.Equal(plan.Waiting, want) || plan.Delayed != 200_000 {
		t.Errorf("%+v wait, $%g delayed", plan.Waiting, plan.Delayed.USD())
	}
}

// M94: commands to consolidate that budgets have wait are savings that are delayed.
func TestM94SavingsThatWaitAreDelayed(t *testing.T) {
	build := func(nodes string) *world {
		return newWorld().pool("general", budgets(model.Budget{Nodes: nodes})).
			node("a", "general").running("a", "a", 1).node("b", "general").running("b", "b", 1).
			node("c", "general").running("c", "c", 1)
	}
	if plan := Plan(build("100%").in); plan.Delayed != 0 || len(plan.Commands) == 0 {
		t.Errorf("nothing is in the way: $%g delayed, %+v", plan.Delayed.USD(), plan.Commands)
	}
	w := build("1")
	w.in.Snapshot.Nodes[0].Ready = false
	if plan := Plan(w.in); len(plan.Waiting) != 0 {
		t.Errorf("%+v", plan.Waiting)
	}
}
