package disruption

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// Pods that another's spread counts do not join it on a node in the same plan, whichever command is carried out first.
func TestK1CommandsOfOnePlanHoldTogether(t *testing.T) {
	w := zoned().pool("p").node("a", "p").node("b", "p").node("c", "p")
	w.running("web", "a", 1, spreadOver(model.LabelZone, 1))
	w.running("web", "b", 1, spreadOver(model.LabelZone, 1))
	w.running("web", "c", 1, spreadOver(model.LabelZone, 1))
	v := newPlanner(&w.in, nil)
	first := model.PlannedCommand{Nodes: []string{"a"}, Moves: []model.Nomination{{Node: "c", Pods: []model.PodRef{w.in.Snapshot.Pods[0].Ref()}}}}
	if no := v.unbalanced(&first, []*poolNode{v.fork.byName["a"]}); no != nil {
		t.Fatalf("a move within a zone is refused: %v", no)
	}
	for i := range w.in.Snapshot.Nodes {
		w.in.Snapshot.Nodes[i].Labels[model.LabelZone] = w.in.Snapshot.Nodes[i].Name
	}
	v = newPlanner(&w.in, nil)
	if no := v.unbalanced(&first, []*poolNode{v.fork.byName["a"]}); no == nil || no.Code != SpreadWaits {
		t.Errorf("a zone is given up: %v", no)
	}
	w = zoned().pool("p")
	for _, zone := range []string{"a", "b", "c"} {
		w.node(zone+"0", "p", inZone(zone)).node(zone+"1", "p", inZone(zone))
	}
	w.running("web", "a0", 1, spreadOver(model.LabelZone, 1)).running("web", "a1", 1, spreadOver(model.LabelZone, 1)).running("web", "b0", 1, spreadOver(model.LabelZone, 1))
	v = newPlanner(&w.in, nil)
	out := model.PlannedCommand{Nodes: []string{"a0"}, Moves: []model.Nomination{{Node: "c0", Pods: []model.PodRef{w.in.Snapshot.Pods[0].Ref()}}}}
	if no := v.unbalanced(&out, []*poolNode{v.fork.byName["a0"]}); no != nil {
		t.Fatalf("a move to an empty zone is refused: %v", no)
	}
	back := model.PlannedCommand{Nodes: []string{"b0"}, Moves: []model.Nomination{{Node: "c0", Pods: []model.PodRef{w.in.Snapshot.Pods[2].Ref()}}}}
	if no := v.unbalanced(&back, []*poolNode{v.fork.byName["b0"]}); no == nil || no.Code != SpreadBusy {
		t.Errorf("two commands fill a zone and empty another: %v", no)
	}
}

// counting has pods spread over zones by where pods of another app are.
func counting(app string, maxSkew int32) func(*model.PodShape) {
	return spreadOver(model.LabelZone, maxSkew, func(s *model.Spread) { s.Selector = &model.Selector{MatchLabels: map[string]string{"app": app}} })
}

// The first pod that leaves may be any of a command's: it does not count on others that leave after it.
func TestK1PodsOfOneCommandDoNotWaitForEachOther(t *testing.T) {
	build := func() *world {
		w := zoned().pool("p").node("a0", "p", inZone("a")).node("a1", "p", inZone("a")).node("b", "p", inZone("b")).node("c", "p", inZone("c"))
		return w.running("web", "a1", 2, spreadOver(model.LabelZone, 1))
	}
	alike := build().running("web", "a0", 4, spreadOver(model.LabelZone, 1))
	unlike := build().running("web", "a0", 2, spreadOver(model.LabelZone, 1)).running("other", "a0", 2, func(s *model.PodShape) { s.Labels = map[string]string{"app": "web"} }, spreadOver(model.LabelZone, 1))
	bound := build().running("web", "a0", 4, spreadOver(model.LabelZone, 1), near(model.LabelZone, "web"))
	for name, c := range map[string]struct {
		w      *world
		reason string
		want   string
	}{
		"pods that take each other's place":   {alike, model.ReasonUnderutilized, ""},
		"pods that do not":                    {unlike, model.ReasonUnderutilized, SpreadWaits},
		"pods of one kind with another rule":  {bound, model.ReasonUnderutilized, SpreadWaits},
		"a node is not kept for ever for it":  {unlike, model.ReasonDrifted, ""},
		"nor if it has become older than may": {unlike, model.ReasonExpired, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := newPlanner(&c.w.in, nil)
			ref := func(n int) model.PodRef { return c.w.in.Snapshot.Pods[n+2].Ref() }
			command := model.PlannedCommand{Reason: c.reason, Nodes: []string{"a0"}, Moves: []model.Nomination{
				{Node: "b", Pods: []model.PodRef{ref(0), ref(1)}}, {Node: "c", Pods: []model.PodRef{ref(2), ref(3)}}}}
			for _, no := range []*model.KeptReason{v.spread.Alone(&command, v.fork.byName["a0"].Pods), v.unbalanced(&command, []*poolNode{v.fork.byName["a0"]})} {
				if no == nil && c.want != "" || no != nil && no.Code != c.want {
					t.Errorf("%v, want %q", no, c.want)
				}
			}
		})
	}
}

// stays keeps a node from being disrupted voluntarily.
func stays(n *model.Node, _ *model.Claim) {
	n.Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
}

// Where two nodes can go together only in one order the one that can go by itself goes, and the other once that is
// done.
func TestK1OneNodeGoesWherePodsOfTwoWouldWait(t *testing.T) {
	w := zoned().pool("p", budgets(model.Budget{Nodes: "100%"})).node("a", "p", inZone("a")).node("b", "p", inZone("b"), stays).node("c0", "p", inZone("c")).node("c1", "p", inZone("c"), stays)
	w.running("cache", "a", 1, counting("db", 1)).running("db", "b", 2).running("db", "c0", 1).running("db", "c1", 1)
	w.running("filler", "b", 1).running("filler", "c1", 1)
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized, "c0")
	if plan.ReplanUnix != testNow+soonSeconds {
		t.Errorf("the plan is made again at %d, want %d", plan.ReplanUnix, testNow+soonSeconds)
	}
	for _, m := range plan.Commands[0].Moves { // it is carried out
		for _, ref := range m.Pods {
			for i := range w.in.Snapshot.Pods {
				if p := &w.in.Snapshot.Pods[i]; p.Ref() == ref {
					p.NodeName = m.Node
				}
			}
		}
	}
	w.in.Snapshot.Nodes = append(w.in.Snapshot.Nodes[:2:2], w.in.Snapshot.Nodes[3])
	w.in.Claims = append(w.in.Claims[:2:2], w.in.Claims[3])
	wantGiven(t, Plan(w.in), model.ReasonUnderutilized, "a")
}
