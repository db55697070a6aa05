package pack

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestProvisionablePodsAreThoseKubeSchedulerGaveUpOn(t *testing.T) {
	tests := []struct {
		name   string
		change func(*model.Pod, *model.PodShape)
		why    string // "" = provisionable
	}{
		{"unschedulable", func(*model.Pod, *model.PodShape) {}, ""},
		{"not judged yet", func(p *model.Pod, _ *model.PodShape) { p.Unschedulable = false }, "kube-scheduler"},
		{"bound", func(p *model.Pod, _ *model.PodShape) { p.NodeName = "n" }, "bound to node n"},
		{"ended", func(p *model.Pod, _ *model.PodShape) { p.Phase = model.Failed }, "ended"},
		{"being deleted", func(p *model.Pod, _ *model.PodShape) { p.DeletedUnix = 1 }, "deleted"},
		{"gated", func(_ *model.Pod, s *model.PodShape) { s.Gated = true }, "gates"},
		{"of a DaemonSet", func(_ *model.Pod, s *model.PodShape) { s.OwnerKind = "DaemonSet" }, "DaemonSet"},
		{"M93, a system workload", func(_ *model.Pod, s *model.PodShape) { s.System = true }, "system workload"},
		{"static", func(_ *model.Pod, s *model.PodShape) { s.OwnerKind = "Node" }, "static"},
		{"of any scheduler", func(_ *model.Pod, s *model.PodShape) { s.SchedulerName = "mine" }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(8).pool("general", nil).pods("web", 1, nil)
			test.change(&w.in.Snapshot.Pods[0], &w.in.Snapshot.Shapes[0])
			ok, why := Provisionable(w.in.Snapshot, 0)
			if ok != (test.why == "") || !strings.Contains(why, test.why) {
				t.Errorf("Provisionable = %v, %q, want %q", ok, why, test.why)
			}
			if got := placed(w.plan()); (got == 1) != ok {
				t.Errorf("the plan places %d pods", got)
			}
		})
	}
	if ok, _ := Provisionable(&model.Snapshot{}, 3); ok {
		t.Error("a pod that is not there is provisionable")
	}
}

// A nomination is a preemption while somebody is to leave. Else it would keep a pod from an instance for ever where its
// node has no room for it, or is gone.
func TestC8ANominationWithoutAPreemptionIsProvisionable(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(w *world)
		preempts bool
	}{
		"a pod is leaving": {func(w *world) {
			w.running("old", "n", cpu(1000))
			w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1].DeletedUnix = 1
		}, true},
		"a pod of lower priority is there": {func(w *world) {
			w.running("old", "n", cpu(1000))
			w.in.Snapshot.Shapes[len(w.in.Snapshot.Shapes)-1].Priority = -1
		}, true},
		"a daemon of lower priority is there": {func(w *world) {
			w.running("old", "n", cpu(1000))
			shape := &w.in.Snapshot.Shapes[len(w.in.Snapshot.Shapes)-1]
			shape.Priority, shape.OwnerKind, shape.OwnerName = -1, "DaemonSet", "logs"
		}, false},
		"a pod of its priority is there": {func(w *world) { w.running("old", "n", cpu(1000)) }, false},
		"nobody is there":                {func(w *world) {}, false},
		"the node is gone":               {func(w *world) { w.in.Snapshot.Nodes = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(8).pool("general", nil).pods("web", 1, nil)
			w.node("n", func(n *model.Node) { n.Allocatable[model.CPU] = 1000 })
			w.in.Snapshot.Pods[0].NominatedNode = "n"
			test.change(w)
			ok, why := Provisionable(w.in.Snapshot, 0)
			if ok == test.preempts || Preempting(w.in.Snapshot, 0) != test.preempts || (len(Pending(w.in.Snapshot)) == 1) == test.preempts {
				t.Errorf("provisionable: %v, %q; preempting: %v; pending: %v", ok, why, Preempting(w.in.Snapshot, 0), Pending(w.in.Snapshot))
			}
		})
	}
}

