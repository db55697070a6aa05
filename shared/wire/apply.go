package wire

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Apply returns the snapshot that the deltas, in order, make of s. It leaves s as it is and shares with it whatever did
// not change. Conflict where a delta is of another cluster or epoch, or does not follow the one before it: the caller
// then starts again from a full snapshot. Invalid where a list of the result is longer than one of a full snapshot may
// be.
func Apply(s *model.Snapshot, deltas ...*Delta) (*model.Snapshot, error) {
	next := *s
	own := false // the array of shapes is not one that another successor may share
	for _, d := range deltas {
		if err := follows(&next, d); err != nil {
			return nil, err
		}
		switch {
		case len(d.Shapes) == 0:
		case len(next.Shapes)+len(d.Shapes) > MaxShapes:
			return nil, fault.New(fault.Invalid, "TooLarge",
				"snapshot of cluster %s has %d shapes, at most %d are read",
				d.Cluster, len(next.Shapes)+len(d.Shapes), MaxShapes)
		case own:
			next.Shapes = append(next.Shapes, d.Shapes...)
		default:
			next.Shapes, own = slices.Concat(next.Shapes, d.Shapes), true
		}
		next.Seq, next.AtUnix = d.Seq, d.AtUnix
	}
	next.Pods = merge(s.Pods, podKey, deltas, func(d *Delta) ([]model.Pod, []string) { return d.Pods, d.Gone.Pods })
	next.Nodes = merge(s.Nodes, nodeKey, deltas,
		func(d *Delta) ([]model.Node, []string) { return d.Nodes, d.Gone.Nodes })
	next.Pools = merge(s.Pools, poolKey, deltas,
		func(d *Delta) ([]model.Pool, []string) { return d.Pools, d.Gone.Pools })
	next.Classes = merge(s.Classes, classKey, deltas,
		func(d *Delta) ([]model.Class, []string) { return d.Classes, d.Gone.Classes })
	next.Claims = merge(s.Claims, claimKey, deltas,
		func(d *Delta) ([]model.Object, []string) { return d.Claims, d.Gone.Claims })
	next.DaemonSets = merge(s.DaemonSets, daemonSetKey, deltas,
		func(d *Delta) ([]model.DaemonSet, []string) { return d.DaemonSets, d.Gone.DaemonSets })
	next.Namespaces = merge(s.Namespaces, namespaceKey, deltas,
		func(d *Delta) ([]model.Namespace, []string) { return d.Namespaces, d.Gone.Namespaces })
	next.Budgets = merge(s.Budgets, budgetKey, deltas,
		func(d *Delta) ([]model.PDB, []string) { return d.Budgets, d.Gone.Budgets })
	next.Volumes = merge(s.Volumes, volumeKey, deltas,
		func(d *Delta) ([]model.Volume, []string) { return d.Volumes, d.Gone.Volumes })
	next.Storage = merge(s.Storage, storageKey, deltas,
		func(d *Delta) ([]model.Storage, []string) { return d.Storage, d.Gone.Storage })
	next.CSINodes = merge(s.CSINodes, csiNodeKey, deltas,
		func(d *Delta) ([]model.CSINode, []string) { return d.CSINodes, d.Gone.CSINodes })
	next.Buffers = merge(s.Buffers, bufferKey, deltas,
		func(d *Delta) ([]model.Buffer, []string) { return d.Buffers, d.Gone.Buffers })
	next.Overlays = merge(s.Overlays, overlayKey, deltas,
		func(d *Delta) ([]model.Overlay, []string) { return d.Overlays, d.Gone.Overlays })
	applyDevices(&next, s, deltas)
	return &next, Bounded(&next)
}

// applyDevices is Apply for what dynamic resource allocation is about.
func applyDevices(next, s *model.Snapshot, deltas []*Delta) {
	next.ResourceClaims = merge(s.ResourceClaims, resourceClaimKey, deltas,
		func(d *Delta) ([]model.ResourceClaim, []string) { return d.ResourceClaims, d.Gone.ResourceClaims })
	next.ResourceClaimTemplates = merge(s.ResourceClaimTemplates, claimTemplateKey, deltas,
		func(d *Delta) ([]model.ResourceClaimTemplate, []string) {
			return d.ResourceClaimTemplates, d.Gone.ResourceClaimTemplates
		})
	next.DeviceClasses = merge(s.DeviceClasses, deviceClassKey, deltas,
		func(d *Delta) ([]model.DeviceClass, []string) { return d.DeviceClasses, d.Gone.DeviceClasses })
	next.ResourceSlices = merge(s.ResourceSlices, sliceKey, deltas,
		func(d *Delta) ([]model.ResourceSlice, []string) { return d.ResourceSlices, d.Gone.ResourceSlices })
}

// follows says whether d may be applied to s, whose numbers are those of the delta before d.
func follows(s *model.Snapshot, d *Delta) error {
	switch {
	case d.Cluster != s.Cluster || d.Epoch != s.Epoch:
		return fault.New(fault.Conflict, "OtherChain",
			"delta of cluster %s epoch %d does not belong to cluster %s epoch %d",
			d.Cluster, d.Epoch, s.Cluster, s.Epoch)
	case d.Seq != s.Seq+1:
		return fault.New(fault.Conflict, "Gap", "delta %d does not follow %d", d.Seq, s.Seq)
	case d.FirstShape != len(s.Shapes):
		return fault.New(fault.Conflict, "OtherShapes",
			"delta %d was written against %d shapes, there are %d", d.Seq, d.FirstShape, len(s.Shapes))
	}
	return nil
}

// merge returns old with the deltas' objects of one kind put in and taken out, the last word on a key counting. The
// result is old itself where no delta has any, and nil where nothing is left.
func merge[T any](old []T, keyOf func(*T) key, deltas []*Delta, of func(*Delta) (put []T, gone []string)) []T {
	latest := make(map[key]*T) // nil = gone
	for _, d := range deltas {
		put, gone := of(d)
		for i := range put {
			latest[keyOf(&put[i])] = &put[i]
		}
		for _, text := range gone {
			latest[parseKey(text)] = nil
		}
	}
	if len(latest) == 0 {
		return old
	}
	keys := make([]key, 0, len(latest))
	for k := range latest {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, key.compare)

	out := make([]T, 0, len(old)+len(keys))
	rest := old
	for _, k := range keys {
		n, found := slices.BinarySearchFunc(rest, k, func(have T, want key) int { return keyOf(&have).compare(want) })
		out = append(out, rest[:n]...)
		if found {
			n++
		}
		rest = rest[n:]
		if object := latest[k]; object != nil {
			out = append(out, *object)
		}
	}
	if out = append(out, rest...); len(out) == 0 {
		return nil
	}
	return out
}
