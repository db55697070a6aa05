package seam

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
)

// World is what a controller of Karpenter's knows the cluster by.
type World struct {
	Client   client.Client
	Cluster  *state.Cluster
	Provider cloudprovider.CloudProvider
	Clock    clock.Clock
	Recorder events.Recorder
}

// The names of the fake provider, and what they are in the input of joiner.
const (
	theirGroup = "karpenter.test.sh"
	theirKind  = "TestNodeClass"
	ourGroup   = "karpenter.k8s.aws"
	ourKind    = "EC2NodeClass"
)

// renamed are labels of the fake provider's, which Karpenter knows as well-known there, and the well-known ones of AWS that mean the same or as
// much: how many CPUs, a size, something that only some types have, a number that specs give types to tell them apart by.
var renamed = map[string]string{
	theirGroup + "/testnodeclass":  ourGroup + "/ec2nodeclass",
	theirGroup + "/reservation-id": ourGroup + "/capacity-reservation-id",
	"integer":                      ourGroup + "/instance-cpu",
	"size":                         ourGroup + "/instance-size",
	"special":                      ourGroup + "/instance-gpu-name",
	"karpenter/numerical-value":    ourGroup + "/instance-generation",
}

var toOurs, toTheirs = func() (*strings.Replacer, *strings.Replacer) {
	var there, back []string
	for theirs, ours := range renamed { // a key or a value of JSON, no part of another word
		there = append(there, `"`+theirs+`"`, `"`+ours+`"`)
		back = append(back, `"`+ours+`"`, `"`+theirs+`"`)
	}
	return strings.NewReplacer(there...), strings.NewReplacer(back...)
}()

// gathered is a cluster as objects.
type gathered struct {
	objects []json.RawMessage
	pods    map[string]*corev1.Pod // by namespace/name
	pools   map[string]*v1.NodePool
	claims  map[string]*v1.NodeClaim
	nodes   map[string]*corev1.Node
	devices map[types.NamespacedName]*resourcev1.ResourceClaim
	types   map[string]cloudprovider.InstanceTypes // by NodePool
	daemons map[types.UID]string                   // of each DaemonSet, the version of its template
	catalog json.RawMessage
}

// gather lists what planning looks at. A kind that the API server does not serve has no objects.
func gather(ctx context.Context, w World) *gathered {
	g := &gathered{
		pods: map[string]*corev1.Pod{}, pools: map[string]*v1.NodePool{}, claims: map[string]*v1.NodeClaim{}, nodes: map[string]*corev1.Node{},
		types: map[string]cloudprovider.InstanceTypes{}, daemons: map[types.UID]string{},
		devices: map[types.NamespacedName]*resourcev1.ResourceClaim{},
	}
	var sets appsv1.DaemonSetList
	must(w.Client.List(ctx, &sets))
	for i := range sets.Items {
		g.daemons[sets.Items[i].UID] = sets.Items[i].Annotations[appsv1.DeprecatedTemplateGeneration]
	}
	leaving := map[string]bool{} // nodes and NodeClaims that only Karpenter's memory says are leaving
	for n := range w.Cluster.Nodes() {
		if !n.MarkedForDeletion() {
			continue
		}
		if n.Node != nil {
			leaving[n.Node.Name] = true
		}
		if n.NodeClaim != nil {
			leaving[n.NodeClaim.Name] = true
		}
	}
	for _, list := range []client.ObjectList{
		&corev1.NamespaceList{}, &v1.NodePoolList{}, &v1.NodeClaimList{}, &corev1.NodeList{}, &corev1.PodList{}, &appsv1.DaemonSetList{},
		&appsv1.ReplicaSetList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}, &storagev1.StorageClassList{},
		&storagev1.CSINodeList{}, &storagev1.VolumeAttachmentList{}, &policyv1.PodDisruptionBudgetList{}, &schedulingv1.PriorityClassList{},
		&nodev1.RuntimeClassList{}, &resourcev1.ResourceClaimList{}, &resourcev1.ResourceClaimTemplateList{},
		&resourcev1.DeviceClassList{}, &resourcev1.ResourceSliceList{},
	} {
		if err := w.Client.List(ctx, list); meta.IsNoMatchError(err) {
			continue
		} else if err != nil {
			ginkgo.Fail("seam: list: " + err.Error())
		}
		must(meta.EachListItem(list, func(o runtime.Object) error {
			g.add(o.(client.Object), leaving, w.Clock)
			return nil
		}))
	}
	g.reserve(w.Cluster)
	g.sell(ctx, w)
	return g
}

func (g *gathered) add(o client.Object, leaving map[string]bool, at clock.Clock) {
	switch o := o.(type) {
	case *corev1.Pod:
		g.pods[o.Namespace+"/"+o.Name] = o
	case *v1.NodePool:
		g.pools[o.Name] = o
	case *v1.NodeClaim:
		g.claims[o.Name] = o
	case *corev1.Node:
		g.nodes[o.Name] = o
	case *resourcev1.ResourceClaim:
		g.devices[client.ObjectKeyFromObject(o)] = o
	}
	o = o.DeepCopyObject().(client.Object)
	o.SetManagedFields(nil)
	gvk, err := apiutil.GVKForObject(o, scheme.Scheme)
	must(err)
	o.GetObjectKind().SetGroupVersionKind(gvk)
	switch o := o.(type) {
	case *v1.NodePool:
		refer(o.Spec.Template.Spec.NodeClassRef)
	case *v1.NodeClaim:
		refer(o.Spec.NodeClassRef)
		leave(o, leaving, at)
		g.settle(o, at)
	case *corev1.Node:
		if o.Labels[v1.NodePoolLabelKey] == "" { // of a NodePool, its NodeClaim says so
			leave(o, leaving, at)
		}
	}
	if pod, ok := o.(*corev1.Pod); ok {
		unseen(pod)
		g.made(pod)
	}
	text, err := json.Marshal(o)
	must(err)
	g.objects = append(g.objects, json.RawMessage(toOurs.Replace(string(text))))
}

func refer(ref *v1.NodeClassReference) {
	if ref != nil && ref.Group == theirGroup && ref.Kind == theirKind {
		ref.Group, ref.Kind = ourGroup, ourKind
	}
}

// unseen says of a pod that kube-scheduler has not looked at it. The command takes pods of files that say nothing for such that wait.
func unseen(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" && !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled }) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionUnknown})
	}
}

// made says of a DaemonSet's pod which version of the template it was made of. The controller that makes such pods says so; those of specs
// are made by hand.
func (g *gathered) made(pod *corev1.Pod) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || g.daemons[owner.UID] == "" || pod.Labels[extensionsv1beta1.DaemonSetTemplateGenerationKey] != "" {
		return
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[extensionsv1beta1.DaemonSetTemplateGenerationKey] = g.daemons[owner.UID]
}

// leave marks an object as deleted that is only known to be so.
func leave(o client.Object, leaving map[string]bool, at clock.Clock) {
	if o.GetDeletionTimestamp() != nil || !leaving[o.GetName()] {
		return
	}
	now := metav1.NewTime(at.Now())
	o.SetDeletionTimestamp(&now)
	if !slices.Contains(o.GetFinalizers(), v1.TerminationFinalizer) {
		o.SetFinalizers(append(o.GetFinalizers(), v1.TerminationFinalizer))
	}
}

func must(err error) {
	if err != nil {
		ginkgo.Fail("seam: " + err.Error())
	}
}
