package reclaim

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// F120: empty nodes go together, as many as the budget allows, once consolidateAfter is over.
func TestF120EmptyNodesGoTogetherWithinTheBudget(t *testing.T) {
	w := newWorld().pool("general", after(30), budgets(model.Budget{Nodes: "3"}))
	for i := range 5 {
		w.node(fmt.Sprintf("n%d", i), "general")
	}
	w.node("busy", "general").running("web", "busy", 2)
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonEmpty, "n0", "n1", "n2")
	if len(plan.Commands) != 1 || plan.PriceBefore != 1_200_000 || plan.PriceAfter != 600_000 || !plan.Constrained || plan.Commands[0].Replacements == nil || plan.Commands[0].Moves == nil {
		t.Errorf("%+v", plan)
	}
	if got := kept(plan, "n4"); len(got) != 1 || got[0] != NodeBudget {
		t.Errorf("kept for %v", got)
	}
}
