package device

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// Extended returns the DeviceClasses that extended resources stand for, by the resource's name: kube-scheduler claims
// devices of the class for pods that request it. Of several classes the newest counts, and of those the first by name.
// A resource that a node has by a device plugin is none of them. Source: package extendedresourcecache of
// k8s.io/dynamic-resource-allocation.
func Extended(s *model.Snapshot) map[string]string {
	out, made := make(map[string]string), make(map[string]int64)
	for i := range s.DeviceClasses {
		class := &s.DeviceClasses[i]
		if !strings.Contains(class.Spec, "extendedResourceName") {
			continue
		}
		var spec resourceapi.DeviceClassSpec
		if json.Unmarshal([]byte(class.Spec), &spec) != nil || spec.ExtendedResourceName == nil {
			continue
		}
		name := *spec.ExtendedResourceName
		other, is := out[name]
		if !is || cmp.Or(cmp.Compare(made[name], class.CreatedUnix), strings.Compare(class.Name, other)) < 0 {
			out[name], made[name] = class.Name, class.CreatedUnix
		}
	}
	for i := range s.Shapes {
		for name := range s.Shapes[i].Requests { // into a map: the order does not matter
			if class, is := strings.CutPrefix(name, resourceapi.ResourceDeviceClassPrefix); is {
				out[name] = class
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	for i := range s.Nodes {
		for name, amount := range s.Nodes[i].Allocatable { // each on its own: the order does not matter
			if amount > 0 {
				delete(out, name)
			}
		}
	}
	return out
}

// WithClaims returns the snapshot with claims for devices in the place of requests for extended resources that
// DeviceClasses stand for; the snapshot itself where no pod has any.
func WithClaims(s *model.Snapshot) *model.Snapshot {
	extended := Extended(s)
	asks := func(shape *model.PodShape) []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(extended)), func(name string) bool {
			return shape.Requests[name] <= 0
		})
	}
	some := func(shape model.PodShape) bool { return len(asks(&shape)) > 0 }
	if len(extended) == 0 || !slices.ContainsFunc(s.Shapes, some) {
		return s
	}
	out := *s
	out.Shapes = slices.Clone(s.Shapes)
	for i := range out.Shapes {
		shape := &out.Shapes[i]
		names := asks(shape)
		if len(names) == 0 {
			continue
		}
		requests := maps.Clone(shape.Requests)
		shape.DynamicResource, shape.DeviceClaims = true, slices.Clone(shape.DeviceClaims)
		for _, name := range names {
			shape.DeviceClaims = append(shape.DeviceClaims, model.PodClaim{Name: name,
				Spec: exactly(extended[name], partsOf(shape, name))})
			delete(requests, name)
		}
		shape.Requests = requests
	}
	return &out
}

// partsOf returns how many devices each request of a claim for an extended resource is for. Two requests can have the
// same device, where it can be shared, and one request cannot have it twice.
func partsOf(shape *model.PodShape, name string) []int64 {
	var sum int64
	for _, part := range shape.ExtendedRequests[name] {
		sum += part
	}
	if sum != shape.Requests[name] { // of a pod that one container requests it for, or whose request was changed since
		return []int64{shape.Requests[name]}
	}
	return shape.ExtendedRequests[name]
}

// exactly is the spec of a claim with a request for each of these numbers of devices of a class.
func exactly(class string, counts []int64) string {
	var spec resourceapi.ResourceClaimSpec
	for i, count := range counts {
		name := "request"
		if i > 0 {
			name += "-" + strconv.Itoa(i)
		}
		spec.Devices.Requests = append(spec.Devices.Requests, resourceapi.DeviceRequest{Name: name,
			Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: class,
				AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count}})
	}
	text, err := json.Marshal(&spec)
	if err != nil {
		return ""
	}
	return string(text)
}
