package group

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// Shapes that ask for the same are like the first of them that was read, whether requests are read by dimensions or by
// name; any difference tells them apart, and a request of nothing is none.
func TestShapeFactsDistinguishShapesByTheirRequests(t *testing.T) {
	asking := func(change func(*model.PodShape)) model.PodShape {
		s := model.PodShape{Requests: model.Resources{model.CPU: 100, model.Memory: 1 << 20, model.Pods: 1}}
		change(&s)
		return s
	}
	shapes := []model.PodShape{
		asking(func(*model.PodShape) {}),
		asking(func(s *model.PodShape) { s.Labels = map[string]string{"app": "other"} }),
		asking(func(s *model.PodShape) { s.Requests["nvidia.com/gpu"] = 0; delete(s.Requests, model.Pods) }),
		asking(func(s *model.PodShape) { s.Requests["nvidia.com/gpu"] = 1 }),
		asking(func(s *model.PodShape) { s.Requests[model.CPU] = 200 }),
		asking(func(s *model.PodShape) { s.Priority = 1 }),
		asking(func(s *model.PodShape) { s.NodeSelector = map[string]string{model.LabelZone: "a"} }),
		asking(func(s *model.PodShape) { s.Tolerations = []model.Toleration{{Key: "a", Operator: "Exists"}} }),
		asking(func(s *model.PodShape) { s.HostPorts = []model.HostPort{{Port: 80, Protocol: "TCP"}} }),
		asking(func(s *model.PodShape) { s.Requests[model.CPU] = -1 }),
	}
	for _, dims := range []vector.Dimensions{nil, {model.CPU, model.Memory, "nvidia.com/gpu", model.Pods}} {
		l := NewShapeFacts(shapes, false)
		l.Dims = dims
		for i, like := range []int{0, 0, 0, 3, 4, 5, 6, 7, 8} {
			f := l.Of(i)
			if f.No != nil || f.like != like {
				t.Errorf("dimensions %v: shape %d is like %d, want %d: %+v", dims, i, f.like, like, f.No)
			}
			if f.resources[model.Pods] != 1 || dims != nil && dims.Resources(f.request)[model.Pods] != 1 {
				t.Errorf("dimensions %v: shape %d asks for %v, as a vector %v", dims, i, f.resources, f.request)
			}
		}
		for _, i := range []int{9, -1, len(shapes)} {
			if f := l.Of(i); f.No == nil || f.No.Code != input.Invalid {
				t.Errorf("dimensions %v: shape %d is no shape to be placed, and it says %+v", dims, i, f.No)
			}
		}
	}
}
