package ekscluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// With the chart's permissions and on condition of the UID, while the pod is on no node.
func TestM2APodIsNominatedToANode(t *testing.T) {
	c := connectAs(t, functionRole)
	waiting := podOn(t, "", "waiting", func(p *corev1.Pod) { p.Spec.SchedulerName = "nobody" })
	if err := c.Nominate(t.Context(), refOf(waiting), "n1"); err != nil {
		t.Fatal(err)
	}
	if got := readPod(t, waiting.Name); got.Status.NominatedNodeName != "n1" || got.Status.Phase != waiting.Status.Phase || len(got.Status.Conditions) != len(waiting.Status.Conditions) {
		t.Errorf("its status: %+v", got.Status)
	}
	if err := c.Nominate(t.Context(), refOf(waiting), "n2"); err != nil || readPod(t, waiting.Name).Status.NominatedNodeName != "n2" {
		t.Errorf("to another node: %v, %s", err, readPod(t, waiting.Name).Status.NominatedNodeName)
	}

	other := refOf(waiting)
	other.UID = "6f1c2d3e-0000-4000-8000-000000000001"
	if err := c.Nominate(t.Context(), other, "n3"); !fault.Is(err, fault.Conflict) || readPod(t, waiting.Name).Status.NominatedNodeName != "n2" {
		t.Errorf("another pod of the name: %v", err)
	}
	if err := c.Nominate(t.Context(), model.PodRef{Namespace: "default", Name: unique("gone"), UID: "1"}, "n1"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a pod that is gone: %v", err)
	}
	if err := c.Nominate(t.Context(), model.PodRef{Namespace: "default", Name: waiting.Name}, "n1"); !fault.Is(err, fault.Invalid) {
		t.Errorf("without a UID: %v", err)
	}
	node := unique("bound")
	createNode(t, node)
	if bound := podOn(t, node, "bound", nil); !fault.Is(c.Nominate(t.Context(), refOf(bound), "n1"), fault.Conflict) {
		t.Error("a pod that is bound is nominated")
	}
}
