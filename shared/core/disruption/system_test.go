package disruption

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func system(s *model.PodShape) { s.System = true }

// M93: a node with nothing but system workloads is empty, also where only empty nodes are consolidated, and its pods
// neither begin consolidateAfter anew nor are planned for. Beside others they cost nothing to move.
func TestM93SystemWorkloadsKeepNoNode(t *testing.T) {
	w := newWorld().pool("general", after(600), func(p *model.Pool) { p.Disruption.Policy = "WhenEmpty" }).
		node("agents", "general").running("agent", "agents", 3, system).
		node("web", "general").running("agent", "web", 1, system).running("web", "web", 1)
	for i := range w.in.Snapshot.Pods {
		if pod := &w.in.Snapshot.Pods[i]; w.in.Snapshot.ShapeOf(pod).System {
			pod.StartedUnix = testNow - 5
		}
	}
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonEmpty, "agents")
	for _, c := range plan.Commands {
		if len(c.Moves)+len(c.Replacements) > 0 {
			t.Errorf("something is planned for them: %+v", c)
		}
	}
	found, _ := candidates(&w.in)
	if len(found) != 1 {
		t.Errorf("%d nodes may be disrupted", len(found))
	}
}

// M93: a system workload that came after its node was evaluated as empty does not keep it; its do-not-disrupt does.
func TestM93SystemWorkloadsThatComeKeepNoNode(t *testing.T) {
	node := model.Occupied{ReadUnix: testNow, Pods: []model.Occupant{{
		PodRef: model.PodRef{Namespace: "kube-system", Name: "agent", UID: "new"}, Phase: model.Running, System: true,
	}}}
	s := Sighting{Reason: model.ReasonEmpty, Target: &model.Target{}, Claim: &model.Claim{}, Node: &node}
	if got := Live(s); len(got) != 0 {
		t.Errorf("%v", got)
	}
	node.Pods[0].DoNotDisrupt = "true"
	if got := Live(s); len(got) != 1 || got[0].Code != PodDoNotDisrupt {
		t.Errorf("%v", got)
	}
}
