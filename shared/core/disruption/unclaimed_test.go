package disruption

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// F3: where claims cannot be read, a node without one may be ending: it takes of the budget, and is never disrupted.
func TestF3NodesOfClaimsThatCannotBeReadTakeOfTheBudget(t *testing.T) {
	for unclaimed, left := range map[bool]int{false: 3, true: 2} {
		w := newWorld().pool("general", budgets(model.Budget{Nodes: "3"})).node("z", "general")
		for i := range 8 {
			w.node(fmt.Sprintf("n%d", i), "general")
		}
		w.in.Claims = slices.DeleteFunc(w.in.Claims, func(c model.Claim) bool { return c.NodeName == "z" })
		w.in.Unclaimed = unclaimed
		if got := given(Plan(w.in), model.ReasonEmpty); len(got) != left || slices.Contains(got, "z") {
			t.Errorf("claims cannot be read: %t, given back: %v", unclaimed, got)
		}
	}
}
