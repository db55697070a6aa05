package device

import (
	"context"
	"fmt"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"

	"github.com/joiner-sh/joiner/shared/model"
)

// features are those that kube-scheduler's allocator is asked with. What a cluster has not enabled its objects do not
// have. They choose the variant of the allocator that takes pools in the order of their names.
var features = structured.Features{AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true,
	DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true}

// OfNode returns the devices of a node that are free. Those of a driver that has published none yet are taken to be
// those of other nodes of the type, as long as the node is young.
func (x *Index) OfNode(name string) *Devices {
	x.prepare()
	if known := x.onNodes[name]; known != nil {
		return known
	}
	list := decoded(x.slices[name], name)
	if n := x.nodes[name]; n != nil && x.young(n) {
		begun := x.begun(list)
		list = slices.DeleteFunc(list, func(s *resourceapi.ResourceSlice) bool { return begun[s.Spec.Driver] })
		list = append(list, x.expected(n, list)...)
	}
	out := x.devices(name, list)
	for _, slice := range out.slices {
		pool := slice.Spec.Driver + "/" + slice.Spec.Pool.Name
		out.taken = append(out.taken, x.taken[pool]...)
	}
	out.taken = compacted(out.taken)
	out = x.settled(out, name)
	x.onNodes[name] = out
	return out
}

// settled takes what is for pods that are taken to be on the node, or on the claim of that name, and for which nothing
// is allocated there.
func (x *Index) settled(d *Devices, name string) *Devices {
	for _, i := range x.bound[name] {
		pod := &x.snapshot.Pods[i]
		if claims, problem := x.ClaimsOf(pod, x.snapshot.ShapeOf(pod)); problem == nil {
			if after := d.Take(claims); after != nil {
				d = after
			}
		}
	}
	return d
}

// Beside returns the devices less what the pods of DaemonSets take, by their index into the snapshot's. A DaemonSet for
// which they do not suffice takes none: its pod does not run there.
func (x *Index) Beside(d *Devices, sets []int) *Devices {
	for _, i := range sets {
		set := &x.snapshot.DaemonSets[i]
		claims, problem := x.ClaimsOf(&model.Pod{Namespace: set.Namespace}, &x.snapshot.Shapes[set.Shape])
		if problem != nil || len(claims.Shared) > 0 { // a claim that all its pods share is for one node alone
			continue
		}
		if after := d.Take(claims); after != nil {
			d = after
		}
	}
	return d
}

// OfClaim returns the devices that the node of a claim of that name will have, if it is of the type.
func (x *Index) OfClaim(name, instanceType string) *Devices {
	return x.settled(x.OfType(instanceType), name)
}

