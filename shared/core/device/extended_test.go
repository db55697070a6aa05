package device_test

import (
	"encoding/json"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/joiner-sh/joiner/shared/core/device"
	"github.com/joiner-sh/joiner/shared/model"
)

// F095: kube-scheduler takes the newest of the classes that stand for one extended resource, then the first by name.
func TestF095NewestClassStandsForAnExtendedResource(t *testing.T) {
	class := func(name string, created int64) model.DeviceClass {
		return model.DeviceClass{Name: name, Spec: `{"extendedResourceName":"example.com/gpu"}`, CreatedUnix: created}
	}
	for want, classes := range map[string][]model.DeviceClass{
		"new": {class("a", 1), class("new", 2), class("z", 1)},
		"b":   {class("c", 3), class("b", 3), class("a", 2)},
		"a":   {class("b", 0), class("a", 0)}, // of a version that did not note when
	} {
		if got := device.Extended(&model.Snapshot{DeviceClasses: classes})["example.com/gpu"]; got != want {
			t.Errorf("%+v: class %s, want %s", classes, got, want)
		}
	}
}

// F095: two containers that request an extended resource make two requests of a claim, which can share a device.
func TestF095ContainersHaveRequestsOfTheirOwn(t *testing.T) {
	const gpu = "example.com/gpu"
	for text, c := range map[string]struct{ parts, want []int64 }{
		"one container":                    {nil, []int64{3}},
		"two":                              {[]int64{2, 1}, []int64{2, 1}},
		"a request that was changed since": {[]int64{2, 2}, []int64{3}},
	} {
		out := device.WithClaims(&model.Snapshot{
			DeviceClasses: []model.DeviceClass{{Name: "a", Spec: `{"extendedResourceName":"example.com/gpu"}`}},
			Shapes: []model.PodShape{{Requests: model.Resources{gpu: 3},
				ExtendedRequests: map[string][]int64{gpu: c.parts}}},
		})
		var spec resourceapi.ResourceClaimSpec
		if err := json.Unmarshal([]byte(out.Shapes[0].DeviceClaims[0].Spec), &spec); err != nil {
			t.Fatal(err)
		}
		var got []int64
		names := make(map[string]bool)
		for _, request := range spec.Devices.Requests {
			got = append(got, request.Exactly.Count)
			names[request.Name] = true
		}
		if !slices.Equal(got, c.want) || len(names) != len(got) {
			t.Errorf("%s: requests of %v devices, want %v: %s", text, got, c.want, out.Shapes[0].DeviceClaims[0].Spec)
		}
	}
}
