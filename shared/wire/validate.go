package wire

import (
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Bounded returns Invalid where a list of the snapshot has more elements than a full snapshot may have.
func Bounded(s *model.Snapshot) error {
	for _, list := range []struct {
		name       string
		have, most int
	}{
		{"pods", len(s.Pods), MaxPods}, {"shapes", len(s.Shapes), MaxShapes}, {"nodes", len(s.Nodes), MaxNodes},
		{"pools", len(s.Pools), MaxObjects}, {"classes", len(s.Classes), MaxObjects},
		{"claims", len(s.Claims), MaxObjects},
		{"daemonSets", len(s.DaemonSets), MaxObjects}, {"namespaces", len(s.Namespaces), MaxObjects},
		{"budgets", len(s.Budgets), MaxObjects},
		{"volumes", len(s.Volumes), MaxObjects}, {"storageClasses", len(s.Storage), MaxObjects},
		{"csiNodes", len(s.CSINodes), MaxNodes},
		{"buffers", len(s.Buffers), MaxObjects}, {"overlays", len(s.Overlays), MaxObjects},
		{"resourceClaims", len(s.ResourceClaims), MaxObjects},
		{"resourceClaimTemplates", len(s.ResourceClaimTemplates), MaxObjects},
		{"deviceClasses", len(s.DeviceClasses), MaxObjects}, {"resourceSlices", len(s.ResourceSlices), MaxObjects},
	} {
		if list.have > list.most {
			return fault.New(fault.Invalid, "TooLarge",
				"snapshot of cluster %s has %d %s, at most %d are read", s.Cluster, list.have, list.name, list.most)
		}
	}
	return nil
}

func validateSnapshot(s *model.Snapshot) error {
	if err := Bounded(s); err != nil {
		return err
	}
	if err := validateHead(s.Cluster, s.Epoch, s.Seq, len(s.Shapes), len(s.Pods)); err != nil {
		return err
	}
	if err := validateShapes(s.Pods, s.DaemonSets, s.Buffers, len(s.Shapes)); err != nil {
		return err
	}
	return first(
		ordered("pods", s.Pods, podKey),
		ordered("nodes", s.Nodes, nodeKey),
		ordered("pools", s.Pools, poolKey),
		ordered("classes", s.Classes, classKey),
		ordered("claims", s.Claims, claimKey),
		ordered("daemonSets", s.DaemonSets, daemonSetKey),
		ordered("namespaces", s.Namespaces, namespaceKey),
		ordered("budgets", s.Budgets, budgetKey),
		ordered("volumes", s.Volumes, volumeKey),
		ordered("storageClasses", s.Storage, storageKey),
		ordered("csiNodes", s.CSINodes, csiNodeKey),
		ordered("buffers", s.Buffers, bufferKey),
		ordered("overlays", s.Overlays, overlayKey),
		orderedDevices(s.ResourceClaims, s.ResourceClaimTemplates, s.DeviceClasses, s.ResourceSlices),
	)
}

func validateDelta(d *Delta) error {
	if err := Bounded(&model.Snapshot{Cluster: d.Cluster, Pods: d.Pods, Shapes: d.Shapes, Nodes: d.Nodes,
		Pools: d.Pools, Classes: d.Classes,
		Claims: d.Claims, DaemonSets: d.DaemonSets, Namespaces: d.Namespaces, Budgets: d.Budgets, Volumes: d.Volumes,
		Storage:  d.Storage,
		CSINodes: d.CSINodes, Buffers: d.Buffers, Overlays: d.Overlays,
		ResourceClaims: d.ResourceClaims, ResourceClaimTemplates: d.ResourceClaimTemplates,
		DeviceClasses: d.DeviceClasses, ResourceSlices: d.ResourceSlices}); err != nil {
		return err
	}
	if d.FirstShape < 0 || d.FirstShape > MaxShapes {
		return fault.New(fault.Invalid, "Malformed", "delta: first shape %d is out of range", d.FirstShape)
	}
	if d.Seq < 1 {
		return fault.New(fault.Invalid, "Malformed", "delta: seq %d must be at least 1", d.Seq)
	}
	shapes := d.FirstShape + len(d.Shapes)
	if err := validateHead(d.Cluster, d.Epoch, d.Seq, shapes, len(d.Pods)); err != nil {
		return err
	}
	if err := validateShapes(d.Pods, d.DaemonSets, d.Buffers, shapes); err != nil {
		return err
	}
	if err := first(
		ordered("pods", d.Pods, podKey),
		ordered("nodes", d.Nodes, nodeKey),
		ordered("pools", d.Pools, poolKey),
		ordered("classes", d.Classes, classKey),
		ordered("claims", d.Claims, claimKey),
		ordered("daemonSets", d.DaemonSets, daemonSetKey),
		ordered("namespaces", d.Namespaces, namespaceKey),
		ordered("budgets", d.Budgets, budgetKey),
		ordered("volumes", d.Volumes, volumeKey),
		ordered("storageClasses", d.Storage, storageKey),
		ordered("csiNodes", d.CSINodes, csiNodeKey),
		ordered("buffers", d.Buffers, bufferKey),
		ordered("overlays", d.Overlays, overlayKey),
		orderedDevices(d.ResourceClaims, d.ResourceClaimTemplates, d.DeviceClasses, d.ResourceSlices),
	); err != nil {
		return err
	}
	return orderedGone(&d.Gone)
}

// orderedDevices reports a list of what dynamic resource allocation is about that is not strictly ascending by key.
func orderedDevices(claims []model.ResourceClaim, templates []model.ResourceClaimTemplate,
	classes []model.DeviceClass, slices []model.ResourceSlice) error {
	return first(
		ordered("resourceClaims", claims, resourceClaimKey),
		ordered("resourceClaimTemplates", templates, claimTemplateKey),
		ordered("deviceClasses", classes, deviceClassKey),
		ordered("resourceSlices", slices, sliceKey),
	)
}

// orderedGone reports a list of keys that is not strictly ascending.
func orderedGone(gone *Gone) error {
	return first(
		orderedKeys("pods", gone.Pods),
		orderedKeys("nodes", gone.Nodes),
		orderedKeys("pools", gone.Pools),
		orderedKeys("classes", gone.Classes),
		orderedKeys("claims", gone.Claims),
		orderedKeys("daemonSets", gone.DaemonSets),
		orderedKeys("namespaces", gone.Namespaces),
		orderedKeys("budgets", gone.Budgets),
		orderedKeys("volumes", gone.Volumes),
		orderedKeys("storageClasses", gone.Storage),
		orderedKeys("csiNodes", gone.CSINodes),
		orderedKeys("buffers", gone.Buffers),
		orderedKeys("overlays", gone.Overlays),
		orderedKeys("resourceClaims", gone.ResourceClaims),
		orderedKeys("resourceClaimTemplates", gone.ResourceClaimTemplates),
		orderedKeys("deviceClasses", gone.DeviceClasses),
		orderedKeys("resourceSlices", gone.ResourceSlices),
	)
}

func validateHead(cluster string, epoch, seq int64, shapes, pods int) error {
	switch {
	case cluster == "" || !fits(cluster, maxClusterBytes):
		return fault.New(fault.Invalid, "Malformed",
			"snapshot: cluster must have 1 to %d bytes, has %d", maxClusterBytes, len(cluster))
	case epoch < 0 || seq < 0:
		return fault.New(fault.Invalid, "Malformed",
			"snapshot of cluster %s: epoch %d and seq %d must not be negative", cluster, epoch, seq)
	case shapes > MaxShapes:
		return fault.New(fault.Invalid, "TooLarge",
			"snapshot of cluster %s has %d pod shapes, at most %d are read", cluster, shapes, MaxShapes)
	case pods > MaxPods:
		return fault.New(fault.Invalid, "TooLarge",
			"snapshot of cluster %s has %d pods, at most %d are read", cluster, pods, MaxPods)
	}
	return nil
}

func validateShapes(pods []model.Pod, daemons []model.DaemonSet, buffers []model.Buffer, shapes int) error {
	for i := range pods {
		if n := pods[i].Shape; n < 0 || n >= shapes {
			return fault.New(fault.Invalid, "Malformed", "pods[%d] refers to shape %d of %d", i, n, shapes)
		}
	}
	for i := range daemons {
		if n := daemons[i].Shape; n < 0 || n >= shapes {
			return fault.New(fault.Invalid, "Malformed", "daemonSets[%d] refers to shape %d of %d", i, n, shapes)
		}
	}
	for i := range buffers {
		b := &buffers[i]
		if b.Replicas < 0 || b.Replicas > MaxBufferPods {
			return fault.New(fault.Invalid, "Malformed",
				"buffers[%d] is for %d pods, must be 0 to %d", i, b.Replicas, MaxBufferPods)
		}
		if n := b.Shape; b.Replicas > 0 && (n < 0 || n >= shapes) {
			return fault.New(fault.Invalid, "Malformed", "buffers[%d] refers to shape %d of %d", i, n, shapes)
		}
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
