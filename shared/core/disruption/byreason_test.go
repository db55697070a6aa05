package disruption

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func byReason(p *model.Pool) { p.Annotations = map[string]string{model.AnnotationByReason: "true"} }

// mixed is a world of a NodePool with two nodes that drifted, one of which a command disrupts, and two empty ones. Its
// budgets let one go for drift and one for being empty.
func mixed(changes ...func(*model.Pool)) *world {
	return newWorld().pool("general", append([]func(*model.Pool){budgets(
		model.Budget{Nodes: "1", Reasons: []string{model.ReasonDrifted}},
		model.Budget{Nodes: "1", Reasons: []string{model.ReasonEmpty, model.ReasonUnderutilized}},
	)}, changes...)...).
		node("d1", "general", drifted(testNow-300)).
		node("d2", "general", drifted(testNow-200)).running("d2", "d2", 3, cpu(1000)).
		node("e1", "general").node("e2", "general").
		command("x", model.ReasonDrifted, model.CommandReplacing, []string{"d1"})
}

// M89: with the annotation each budget that names reasons counts what is disrupted for these: nodes that drift leave
// room for empty ones, and not for others that drifted. Without it all count for every budget, as with Karpenter.
func TestM89BudgetsCountTheirOwnReasons(t *testing.T) {
	plan := Plan(mixed().in)
	if len(plan.Commands) != 0 {
		t.Errorf("without it: %+v", plan.Commands)
	}
	plan = Plan(mixed(byReason).in)
	wantGiven(t, plan, model.ReasonEmpty, "e1")
	wantGiven(t, plan, model.ReasonDrifted)
	for _, node := range []string{"d2", "e2"} {
		if got := kept(plan, node); !slices.Contains(got, NodeBudget) {
			t.Errorf("%s is kept for %v", node, got)
		}
	}
	const says = "allow 1 of its 4 nodes to be disrupted at once (Empty): 0 are disrupted or not ready, and 1 others"
	for _, k := range plan.Kept {
		if k.Node == "e2" && !strings.Contains(k.Reasons[0].Message, says) {
			t.Errorf("e2: %s", k.Reasons[0].Message)
		}
	}
}

// M89: a node that drains counts for the reason of its command. One that is not ready, or ends for what no budget names,
// counts for all. A budget without reasons counts every node.
func TestM89WhatElseCounts(t *testing.T) {
	done := func(w *world) *world {
		w.in.Commands[0].State, w.in.Claims[0].State = model.CommandDone, model.Draining
		return w
	}
	wantGiven(t, Plan(done(mixed(byReason)).in), model.ReasonEmpty, "e1")
	w := done(mixed(byReason))
	w.in.Claims[0].Command = ""
	wantGiven(t, Plan(w.in), model.ReasonEmpty)
	w = mixed(byReason)
	w.in.Snapshot.Nodes[1].Ready = false
	wantGiven(t, Plan(w.in), model.ReasonEmpty)
	w = mixed(byReason, func(p *model.Pool) {
		p.Disruption.Budgets = append(p.Disruption.Budgets, model.Budget{Nodes: "1"})
	})
	wantGiven(t, Plan(w.in), model.ReasonEmpty)
}
