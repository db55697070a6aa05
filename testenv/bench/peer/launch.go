package main

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// launched returns the node that a replacement becomes when it is bought as cheaply as it accepts.
func launched(r *disruption.Replacement, name string) (*corev1.Node, error) {
	var best *cloudprovider.InstanceType
	var offering *cloudprovider.Offering
	lowest := math.Inf(1)
	for _, t := range r.InstanceTypeOptions {
		for _, o := range t.Offerings {
			if o.Available && o.Price < lowest && r.Requirements.IsCompatible(o.Requirements, scheduling.AllowUndefinedWellKnownLabels) {
				best, offering, lowest = t, o, o.Price
			}
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%s: no offer is acceptable of %d instance types", name, len(r.InstanceTypeOptions))
	}
	labels := map[string]string{}
	for key, requirement := range best.Requirements {
		if requirement.Operator() == corev1.NodeSelectorOpIn && requirement.Len() == 1 {
			labels[key] = requirement.Any()
		}
	}
	labels[corev1.LabelHostname], labels[corev1.LabelInstanceTypeStable] = name, best.Name
	labels[corev1.LabelTopologyZone], labels[karpv1.CapacityTypeLabelKey] = offering.Zone(), offering.CapacityType()
	labels[karpv1.NodePoolLabelKey], labels[karpv1.NodeRegisteredLabelKey], labels[karpv1.NodeInitializedLabelKey] = r.NodePoolName, "true", "true"
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: labels, CreationTimestamp: metav1.Now()},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///" + offering.Zone() + "/i-" + name},
		Status: corev1.NodeStatus{Capacity: best.Capacity, Allocatable: best.Allocatable(),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}, nil
}

// daemonsOf returns the pods of daemons on a new node: the daemons of problems run everywhere.
func (c *cluster) daemonsOf(node *corev1.Node) []*corev1.Pod {
	var out []*corev1.Pod
	controller := true
	for _, set := range c.daemons {
		name := set.Name + "-" + node.Name
		out = append(out, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name, UID: types.UID("uid-" + name), Labels: set.Spec.Template.Labels,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set.Name, UID: set.UID, Controller: &controller}}},
			Spec:   corev1.PodSpec{NodeName: node.Name, Containers: set.Spec.Template.Spec.Containers, Tolerations: set.Spec.Template.Spec.Tolerations},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}},
		})
	}
	return out
}

func isDaemon(pod *corev1.Pod) bool {
	return len(pod.OwnerReferences) > 0 && pod.OwnerReferences[0].Kind == "DaemonSet"
}

// price returns what the nodes cost, in dollars per hour.
func price(nodes []*corev1.Node, catalog []*cloudprovider.InstanceType) float64 {
	byName := map[string]*cloudprovider.InstanceType{}
	for _, t := range catalog {
		byName[t.Name] = t
	}
	sum := 0.0
	for _, node := range nodes {
		if t := byName[node.Labels[corev1.LabelInstanceTypeStable]]; t != nil {
			if p, sold := t.OfferingPrice(node.Labels[corev1.LabelTopologyZone], node.Labels[karpv1.CapacityTypeLabelKey]); sold {
				sum += p
			}
		}
	}
	return sum
}