func TestListedPodsArePlannedAwayFromTheirNode(t *testing.T) {
	w := newWorld(8)
	w.node("n", func(n *model.Node) { n.Allocatable[model.CPU] = 1000 })
	w.running("moving", "n", cpu(1000))
	if plan := w.plan(); placed(plan) != 0 {
		t.Fatalf("a running pod was planned: %+v", plan)
	}
	w.in.Pending = []int{0, 0, -1, 7}
	if plan := w.plan(); len(plan.Nominations) != 1 || len(plan.Nominations[0].Pods) != 1 {
		t.Errorf("nominations = %+v, want the pod once on its own node, whose room it left", plan.Nominations)
	}
}

func TestPlanOfNothingIsEmptyAndNotNil(t *testing.T) {
	for name, in := range map[string]Input{"no snapshot": {}, "empty snapshot": {Snapshot: &model.Snapshot{}}} {
		plan := Plan(in)
		if plan.Claims == nil || plan.Nominations == nil || plan.Unschedulable == nil || plan.Price != 0 {
			t.Errorf("%s: %+v", name, plan)
		}
	}
}

func TestWithoutPoolsEveryPodIsToldSo(t *testing.T) {
	if got := codes(newWorld(8).pods("web", 1, nil).plan(), "web-00000"); len(got) != 1 || got[0] != NoPools {
		t.Errorf("codes = %v, want %s", got, NoPools)
	}
}

func TestAPodWithoutASpecIsInvalid(t *testing.T) {
	w := newWorld(8).pool("general", nil).pods("web", 1, nil)
	w.in.Snapshot.Pods[0].Shape = 9
	if got := codes(w.plan(), "web-00000"); len(got) != 1 || got[0] != Invalid {
		t.Errorf("codes = %v, want %s", got, Invalid)
	}
}

func TestPodsOfNodesThatGoAwayArePlannedAhead(t *testing.T) {
	w := newWorld(64).pool("general", nil).node("stays", nil)
	w.node("goes", func(n *model.Node) { n.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}} })
	owned := func(kind string, change func(*model.PodShape)) func(*model.PodShape) {
		return func(s *model.PodShape) {
			s.OwnerKind = kind
			if change != nil {
				change(s)
			}
		}
	}
	w.running("web", "goes", owned("ReplicaSet", nil)).running("other", "stays", owned("ReplicaSet", nil))
	w.running("daemon", "goes", owned("DaemonSet", nil)).running("static", "goes", owned("Node", nil))
	w.running("busy", "goes", owned("ReplicaSet", func(s *model.PodShape) { s.DoNotDisrupt = "true" }))
	w.running("guarded", "goes", owned("ReplicaSet", func(s *model.PodShape) { s.Labels = map[string]string{"app": "guarded"} }))
	w.in.Snapshot.Budgets = []model.PDB{{Namespace: "default", Name: "never", MaxUnavailable: "0", Selector: &model.Selector{MatchLabels: map[string]string{"app": "guarded"}}}}
	var names []string
	for _, i := range Pending(w.in.Snapshot) {
		names = append(names, w.in.Snapshot.Pods[i].Name)
	}
	if len(names) != 1 || names[0] != "web" {
		t.Errorf("pods that ask for capacity: %v, want web alone", names)
	}
	if plan := w.plan(); placed(plan) != 1 || len(plan.Nominations) != 1 || plan.Nominations[0].Node != "stays" {
		t.Errorf("plan = %+v, want web on the node that stays", plan)
	}
}

