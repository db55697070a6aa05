package device

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/joiner-sh/joiner/shared/model"
)

// OfType returns the devices that a new node of the instance type has.
func (x *Index) OfType(name string) *Devices {
	x.prepare()
	if known := x.onTypes[name]; known != nil {
		return known
	}
	var list []*resourceapi.ResourceSlice
	published := make(map[string]bool)
	for _, driver := range x.driversOf(name) {
		published[driver] = true
		list = append(list, x.healthiest(name, driver)...)
	}
	listed := x.listedOf(name)
	list = append(list, slices.DeleteFunc(slices.Clone(listed), func(s *resourceapi.ResourceSlice) bool {
		return published[s.Spec.Driver]
	})...)
	for _, slice := range listed {
		published[slice.Spec.Driver] = true
	}
	for _, slice := range assumed(x.labels[name]) {
		if driver := slice.Spec.Driver; !published[driver] && x.classes.about(driver) && !x.barren(name) {
			list = append(list, slice)
		}
	}
	out := x.devices(templateNode, list)
	x.onTypes[name] = out
	return out
}

// listedOf returns the devices that a node of the type has by its catalog.
func (x *Index) listedOf(kind string) []*resourceapi.ResourceSlice {
	var list []*model.ResourceSlice
	for _, spec := range x.listed[kind] {
		list = append(list, &model.ResourceSlice{Name: kind, Spec: spec})
	}
	return decoded(list, templateNode)
}

// driversOf returns the drivers that have published devices on nodes of the type, sorted. One that has published a part
// so far has not.
func (x *Index) driversOf(kind string) []string {
	var out []string
	for _, n := range x.byType[kind] {
		var begun map[string]bool
		if x.young(n) {
			begun = x.begun(decoded(x.slices[n.Name], n.Name))
		}
		for _, r := range x.slices[n.Name] {
			if !begun[r.Driver] {
				out = append(out, r.Driver)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// healthiest returns the devices that a driver has on a node of the type: on the one with the fewest taints on its
// devices, then the one with the most devices, then the first by name.
func (x *Index) healthiest(kind, driver string) []*resourceapi.ResourceSlice {
	var best []*resourceapi.ResourceSlice
	bestTaints, bestDevices := 0, 0
	for _, n := range x.byType[kind] {
		other := func(r *model.ResourceSlice) bool { return r.Driver != driver }
		list := decoded(slices.DeleteFunc(slices.Clone(x.slices[n.Name]), other), templateNode)
		if len(list) == 0 || !whole(list) {
			continue
		}
		taints, devices := 0, 0
		for _, slice := range list {
			devices += len(slice.Spec.Devices)
			for i := range slice.Spec.Devices {
				taints += len(slice.Spec.Devices[i].Taints)
			}
		}
		if best == nil || taints < bestTaints || taints == bestTaints && devices > bestDevices {
			best, bestTaints, bestDevices = list, taints, devices
		}
	}
	for _, slice := range best {
		for i := range slice.Spec.Devices {
			forget(&slice.Spec.Devices[i])
		}
	}
	return best
}

// forget drops what is of one device alone.
func forget(d *resourceapi.Device) {
	for name := range d.Attributes { // each on its own: the order does not matter
		switch name {
		case "uuid", "serialNumber", "serial", "pciBusID", "resource.kubernetes.io/pciBusID":
			delete(d.Attributes, name)
		}
	}
}

// whole reports whether the slices of each pool are all there.
func whole(list []*resourceapi.ResourceSlice) bool {
	newest, count := make(map[string]int64), make(map[string]int64)
	for _, slice := range list {
		newest[slice.Spec.Pool.Name] = max(newest[slice.Spec.Pool.Name], slice.Spec.Pool.Generation)
	}
	for _, slice := range list {
		if slice.Spec.Pool.Generation == newest[slice.Spec.Pool.Name] {
			count[slice.Spec.Pool.Name]++
		}
	}
	return !slices.ContainsFunc(list, func(slice *resourceapi.ResourceSlice) bool {
		pool := &slice.Spec.Pool
		return pool.Generation == newest[pool.Name] && count[pool.Name] < pool.ResourceSliceCount
	})
}

// barren reports whether a node of the type has had the time to publish devices and has published none.
func (x *Index) barren(kind string) bool {
	return slices.ContainsFunc(x.byType[kind], func(n *model.Node) bool {
		return n.CreatedUnix+model.PublishSeconds <= x.nowUnix && len(x.slices[n.Name]) == 0
	})
}

// decoded returns the slices as the allocator takes them, as if they were of the node of that name.
func decoded(list []*model.ResourceSlice, node string) []*resourceapi.ResourceSlice {
	var out []*resourceapi.ResourceSlice
	for _, source := range list {
		slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: source.Name}}
		if json.Unmarshal([]byte(source.Spec), &slice.Spec) != nil {
			continue
		}
		slice.Spec.NodeName = ptr.To(node)
		out = append(out, slice)
	}
	return out
}

func (x *Index) devices(node string, list []*resourceapi.ResourceSlice) *Devices {
	return &Devices{index: x, node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, slices: list}
}
