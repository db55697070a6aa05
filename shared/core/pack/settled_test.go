package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// F128: a pod that runs well where it is does not go to a node that pods have just come to or gone from, nor to a claim
// on its way; one that waits does.
func TestF128ChurningNodesTakeNoSettledPods(t *testing.T) {
	build := func() *world {
		w := newWorld(60).pool("general", nil).node("calm", nil).node("restless", nil).running("web", "old", cpu(1000)).pods("new", 1, cpu(1000))
		w.in.Pending = []int{0, 1}
		w.in.Snapshot.Pods[0].StartedUnix = testNow - 100
		return w
	}
	on := func(plan model.Plan, pod string) string {
		for _, n := range plan.Nominations {
			for _, p := range n.Pods {
				if p.Name == pod {
					return n.Node
				}
			}
		}
		return ""
	}
	w := build()
	w.in.Snapshot.Nodes = w.in.Snapshot.Nodes[1:] // the churning one alone
	if plan := w.plan(); on(plan, "web") != "restless" || on(plan, "new-00000") != "restless" {
		t.Fatalf("where nothing is said: %+v", plan)
	}
	w.in.Settled, w.in.Churning = []int{0}, map[string]bool{"restless": true}
	if plan := w.plan(); on(plan, "web") != "" || on(plan, "new-00000") != "restless" || len(plan.Claims) != 1 {
		t.Errorf("a restless node: %+v", plan)
	}
	w = build()
	w.in.Settled, w.in.Churning = []int{0}, map[string]bool{"restless": true}
	if plan := w.plan(); on(plan, "web") != "calm" || len(plan.Claims) != 0 {
		t.Errorf("a calm node beside it: %+v", plan)
	}
	w = build()
	w.in.Snapshot.Nodes = nil
	w.in.Claims = []model.Claim{{Name: "coming", Pool: "general", Class: "default", State: model.Launched, InstanceType: "c5.4xlarge",
		Allocatable: model.Resources{model.CPU: 15000, model.Memory: 30 << 30, model.Pods: 50}, Pods: []model.PodRef{{Namespace: "default", Name: "web", UID: "uid-web"}}}}
	if plan := w.plan(); on(plan, "web") != "coming" {
		t.Fatalf("a claim on its way: %+v", plan)
	}
	w.in.Settled, w.in.Churning = []int{0}, map[string]bool{"coming": true}
	if plan := w.plan(); on(plan, "web") != "" || on(plan, "new-00000") != "coming" || len(plan.Claims) != 1 {
		t.Errorf("a restless claim: %+v", plan)
	}
}
