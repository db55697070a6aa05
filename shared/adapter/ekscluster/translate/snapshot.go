package translate

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Builder makes a snapshot of objects added one by one, in any order. The zero value is ready. It keeps the
// translations, not the objects, so that a list may be added page by page.
//
// A manifest lacks what admission fills in, so that the Builder does: a pod without a priority gets that of its
// PriorityClass, one that was never stored (no UID) the overhead and the place of its RuntimeClass, and such a claim
// for a volume the default class, where those were added. DaemonSets are what their newest pods are, see [DaemonShape].
// CapacityBuffers come with what they ask for.
type Builder struct {
	// AbsentConditionIsPending takes a pod that no scheduler has looked at yet, having no PodScheduled condition, for
	// one that waits for capacity. Manifests are such pods; in a live cluster they are a moment's old.
	AbsentConditionIsPending bool
	// StoredAsSeen takes nothing for granted of a pod that an API server has stored (it has a UID and a time): that no
	// scheduler has looked at it is then a fact.
	StoredAsSeen bool
	// DefaultSpread is what the cluster's scheduler is set to do with pods that declare no spread of their own, see
	// [ParseDefaultSpread]; nil, as everywhere but where somebody configured kube-scheduler, leaves them alone.
	// Services and the owners of pods are looked at for it only.
	DefaultSpread []model.Spread
	// Headroom has CapacityBuffers looked at. The templates of what they may be of are kept until then.
	Headroom bool

	snapshot model.Snapshot
	drafts   drafts
	claims   []corev1.PersistentVolumeClaim // joined with volumes at the end
	volumes  map[string]*corev1.PersistentVolume

	attachments map[string]attachment // by name of the VolumeAttachment

	priorities map[string]*schedulingv1.PriorityClass
	runtimes   map[string]*nodev1.RuntimeClass
	selectors  Selectors

	buffers   []*autoscalingv1beta1.CapacityBuffer
	scalables map[ScalableKey]*Scalable // what buffers can be of
}

// Add translates an object and returns whether it is of a kind that is known, be it one that decisions do not look at.
// An object added again replaces the one before. Pools and claims of other providers' classes are taken and left out.
func (b *Builder) Add(object any) bool {
	s := &b.snapshot
	switch o := object.(type) {
	case *corev1.Pod:
		pod, shape := Pod(o)
		asSeen := b.StoredAsSeen && o.UID != "" && !o.CreationTimestamp.IsZero()
		if b.AbsentConditionIsPending && o.Spec.NodeName == "" && !scheduled(o) && !asSeen {
			pod.Unschedulable = true
		}
		pod.Shape = b.drafts.add(b.draft(o, &shape))
		s.Pods = append(s.Pods, pod)
	case *appsv1.DaemonSet:
		set, shape := DaemonSet(o)
		set.Shape = b.drafts.add(b.draft(&corev1.Pod{Spec: o.Spec.Template.Spec}, &shape))
		s.DaemonSets = append(s.DaemonSets, set)
	case *corev1.Node:
		s.Nodes = append(s.Nodes, Node(o))
	case *corev1.Namespace:
		s.Namespaces = append(s.Namespaces, Namespace(o))
	case *policyv1.PodDisruptionBudget:
		s.Budgets = append(s.Budgets, PDB(o))
	case *apiv1.NodePool:
		if Managed(o.Spec.Template.Spec.NodeClassRef) {
			s.Pools = append(s.Pools, Pool(o))
		}
	case *apiv1.NodeClaim:
		if Managed(o.Spec.NodeClassRef) {
			claim := claimObject(o, o.Status.ProviderID)
			claim.Quiet = meta.IsStatusConditionTrue(o.Status.Conditions, apiv1.ConditionConsolidatable)
			claim.PodEventUnix = max(0, o.Status.LastPodEventTime.Unix())
			s.Claims = append(s.Claims, claim)
		}
	case *awsv1.EC2NodeClass:
		s.Classes = append(s.Classes, Class(o))
	case *autoscalingv1beta1.CapacityBuffer:
		if b.Headroom && o.DeletionTimestamp == nil {
			b.buffers = append(b.buffers, o)
		}
	case *unstructured.Unstructured:
		known, err := b.AddUnstructured(o)
		return known && err == nil
	default:
		return b.addStorage(object) || b.addReferenced(object) || b.addTypedDevices(object)
	}
	return true
}

func (b *Builder) addStorage(object any) bool {
	s := &b.snapshot
	switch o := object.(type) {
	case *corev1.PersistentVolumeClaim:
		b.claims = append(b.claims, *StripClaim(o))
	case *corev1.PersistentVolume:
		put(&b.volumes, o.Name, StripVolume(o))
	case *storagev1.StorageClass:
		s.Storage = append(s.Storage, StorageClass(o))
	case *storagev1.CSINode:
		s.CSINodes = append(s.CSINodes, CSINode(o))
	case *storagev1.VolumeAttachment:
		if a, ok := attached(o); ok {
			put(&b.attachments, o.Name, a)
		} else {
			delete(b.attachments, o.Name)
		}
	default:
		return false
	}
	return true
}

