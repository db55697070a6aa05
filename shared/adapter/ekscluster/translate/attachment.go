package translate

import (
	"maps"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// attachment is a volume that is attached to a node, or about to be or no longer be.
type attachment struct{ node, volume, driver string }

// attached returns what a VolumeAttachment says; false where it names no volume of its own in the cluster.
func attached(o *storagev1.VolumeAttachment) (attachment, bool) {
	volume := o.Spec.Source.PersistentVolumeName
	if volume == nil || o.Spec.Attacher == "" || o.Spec.NodeName == "" {
		return attachment{}, false
	}
	return attachment{o.Spec.NodeName, *volume, o.Spec.Attacher}, true
}

// takeAttached lowers the limits of nodes by the volumes that are attached and that no pod of the node uses any more:
// kube-scheduler counts them until they are gone.
func (b *Builder) takeAttached() {
	if len(b.attachments) == 0 {
		return
	}
	left := make(map[attachment]bool, len(b.attachments))
	for _, a := range b.attachments {
		if b.volumes[a.volume] != nil {
			left[a] = true
		}
	}
	volumeOf := make(map[claimKey]*model.Volume, len(b.snapshot.Volumes))
	for i := range b.snapshot.Volumes {
		v := &b.snapshot.Volumes[i]
		volumeOf[claimKey{v.Namespace, v.Name}] = v
	}
	for i := range b.snapshot.Pods {
		pod := &b.snapshot.Pods[i]
		if pod.NodeName == "" || pod.Terminal() {
			continue
		}
		for _, name := range pod.Claims {
			if v := volumeOf[claimKey{pod.Namespace, name}]; v != nil {
				delete(left, attachment{pod.NodeName, v.VolumeName, v.Driver})
			}
		}
	}
	nodes := make(map[string]*model.CSINode, len(b.snapshot.CSINodes))
	for i := range b.snapshot.CSINodes {
		nodes[b.snapshot.CSINodes[i].Node] = &b.snapshot.CSINodes[i]
	}
	lowered := make(map[string]bool)
	for a := range left { // each takes one away, in whatever order
		node := nodes[a.node]
		if node == nil || node.Limits[a.driver] == 0 {
			continue
		}
		if !lowered[a.node] {
			node.Limits, lowered[a.node] = maps.Clone(node.Limits), true
		}
		node.Limits[a.driver]--
	}
}

type claimKey struct{ namespace, name string }
