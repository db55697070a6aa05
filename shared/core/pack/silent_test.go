package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// M66, M112: a pod of another scheduler is planned for once that scheduler says that nothing can hold it, and not
// before.
func TestM66PodsOfOtherSchedulersArePlannedForOnceTheyAreUnschedulable(t *testing.T) {
	for name, c := range map[string]struct {
		unschedulable bool
		placed        int
	}{"its scheduler gave up": {true, 1}, "its scheduler has not seen it": {false, 0}} {
		w := newWorld(8).pool("general", nil).pods("web", 1, nil)
		w.in.Snapshot.Shapes[0].SchedulerName = "volcano"
		w.in.Snapshot.Pods[0].Unschedulable = c.unschedulable
		if got := placed(w.plan()); got != c.placed {
			t.Errorf("%s: the plan places %d pods, want %d", name, got, c.placed)
		}
	}
}

// R13, M34: a pod for which kube-scheduler makes room on a node gets no other node, and pods beside it do.
func TestR13APodThatPreemptsIsNotPlannedFor(t *testing.T) {
	build := func(leaving bool) model.Plan {
		w := newWorld(8).pool("general", nil).pods("web", 2, nil)
		w.node("n", func(n *model.Node) { n.Allocatable[model.CPU] = 1000 })
		w.running("old", "n", cpu(1000))
		w.in.Snapshot.Shapes[len(w.in.Snapshot.Shapes)-1].Priority = -1
		if leaving {
			w.in.Snapshot.Pods[0].NominatedNode = "n"
		}
		return w.plan()
	}
	if got := placed(build(false)); got != 2 {
		t.Fatalf("without a preemption %d pods are placed: the case shows nothing", got)
	}
	if got := placed(build(true)); got != 1 {
		t.Errorf("%d pods are placed, want the one that preempts nobody", got)
	}
}