// compacted drops what came up for several slices of one pool.
func compacted(list []allocated) []allocated {
	seen := make(map[string]bool)
	return slices.DeleteFunc(list, func(a allocated) bool {
		r := &a.results[0]
		if r.ShareID != nil {
			return false
		}
		key := fmt.Sprintf("%s/%s/%s/%t", r.Driver, r.Pool, r.Device, ptr.Deref(r.AdminAccess, false))
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

// young reports whether drivers may yet publish what the node has.
func (x *Index) young(n *model.Node) bool { return n.CreatedUnix+model.PublishSeconds > x.nowUnix }

// begun returns the drivers that are about to publish more slices of a young node than these: one of a driver's pools
// is not all there, and nothing of them is allocated.
func (x *Index) begun(list []*resourceapi.ResourceSlice) map[string]bool {
	of, taken := make(map[string][]*resourceapi.ResourceSlice), make(map[string]bool)
	for _, s := range list {
		driver := s.Spec.Driver
		of[driver] = append(of[driver], s)
		taken[driver] = taken[driver] || len(x.taken[driver+"/"+s.Spec.Pool.Name]) > 0
	}
	out := make(map[string]bool)
	for driver, own := range of { // each on its own: the order does not matter
		out[driver] = !taken[driver] && !whole(own)
	}
	return out
}

// expected returns the devices that a young node will have of drivers that have published none.
func (x *Index) expected(n *model.Node, have []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
	kind := n.Labels[model.LabelInstanceType]
	if kind == "" {
		return nil
	}
	var out []*resourceapi.ResourceSlice
	for _, slice := range x.OfType(kind).slices {
		same := func(s *resourceapi.ResourceSlice) bool { return s.Spec.Driver == slice.Spec.Driver }
		if !slices.ContainsFunc(have, same) {
			copied := *slice
			copied.Spec.NodeName = ptr.To(n.Name)
			copied.Spec.Pool.Name = templateNode + "/" + slice.Spec.Pool.Name // no node's: none of it is taken
			out = append(out, &copied)
		}
	}
	return out
}

// None reports whether the node has no devices at all.
func (d *Devices) None() bool { return len(d.slices) == 0 }

// Err returns what kept the allocator from looking at the devices for the claims, such as a selector that asks for an
// attribute they do not have; nil where they suffice, or are only too few.
func (d *Devices) Err(c *Claims) error { return d.errs[c.number] }

// TakeAll is Take for the pods of a unit, one after the other.
func (d *Devices) TakeAll(list []*Claims) *Devices {
	for _, c := range list {
		if d = d.Take(c); d == nil {
			return nil
		}
	}
	return d
}

// DriversSince returns the drivers of the devices that are taken, and were not before, sorted. d comes of before.
func (d *Devices) DriversSince(before *Devices) []string {
	var out []string
	for _, a := range d.taken[len(before.taken):] {
		for i := range a.results {
			out = append(out, a.results[i].Driver)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Take returns the devices less what is allocated for the claims; nil where they do not suffice.
func (d *Devices) Take(c *Claims) *Devices {
	if !c.Wants() {
		return d
	}
	after, known := d.next[c.number]
	if !known {
		after = d.allocate(c)
		if d.next == nil {
			d.next = make(map[int]*Devices)
		}
		d.next[c.number] = after
	}
	return after
}

// allocate asks kube-scheduler's allocator.
func (d *Devices) allocate(c *Claims) *Devices {
	var claims []*resourceapi.ResourceClaim
	var keys []string
	for _, w := range c.wanted {
		if w.key == "" || !slices.ContainsFunc(d.taken, func(a allocated) bool { return a.key == w.key }) {
			claims, keys = append(claims, w.claim), append(keys, w.key)
		}
	}
	if len(claims) == 0 {
		return d
	}
	if len(d.slices) == 0 {
		return nil
	}
	if d.state == nil {
		d.state = stateOf(d.taken)
	}
	ctx := context.Background()
	var results []resourceapi.AllocationResult
	allocator, err := structured.NewAllocator(ctx, features, *d.state, &d.index.classes, d.slices, d.index.cache)
	if err == nil {
		results, err = allocator.Allocate(ctx, d.node, claims)
	}
	if err != nil {
		if d.errs == nil {
			d.errs = make(map[int]error)
		}
		d.errs[c.number] = err
	}
	if len(results) != len(claims) {
		return nil
	}
	after := &Devices{index: d.index, node: d.node, slices: d.slices, taken: slices.Clone(d.taken)}
	for i := range results {
		after.taken = append(after.taken, allocated{keys[i], results[i].Devices.Results})
	}
	return after
}

// stateOf sums up what is taken.
func stateOf(taken []allocated) *structured.AllocatedState {
	out := &structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection()}
	for _, a := range taken {
		for i := range a.results {
			r := &a.results[i]
			id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
			switch {
			case ptr.Deref(r.AdminAccess, false): // it takes nothing
			case r.ShareID != nil:
				out.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, r.ShareID))
				out.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, maps.Clone(r.ConsumedCapacity)))
			default:
				out.AllocatedDevices.Insert(id)
			}
		}
	}
	return out
}
