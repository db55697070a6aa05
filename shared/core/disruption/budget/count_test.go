package budget

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// F140: a budget counts every busy node, and where budgets count by reason those of its own reasons and those that are
// busy for no reason a budget can name.
func TestF140BudgetsCountAllOrThoseOfTheirReasons(t *testing.T) {
	busy := Counts{model.ReasonDrifted: 3, model.ReasonEmpty: 2, OtherCause: 1}
	drifted := []string{model.ReasonDrifted}
	bounds := []Bound{{Nodes: 9}, {Nodes: 5, Reasons: drifted}}
	for _, c := range []struct {
		byReason    bool
		most, count int
	}{{false, 5, 6}, {true, 5, 4}} {
		bound, count := Tightest(bounds, busy, c.byReason)
		if bound.Nodes != c.most || count != c.count {
			t.Errorf("by reason %v: %d of %d, want %d of %d", c.byReason, count, bound.Nodes, c.count, c.most)
		}
	}
	if bound, count := Tightest(nil, busy, true); bound.Nodes != Unlimited || count != 6 {
		t.Errorf("without budgets: %d of %d", count, bound.Nodes)
	}
	if bound, count := Tightest(bounds, nil, false); bound.Nodes != 5 || count != 0 {
		t.Errorf("of no busy node: %d of %d", count, bound.Nodes)
	}
	pool := &model.Pool{}
	if ByReason(pool) {
		t.Error("without the annotation budgets count all")
	}
	if pool.Annotations = map[string]string{model.AnnotationByReason: "true"}; !ByReason(pool) {
		t.Error("with the annotation budgets count by reason")
	}
}

// F140: which nodes budgets measure and count, and for what.
func TestF140NodesThatBudgetsMeasureAndCount(t *testing.T) {
	ready := model.Node{Ready: true, Labels: map[string]string{model.LabelInitialized: "true"}}
	young, bad, deleted := ready, ready, ready
	young.Labels, bad.Ready, deleted.DeletedUnix = nil, false, 1
	for name, c := range map[string]struct {
		node           model.Node
		claim          *model.Claim
		disrupted      bool
		measured, busy bool
	}{
		"ready":                     {ready, &model.Claim{State: model.Initialized}, false, true, false},
		"ready, claim not known":    {ready, nil, false, true, false},
		"disrupted":                 {ready, nil, true, true, true},
		"draining":                  {ready, &model.Claim{State: model.Draining}, false, true, true},
		"terminating":               {ready, &model.Claim{State: model.Terminating}, false, false, true},
		"not ready":                 {bad, nil, false, true, true},
		"deleted":                   {deleted, nil, false, true, true},
		"not initialized":           {young, nil, false, false, false},
		"not initialized, draining": {young, &model.Claim{State: model.Draining}, true, false, false},
	} {
		if got := Measured(&c.node, c.claim); got != c.measured {
			t.Errorf("%s: measured %v", name, got)
		}
		if got := Busy(&c.node, c.claim, c.disrupted); got != c.busy {
			t.Errorf("%s: busy %v", name, got)
		}
	}
	commands := []model.Command{{ID: "a", Reason: model.ReasonExpired}, {ID: "b", Reason: model.ReasonReplicas}}
	for command, want := range map[string]string{
		"a": model.ReasonDrifted, "b": OtherCause, "c": OtherCause, "": OtherCause,
	} {
		if got := CauseOf(&model.Claim{Command: command}, commands); got != want {
			t.Errorf("command %q counts for %q, want %q", command, got, want)
		}
	}
	if got := CauseOf(nil, commands); got != OtherCause {
		t.Errorf("without a claim: %q", got)
	}
}
