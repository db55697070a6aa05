package disruption

import (
	"slices"
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

// TestAnInstanceOfAFailedReplacementIsAwaited holds what Karpenter's suite expects of "Drift Failure": the replacement
// of a drifted node joined and was not initialized in time. Its command was undone. As long as it is there and not
// initialized, no further instance is launched for pods that fit it; once it is initialized, they move to it.
func TestAnInstanceOfAFailedReplacementIsAwaited(t *testing.T) {
	for _, c := range []struct {
		name     string
		undone   bool // it is the replacement of a command that was undone
		ready    bool // it is initialized
		full     bool // pods of the node do not fit it
		launched int  // instances that are launched
		kept     bool // the node stays, since it is awaited
	}{
		{name: "not initialized", undone: true, kept: true},
		{name: "initialized", undone: true, ready: true},
		{name: "not initialized, and of no command", launched: 1},
		{name: "not initialized, and too small", undone: true, full: true, launched: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld().pool("pool", never).node("a", "pool", drifted(testNow-600))
			w.node("b", "pool", func(n *model.Node, claim *model.Claim) {
				if c.full {
					n.Allocatable[model.CPU] = 100
				}
				if !c.ready {
					delete(n.Labels, model.LabelInitialized)
					claim.State, claim.InitializedUnix = model.Registered, 0
				}
			}).running("app", "a", 1)
			if c.undone {
				w.node("gone", "pool").command("c1", model.ReasonDrifted, model.CommandUndone, []string{"gone"},
					func(command *model.Command) {
						command.FailureCode = model.ReplacementFailed
						command.Replacements = []model.PlannedClaim{{Name: "claim-b", Pool: "pool"}}
					})
				w.in.Claims, w.in.Snapshot.Nodes = w.in.Claims[:2], w.in.Snapshot.Nodes[:2] // it is gone
			}
			plan := Plan(w.in)
			launched := 0
			for _, command := range plan.Commands {
				launched += len(command.Replacements)
			}
			if launched != c.launched || (len(plan.Commands) == 0) != c.kept {
				t.Errorf("%d instances are launched by %d commands; want %d, kept %v", launched, len(plan.Commands),
					c.launched, c.kept)
			}
			if why := kept(plan, "a"); c.kept != slices.Contains(why, NotInitialized) {
				t.Errorf("node a stays for %v", why)
			}
		})
	}
}
