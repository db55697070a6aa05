package translate

import (
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func overlayFrom(t *testing.T, text string) model.Overlay {
	t.Helper()
	return OverlayOf(documents(t, text)[0])
}

func TestF020NodeOverlayIsRead(t *testing.T) {
	got := overlayFrom(t, `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: gpu, uid: u, generation: 3}
spec:
  weight: 7
  priceAdjustment: "-10%"
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}]
  capacity: {smarter-devices/fuse: 1, hugepages-2Mi: 512Mi}
status:
  conditions:
  - {type: ValidationSucceeded, status: "False", reason: Conflict, message: why, observedGeneration: 2,
     lastTransitionTime: "2026-01-01T00:00:00Z"}
`)
	want := model.Overlay{
		Name: "gpu", UID: "u", Generation: 3, Weight: 7, PriceAdjustment: "-10%",
		Requirements: []model.Requirement{
			{Key: "node.kubernetes.io/instance-type", Operator: model.In, Values: []string{"m5.large"}},
		},
		Capacity: model.Resources{"smarter-devices/fuse": 1, "hugepages-2Mi": 512 << 20},
		Status:   model.OverlayStatus{Status: "False", Reason: "Conflict", Message: "why", Generation: 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestF020NodeOverlayThatCannotBeAppliedSaysWhy(t *testing.T) {
	for spec, want := range map[string]string{
		`{price: "1", priceAdjustment: "+1", requirements: []}`:             "spec.priceAdjustment",
		`{capacity: {cpu: 1}, requirements: []}`:                            "spec.capacity[cpu]",
		`{weight: 10001, requirements: []}`:                                 "spec.weight",
		`{requirements: [{key: kubernetes.io/hostname, operator: Exists}]}`: "spec.requirements[0].key",
		`{requirements: none}`:                                              "spec: cannot be read",
	} {
		got := overlayFrom(t,
			"{apiVersion: karpenter.sh/v1alpha1, kind: NodeOverlay, metadata: {name: a}, spec: "+spec+"}")
		if len(got.Invalid) != 1 || !strings.Contains(got.Invalid[0], want) {
			t.Errorf("%s: %q, want %q", spec, got.Invalid, want)
		}
	}
}
