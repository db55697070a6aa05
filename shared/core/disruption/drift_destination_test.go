package disruption

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// TestDriftedNodesThatTakePodsOfTheSamePlanStay guards that a plan does not disrupt a node it has just moved pods to, be
// it because that drifted too: those pods would be moved twice, and the second command does not know of them.
func TestDriftedNodesThatTakePodsOfTheSamePlanStay(t *testing.T) {
	drifted := func(_ *model.Node, c *model.Claim) { c.Drift, c.DriftUnix = "NodePoolDrift", testNow-600 }
	w := newWorld().pool("pool").node("a", "pool", drifted).node("b", "pool", drifted).node("c", "pool", drifted)
	for _, node := range []string{"a", "b", "c"} {
		w.running("app", node, 1)
	}
	plan := Plan(w.in)
	if len(plan.Commands) == 0 {
		t.Fatal("no drifted node is replaced")
	}
	gone := map[string]bool{}
	for _, c := range plan.Commands {
		if c.Reason != model.ReasonDrifted {
			t.Errorf("%v are given back as %s", c.Nodes, c.Reason)
		}
		for _, name := range c.Nodes {
			gone[name] = true
		}
	}
	for _, c := range plan.Commands {
		for _, m := range c.Moves {
			if gone[m.Node] {
				t.Errorf("pods of %v move to %s, which goes in the same plan", c.Nodes, m.Node)
			}
		}
	}
}
