package reclaim

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
	v := newView(&w.in, nil)
	first := model.PlannedCommand{Nodes: []string{"a"}, Moves: []model.Nomination{{Node: "c", Pods: []model.PodRef{w.in.Snapshot.Pods[0].Ref()}}}}
	if no := v.unbalanced(&first, []*member{v.byName["a"]}); no != nil {
		t.Fatalf("a move within a zone is refused: %v", no)
	}
	for i := range w.in.Snapshot.Nodes {
		w.in.Snapshot.Nodes[i].Labels[model.LabelZone] = w.in.Snapshot.Nodes[i].Name
	}
	v = newView(&w.in, nil)
	if no := v.unbalanced(&first, []*member{v.byName["a"]}); no == nil || no.Code != SpreadBusy {
		t.Errorf("a zone is given up: %v", no)
	}
	w = zoned().pool("p")
	for _, zone := range []string{"a", "b", "c"} {
		w.node(zone+"0", "p", inZone(zone)).node(zone+"1", "p", inZone(zone))
	}
	w.running("web", "a0", 1, spreadOver(model.LabelZone, 1)).running("web", "a1", 1, spreadOver(model.LabelZone, 1)).running("web", "b0", 1, spreadOver(model.LabelZone, 1))
	v = newView(&w.in, nil)
	out := model.PlannedCommand{Nodes: []string{"a0"}, Moves: []model.Nomination{{Node: "c0", Pods: []model.PodRef{w.in.Snapshot.Pods[0].Ref()}}}}
	if no := v.unbalanced(&out, []*member{v.byName["a0"]}); no != nil {
		t.Fatalf("a move to an empty zone is refused: %v", no)
	}
	back := model.PlannedCommand{Nodes: []string{"b0"}, Moves: []model.Nomination{{Node: "c0", Pods: []model.PodRef{w.in.Snapshot.Pods[2].Ref()}}}}
	if no := v.unbalanced(&back, []*member{v.byName["b0"]}); no == nil || no.Code != SpreadBusy {
		t.Errorf("two commands fill a zone and empty another: %v", no)
	}
}
