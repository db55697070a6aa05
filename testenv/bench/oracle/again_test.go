package oracle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/shared/model"
)

// TestAgainMissesPromises evaluates a claim that holds its pod and is recorded without it: the pod is planned once more.
func TestAgainMissesPromises(t *testing.T) {
	p := plain(t, 1, func(_ int, pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	claim := claimFor(p, "one", "a")
	claim.Zones, claim.CapacityTypes = []string{claim.Offering.Zone}, []string{claim.Offering.CapacityType}
	plan := model.Plan{Claims: []model.PlannedClaim{claim}}
	w, err := newWorld(p, &plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		taints []model.Taint
		want   int
	}{{nil, 0}, {[]model.Taint{{Key: "foreign", Effect: model.NoSchedule}}, 1}} {
		plan.Claims[0].Taints, plan.Claims[0].Pods = c.taints, nil
		var v Verdict
		if err := w.again(&v); err != nil {
			t.Fatal(err)
		}
		if len(v.Findings) != c.want {
			t.Errorf("taints %v: found %v, want %d findings", c.taints, v.Findings, c.want)
		}
	}
}
