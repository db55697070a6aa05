package disruption

import (
	"fmt"
	"slices"
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

// F120: a command disrupts as many nodes as the ledger writes at once, and of one pool.
func TestF120ManyEmptyNodesAreSeveralCommands(t *testing.T) {
	w := newWorld().pool("a").pool("b")
	for i := range 2*model.MaxCommandNodes + 3 {
		w.node(fmt.Sprintf("a%03d", i), "a")
	}
	w.node("b000", "b")
	plan := Plan(w.in)
	var sizes []int
	for _, c := range plan.Commands {
		sizes = append(sizes, len(c.Nodes))
	}
	if !slices.Equal(sizes, []int{model.MaxCommandNodes, model.MaxCommandNodes, 3, 1}) || plan.Constrained || plan.PriceAfter != 0 {
		t.Errorf("%v, %d", sizes, plan.PriceAfter)
	}
	w.in.Settings.MaxCommands = 2
	plan = Plan(w.in)
	if len(plan.Commands) != 2 || plan.ReplanUnix == 0 || !slices.Equal(kept(plan, "b000"), []string{TooManyCommands}) {
		t.Errorf("%d commands, again at now%+d, b000 kept for %v", len(plan.Commands), plan.ReplanUnix-testNow, kept(plan, "b000"))
	}
}

// F120: nodes that save most for what they disturb go first, and those that pods need that wait do not.
func TestF120MostExpensiveFirstAndNoneThatIsNeeded(t *testing.T) {
	large := func(n *model.Node, c *model.Claim) {
		n.Labels[model.LabelInstanceType], c.InstanceType = "m5.4xlarge", "m5.4xlarge"
	}
	w := newWorld().pool("general", budgets(model.Budget{Nodes: "1"})).node("a", "general").node("z", "general", large)
	wantGiven(t, Plan(w.in), model.ReasonEmpty, "z")
	w = newWorld().pool("general").node("a", "general").node("b", "general").pending("late", 1)
	plan := Plan(w.in)
	if got := given(plan, model.ReasonEmpty); len(got) != 1 || len(plan.Kept) != 1 || !slices.Equal(kept(plan, plan.Kept[0].Node), []string{PodsExpected}) {
		t.Errorf("%v, %+v", got, plan.Kept)
	}
}
