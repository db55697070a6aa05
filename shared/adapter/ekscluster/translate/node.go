package translate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// annotationDomains are the domains whose annotations a node keeps.
var annotationDomains = []string{"karpenter.sh", "karpenter.k8s.aws", "joiner.sh"}

// Node returns a node. Its amounts are rounded up, as kube-scheduler counts them; those that are negative or do not fit
// are left out: such a node holds nothing of them.
func Node(node *corev1.Node) model.Node {
	out := model.Node{
		Name:        node.Name,
		UID:         string(node.UID),
		ProviderID:  node.Spec.ProviderID,
		Labels:      nonEmpty(node.Labels),
		Annotations: ownAnnotations(node.Annotations),
		Taints:      taints(node.Spec.Taints),
		CreatedUnix: unix(&node.CreationTimestamp),
		DeletedUnix: unix(node.DeletionTimestamp),
		Finalizer:   slices.Contains(node.Finalizers, model.Finalizer),
		Conditions:  badConditions(node.Status.Conditions),
	}
	out.Capacity, _ = rounded(node.Status.Capacity, "status.capacity", roundUp)
	out.Allocatable, _ = rounded(node.Status.Allocatable, "status.allocatable", roundUp)
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			out.Ready = c.Status == corev1.ConditionTrue
			out.ReadyUnix = unix(&c.LastTransitionTime)
		}
	}
	return out
}

// watchedConditions are those of EKS's node monitoring agent that are False on a node that ought to be repaired.
var watchedConditions = []corev1.NodeConditionType{
	"AcceleratedHardwareReady", "ContainerRuntimeReady", "KernelReady", "NetworkingReady", "StorageReady",
}

// badConditions returns Ready where it is not True and the watched ones that are False, by type; nil, as of most nodes,
// where there is none. A condition that is not there says nothing.
func badConditions(all []corev1.NodeCondition) []model.NodeCondition {
	var out []model.NodeCondition
	for i := range all {
		c := &all[i]
		bad := c.Status == corev1.ConditionFalse && slices.Contains(watchedConditions, c.Type)
		if c.Type == corev1.NodeReady {
			bad = c.Status != corev1.ConditionTrue
		}
		if bad {
			out = append(out, model.NodeCondition{Type: string(c.Type), Status: string(c.Status),
				SinceUnix: unix(&c.LastTransitionTime)})
		}
	}
	slices.SortFunc(out, func(a, b model.NodeCondition) int { return strings.Compare(a.Type, b.Type) })
	return out
}

func ownAnnotations(all map[string]string) map[string]string {
	var out map[string]string
	for key, value := range all {
		domain, _, _ := strings.Cut(key, "/")
		for _, own := range annotationDomains {
			if domain == own || strings.HasSuffix(domain, "."+own) {
				if out == nil {
					out = make(map[string]string)
				}
				out[key] = value
			}
		}
	}
	return out
}

func taints(list []corev1.Taint) []model.Taint {
	var out []model.Taint
	for i := range list {
		out = append(out, model.Taint{Key: list[i].Key, Value: list[i].Value, Effect: string(list[i].Effect)})
	}
	return out
}

// CSINode returns how many volumes of each driver a node can attach.
func CSINode(node *storagev1.CSINode) model.CSINode {
	out := model.CSINode{Node: node.Name}
	for i := range node.Spec.Drivers {
		d := &node.Spec.Drivers[i]
		if d.Allocatable == nil || d.Allocatable.Count == nil {
			continue
		}
		if out.Limits == nil {
			out.Limits = make(map[string]int64)
		}
		out.Limits[d.Name] = int64(*d.Allocatable.Count)
	}
	return out
}