// addReferenced takes the kinds that others refer to, and those that are known and say nothing to a decision.
func (b *Builder) addReferenced(object any) bool {
	scales := b.addScalable(object)
	switch o := object.(type) {
	case *schedulingv1.PriorityClass:
		put(&b.priorities, o.Name, o)
	case *nodev1.RuntimeClass:
		put(&b.runtimes, o.Name, o)
	case *v1alpha1.NodeOverlay:
		if o.DeletionTimestamp == nil {
			b.snapshot.Overlays = append(b.snapshot.Overlays, Overlay(o))
		}
	case *corev1.Service, *corev1.ReplicationController, *appsv1.ReplicaSet, *appsv1.StatefulSet:
		if len(b.DefaultSpread) > 0 {
			b.selectors.Put(o)
		}
	case *batchv1.Job, *batchv1.CronJob:
	default:
		return scales
	}
	return true
}

func put[K comparable, T any](m *map[K]T, key K, object T) {
	if *m == nil {
		*m = make(map[K]T)
	}
	(*m)[key] = object
}

// Snapshot returns what was added, sorted, with shapes numbered in the order of the pods that have them, so that the
// order of adding does not show. The builder must not be used afterwards.
func (b *Builder) Snapshot(cluster string, atUnix int64) *model.Snapshot {
	s := &b.snapshot
	s.Cluster, s.AtUnix = cluster, atUnix
	s.Storage = sorted(s.Storage, func(c *model.Storage) (string, string) { return "", c.Name })
	for i := range b.claims {
		claim := &b.claims[i]
		volume := Volume(claim, b.volumes[claim.Spec.VolumeName])
		if claim.UID == "" && volume.Class == "" && volume.VolumeName == "" {
			volume.Class = b.defaultClass()
		}
		s.Volumes = append(s.Volumes, volume)
	}
	b.addBuffers()
	s.Pods = sorted(s.Pods, func(p *model.Pod) (string, string) { return p.Namespace, p.Name })
	s.Nodes = sorted(s.Nodes, func(n *model.Node) (string, string) { return "", n.Name })
	s.Pools = sorted(s.Pools, func(p *model.Pool) (string, string) { return "", p.Name })
	s.Classes = sorted(s.Classes, func(c *model.Class) (string, string) { return "", c.Name })
	s.Claims = sorted(s.Claims, func(o *model.Object) (string, string) { return "", o.Name })
	s.DaemonSets = sorted(s.DaemonSets, func(d *model.DaemonSet) (string, string) { return d.Namespace, d.Name })
	s.Namespaces = sorted(s.Namespaces, func(n *model.Namespace) (string, string) { return "", n.Name })
	s.Budgets = sorted(s.Budgets, func(p *model.PDB) (string, string) { return p.Namespace, p.Name })
	s.Volumes = sorted(s.Volumes, func(v *model.Volume) (string, string) { return v.Namespace, v.Name })
	s.Overlays = sorted(s.Overlays, func(o *model.Overlay) (string, string) { return "", o.Name })
	s.CSINodes = sorted(s.CSINodes, func(n *model.CSINode) (string, string) { return "", n.Node })
	s.ResourceClaims = sorted(s.ResourceClaims,
		func(c *model.ResourceClaim) (string, string) { return c.Namespace, c.Name })
	s.ResourceClaimTemplates = sorted(s.ResourceClaimTemplates,
		func(t *model.ResourceClaimTemplate) (string, string) { return t.Namespace, t.Name })
	s.DeviceClasses = sorted(s.DeviceClasses, func(c *model.DeviceClass) (string, string) { return "", c.Name })
	s.ResourceSlices = sorted(s.ResourceSlices, func(r *model.ResourceSlice) (string, string) { return "", r.Name })
	b.takeAttached()
	b.finish()
	return s
}

// sorted orders a list by key and keeps the last of equals.
func sorted[T any](list []T, keyOf func(*T) (namespace, name string)) []T {
	compare := func(a, b T) int {
		namespaceA, nameA := keyOf(&a)
		namespaceB, nameB := keyOf(&b)
		return wire.CompareKeys(namespaceA, nameA, namespaceB, nameB)
	}
	slices.SortStableFunc(list, compare)
	out := list[:0]
	for i := range list {
		if i+1 < len(list) && compare(list[i], list[i+1]) == 0 {
			continue
		}
		out = append(out, list[i])
	}
	return out
}
