package disruption

import (
	"fmt"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

const gpuClaim = `{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.nvidia.com",` +
	`"allocationMode":"ExactCount","count":1}}]}}`

// gpus publishes so many GPUs of a node.
func (w *world) gpus(node string, count int) *world {
	var devices []string
	for i := range count {
		devices = append(devices, fmt.Sprintf(`{"name":"gpu-%d"}`, i))
	}
	w.in.Snapshot.ResourceSlices = append(w.in.Snapshot.ResourceSlices, model.ResourceSlice{
		Name: node, Driver: "gpu.nvidia.com", Node: node,
		Spec: fmt.Sprintf(`{"driver":"gpu.nvidia.com","nodeName":%q,`+
			`"pool":{"name":%q,"resourceSliceCount":1},"devices":[%s]}`, node, node, strings.Join(devices, ","))})
	return w
}

// holding gives the last pod a claim of its own, to which a device of its node is allocated.
func (w *world) holding(device string) *world {
	s := w.in.Snapshot
	pod := &s.Pods[len(s.Pods)-1]
	s.Shapes[pod.Shape].DynamicResource = true
	s.Shapes[pod.Shape].DeviceClaims = []model.PodClaim{{Name: "gpu", Template: "one"}}
	s.ResourceClaims = append(s.ResourceClaims, model.ResourceClaim{Namespace: "default", Name: pod.Name + "-gpu",
		PodUID: pod.UID, PodClaim: "gpu", Spec: gpuClaim, ReservedFor: []string{pod.UID},
		Allocation: fmt.Sprintf(`{"devices":{"results":[{"request":"gpu","driver":"gpu.nvidia.com","pool":%q,`+
			`"device":%q}]}}`, pod.NodeName, device),
		Affinity: []model.NodeTerm{{Fields: []model.Requirement{
			{Key: "metadata.name", Operator: model.In, Values: []string{pod.NodeName}}}}}})
	return w
}

func newDeviceWorld() *world {
	w := newWorld().pool("general")
	w.in.Snapshot.DeviceClasses = []model.DeviceClass{{Name: "gpu.nvidia.com",
		Spec: `{"selectors":[{"cel":{"expression":"device.driver == 'gpu.nvidia.com'"}}]}`}}
	w.in.Snapshot.ResourceClaimTemplates = []model.ResourceClaimTemplate{{Namespace: "default", Name: "one",
		Spec: gpuClaim}}
	return w
}

// A node goes where another has devices for the pods that claim some, and stays where none has.
func TestF095NodesGoOnlyWhereThereAreDevicesForTheirPods(t *testing.T) {
	for _, free := range []int{0, 1} {
		w := newDeviceWorld().node("a", "general").node("b", "general").gpus("a", 1).gpus("b", 1+free)
		w.running("train", "a", 1).holding("gpu-0").running("api", "b", 1).holding("gpu-0").running("web", "b", 4)
		plan := Plan(w.in)
		var want []string
		if free == 1 {
			want = []string{"a"}
		}
		wantGiven(t, plan, model.ReasonUnderutilized, want...)
	}
}

// What is taken away together is placed together: two pods do not get one device.
func TestF095NodesThatGoTogetherNeedDevicesForAll(t *testing.T) {
	w := newDeviceWorld().node("a", "general").node("b", "general").node("c", "general").gpus("a", 1).gpus("b",
		1).gpus("c", 2)
	w.running("train", "a", 1).holding("gpu-0").running("learn", "b", 1).holding("gpu-0")
	w.running("api", "c", 1).holding("gpu-0").running("web", "c", 3)
	plan := Plan(w.in)
	if got := len(given(plan, model.ReasonUnderutilized)); got != 1 {
		t.Errorf("%d nodes go for one free device: %+v", got, plan.Commands)
	}
}
