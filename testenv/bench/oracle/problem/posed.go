package problem

import (
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Asked is how the planner is asked about a problem that was posed. The zero value is of a problem that was made up.
type Asked struct {
	NowUnix             int64
	IgnorePreferences   bool
	BestEffortMinValues bool
	Disrupt             bool // what to disrupt; otherwise what to launch
}

// Recorded returns the problem that objects pose, as an API server has them, with what can be bought. They are taken as they are, but for:
//
//   - a node has the label of its host name, which every kubelet sets;
//   - a pod that the planner moves because its node is leaving waits already, as it does once the node has gone;
//   - where it is asked what to disrupt, such a pod is still there;
//   - a pod that waits and that the planner does not plan for is left out, and one that has ended;
//   - the claim of an ephemeral volume is its pod's, as its controller makes it, and a pod has a UID;
//   - a local volume whose node is gone may be on any host, since its owner is about to make a new claim (core/volume says why).
//
// Objects of kinds that are no part of a problem are left out, too.
func Recorded(seed uint64, objects []json.RawMessage, catalog []model.InstanceType, asked Asked) (*Problem, error) {
	p := &Problem{Seed: seed, Catalog: catalog, Asked: asked}
	for i, text := range objects {
		if err := p.pose(text); err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
	}
	p.ownEphemeral()
	p.freeLocal()
	in := p.Input()
	planned := map[string]bool{}
	for _, i := range pack.Pending(in.Snapshot) {
		planned[in.Snapshot.Pods[i].Key()] = true
	}
	pods := p.Pods
	p.Pods = nil
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		switch plans := planned[pod.Namespace+"/"+pod.Name]; {
		case asked.Disrupt && pod.Spec.NodeName != "":
		case plans && pod.Spec.NodeName != "":
			pod.Spec.NodeName = ""
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}
		case !plans && pod.Spec.NodeName == "":
			continue
		}
		p.Pods = append(p.Pods, pod)
	}
	return p, nil
}

func (p *Problem) pose(text []byte) error {
	var is metav1.TypeMeta
	if err := json.Unmarshal(text, &is); err != nil {
		return fmt.Errorf("read apiVersion and kind: %w", err)
	}
	object, err := kinds.New(is.GroupVersionKind())
	if runtime.IsNotRegisteredError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make a %s: %w", is.Kind, err)
	}
	if err := json.Unmarshal(text, object); err != nil {
		return fmt.Errorf("read a %s: %w", is.Kind, err)
	}
	switch o := object.(type) {
	case *corev1.Node:
		if o.Labels[corev1.LabelHostname] == "" {
			metav1.SetMetaDataLabel(&o.ObjectMeta, corev1.LabelHostname, o.Name)
		}
		p.Nodes = append(p.Nodes, o)
	case *corev1.Pod:
		if o.Spec.Priority == nil {
			o.Spec.Priority = new(int32)
		}
		if o.UID == "" {
			o.UID = types.UID("uid-" + o.Namespace + "-" + o.Name)
		}
		p.Pods = append(p.Pods, o)
	case *appsv1.DaemonSet:
		p.DaemonSets = append(p.DaemonSets, o)
	case *corev1.Namespace:
		p.Namespaces = append(p.Namespaces, o)
	case *schedulingv1.PriorityClass:
		p.Priorities = append(p.Priorities, o)
	case *corev1.PersistentVolumeClaim:
		p.Claims = append(p.Claims, o)
	case *corev1.PersistentVolume:
		p.Volumes = append(p.Volumes, o)
	case *storagev1.StorageClass:
		p.Storage = append(p.Storage, o)
	case *storagev1.CSINode:
		p.CSINodes = append(p.CSINodes, o)
	case *policyv1.PodDisruptionBudget:
		p.Budgets = append(p.Budgets, o)
	case *apiv1.NodePool:
		p.Pools = append(p.Pools, o)
	case *apiv1.NodeClaim:
		p.NodeClaims = append(p.NodeClaims, o)
	}
	return nil
}

// ownEphemeral makes pods the owners of the claims of their ephemeral volumes.
func (p *Problem) ownEphemeral() {
	for _, pod := range p.Pods {
		for _, volume := range pod.Spec.Volumes {
			for _, claim := range p.Claims {
				if volume.Ephemeral != nil && claim.Namespace == pod.Namespace && claim.Name == pod.Name+"-"+volume.Name && metav1.GetControllerOf(claim) == nil {
					claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))}
				}
			}
		}
	}
}

// freeLocal takes the host names of nodes that are gone off local volumes.
func (p *Problem) freeLocal() {
	hosts := map[string]bool{}
	for _, node := range p.Nodes {
		hosts[node.Labels[corev1.LabelHostname]] = true
	}
	stranded := func(r corev1.NodeSelectorRequirement) bool {
		return r.Key == corev1.LabelHostname && r.Operator == corev1.NodeSelectorOpIn && !slices.ContainsFunc(r.Values, func(host string) bool { return hosts[host] })
	}
	for _, volume := range p.Volumes {
		if volume.Spec.Local == nil && volume.Spec.HostPath == nil || volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
			continue
		}
		terms := volume.Spec.NodeAffinity.Required.NodeSelectorTerms
		for i := range terms {
			terms[i].MatchExpressions = slices.DeleteFunc(terms[i].MatchExpressions, stranded)
			if len(terms[i].MatchExpressions)+len(terms[i].MatchFields) == 0 {
				volume.Spec.NodeAffinity = nil // anywhere
				break
			}
		}
	}
}

// Beyond says why the scheduler cannot be asked about the problem, "" where it can.
func (p *Problem) Beyond() string {
	waiting := p.Pending()
	if len(waiting) == 0 && !p.Asked.Disrupt {
		return "no pod waits for capacity"
	}
	if len(waiting) > 0 && p.Asked.Disrupt {
		return "a pod waits while nodes are given back"
	}
	for _, pod := range waiting {
		if len(pod.Spec.ResourceClaims) > 0 {
			return "a pod has dynamic resources, which the planner refuses"
		}
	}
	for _, claim := range p.NodeClaims {
		if claim.DeletionTimestamp == nil && p.nodeOf(claim) == nil {
			return "a NodeClaim has no Node yet, and only its provider knows what the Node will be"
		}
	}
	for _, claim := range p.Claims {
		if claim.Spec.VolumeName == "" && claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName == "" {
			return "a claim waits for a volume that somebody makes"
		}
	}
	return ""
}

// ClaimOf returns the NodeClaim of a node; nil where none is there.
func (p *Problem) ClaimOf(node *corev1.Node) *apiv1.NodeClaim {
	for _, claim := range p.NodeClaims {
		if at := p.nodeOf(claim); at != nil && at.Name == node.Name {
			return claim
		}
	}
	return nil
}

func (p *Problem) nodeOf(claim *apiv1.NodeClaim) *corev1.Node {
	for _, node := range p.Nodes {
		if claim.Status.ProviderID != "" && node.Spec.ProviderID == claim.Status.ProviderID || claim.Status.NodeName == node.Name {
			return node
		}
	}
	return nil
}

// Daemon reports whether a pod ends with its node: it is of a DaemonSet, or the kubelet's own.
func Daemon(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" || o.Kind == "Node" })
}

// Workload names what a pod is a replica of; a pod that nobody made is its own.
func Workload(pod *corev1.Pod) string {
	if len(pod.OwnerReferences) == 0 {
		return "Pod " + pod.Name
	}
	return pod.OwnerReferences[0].Name
}