// B5: pods of a node that is tainted and stays ask for nothing, as long as nobody deletes it; nothing is planned onto
// it.
func TestB5NodeThatStaysAsksForNothing(t *testing.T) {
	for name, test := range map[string]struct {
		tainted, deleted bool
		leaving          Leaving
		want             int
	}{
		"tainted, nothing more is known": {true, false, nil, 1},
		"tainted, and stays":             {true, false, Leaving{"n": Stays}, 0},
		"not tainted, and stays":         {false, false, Leaving{"n": Stays}, 0},
		"stays, and is deleted":          {true, true, Leaving{"n": Stays}, 1},
		"another stays":                  {true, false, Leaving{"m": Stays}, 1},
	} {
		w := newWorld(8)
		w.node("n", func(n *model.Node) {
			if test.tainted {
				n.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
			}
			if test.deleted {
				n.DeletedUnix = 1
			}
		})
		w.running("web", "n", nil)
		if got := PendingAt(w.in.Snapshot, test.leaving, 1_000_000); len(got) != test.want {
			t.Errorf("%s: %d pods ask for capacity, want %d", name, len(got), test.want)
		}
	}
}

// R6, R30: which pods of a node that goes away ask for a place elsewhere, and when.
func TestR6PodsThatCannotLeaveAskOnlyShortlyBeforeTheyMust(t *testing.T) {
	const now = int64(1_000_000)
	owned := func(kind string) func(*model.Pod, *model.PodShape) {
		return func(_ *model.Pod, s *model.PodShape) { s.OwnerKind = kind }
	}
	keeps := func(value string, started int64) func(*model.Pod, *model.PodShape) {
		return func(p *model.Pod, s *model.PodShape) { p.StartedUnix, s.DoNotDisrupt = started, value }
	}
	guarded := func(_ *model.Pod, s *model.PodShape) { s.Labels = map[string]string{"app": "guarded"} }
	tests := []struct {
		name     string
		change   func(*model.Pod, *model.PodShape)
		deadline int64
		want     bool
	}{
		{"any pod", owned("ReplicaSet"), 0, true},
		{"of a DaemonSet", owned("DaemonSet"), now, false},
		{"static", owned("Node"), now, false},
		{"ended", func(p *model.Pod, _ *model.PodShape) { p.Phase = model.Succeeded }, now, false},
		{"on its way out", func(p *model.Pod, _ *model.PodShape) { p.DeletedUnix = now + 5 }, now, false},
		{"of a StatefulSet on its way out", func(p *model.Pod, s *model.PodShape) { p.DeletedUnix, s.OwnerKind = now+5, "StatefulSet" }, 0, true},
		{"not to be disrupted", keeps("true", now), 0, false},
		{"not to be disrupted, deadline far", keeps("true", now), now + 3600, false},
		{"not to be disrupted, deadline near", keeps("true", now), now + 100, true},
		{"not to be disrupted, deadline over", keeps("true", now), now - 100, true},
		{"budget, deadline far", guarded, now + 3600, false},
		{"budget, deadline near", guarded, now + 100, true},
		{"budget, deadline far and grace long", func(p *model.Pod, s *model.PodShape) { guarded(p, s); s.GraceSeconds = 3500 }, now + 3600, true},
		{"not for an hour, in its first minute", keeps("1h", now-60), 0, false},
		{"not for an hour, not started", keeps("1h", 0), 0, false},
		{"not for an hour, two hours ago", keeps("1h", now-7200), 0, true},
		{"not for an hour, nearly over", keeps("1h", now-3500), 0, true},
		{"not for some nonsense", keeps("soon", now), 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(8)
			w.node("n", nil)
			w.running("web", "n", nil)
			w.in.Snapshot.Budgets = []model.PDB{{Namespace: "default", Name: "b", Selector: &model.Selector{MatchLabels: map[string]string{"app": "guarded"}}, MaxUnavailable: "0"}}
			pod := &w.in.Snapshot.Pods[0]
			test.change(pod, &w.in.Snapshot.Shapes[pod.Shape])
			if got := len(PendingAt(w.in.Snapshot, Leaving{"n": test.deadline}, now)) == 1; got != test.want {
				t.Errorf("it asks for capacity: %v, want %v", got, test.want)
			}
			if got := PendingAt(w.in.Snapshot, Leaving{"other": test.deadline}, now); len(got) != 0 {
				t.Errorf("of a node that stays: %v", got)
			}
		})
	}
}
