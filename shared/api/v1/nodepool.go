package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePool says which nodes may be launched for pods, how many, and when they are disrupted.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodepools,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.nodes
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.template.spec.nodeClassRef.name"
// +kubebuilder:printcolumn:name="Nodes",type="string",JSONPath=".status.nodes"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Weight",type="integer",priority=1,JSONPath=".spec.weight"
// +kubebuilder:printcolumn:name="CPU",type="string",priority=1,JSONPath=".status.resources.cpu"
// +kubebuilder:printcolumn:name="Memory",type="string",priority=1,JSONPath=".status.resources.memory"
type NodePool struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec NodePoolSpec `json:"spec"`
	// +optional
	Status NodePoolStatus `json:"status,omitzero"`
}

// NodePoolList is a list of pools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePool `json:"items"`
}

// NodePoolSpec is what people want of a pool. A pool is dynamic, growing and shrinking with the pods, or, with Replicas
// set, static; it cannot change from one to the other.
//
// +kubebuilder:validation:XValidation:rule="has(self.replicas) == has(oldSelf.replicas)",message="a pool cannot change between static and dynamic: 'replicas' may be neither added nor removed"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.limits) || self.limits.size() == ('nodes' in self.limits ? 1 : 0)",message="with 'replicas', only 'limits.nodes' may be limited"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.weight)",message="'weight' cannot be set together with 'replicas'"
type NodePoolSpec struct {
	// Template is what every claim of the pool looks like.
	//
	// +required
	Template NodeClaimTemplate `json:"template"`
	// Disruption says when and how fast nodes of the pool are disrupted.
	//
	// +kubebuilder:default={consolidateAfter: "0s"}
	// +optional
	Disruption Disruption `json:"disruption,omitzero"`
	// Limits bounds the sum of the pool's capacity, per resource; "nodes" bounds their number. Unset is unlimited.
	//
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
	// Weight orders pools: the heaviest that can take a pod gets it. Unset is lighter than 1.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// Replicas makes the pool static: it has this many nodes whatever the pods ask for. Alpha.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}

// LimitNodes is the pseudo resource of NodePoolSpec.Limits that bounds the number of nodes.
const LimitNodes corev1.ResourceName = "nodes"

// NodeClaimTemplate is what every claim of a pool looks like.
type NodeClaimTemplate struct {
	// Metadata is put on the claim and on its node.
	//
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitzero"`
	// +required
	Spec NodeClaimTemplateSpec `json:"spec"`
}

// TemplateMetadata is the part of an object's metadata that a template may say.
type TemplateMetadata struct {
	// Labels are put on the claim and on its node, and count as requirements with a single value.
	//
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'kubernetes.io/hostname')",message="label \"kubernetes.io/hostname\" is restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'karpenter.sh/nodepool')",message="label \"karpenter.sh/nodepool\" is restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['karpenter.sh/nodepool', 'karpenter.sh/capacity-type'] || !k.matches('^([^/]*[.])?karpenter[.]sh/'))",message="label domain \"karpenter.sh\" is restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^([^/]*[.])?karpenter[.]k8s[.]aws/') || k.matches('^karpenter[.]k8s[.]aws/(ec2nodeclass|instance-(cpu|cpu-manufacturer|cpu-sustained-clock-speed-mhz|memory|category|family|generation|size|capability-flex|hypervisor|encryption-in-transit-supported|local-nvme|ebs-bandwidth|network-bandwidth|gpu-(name|manufacturer|count|memory)|accelerator-(name|manufacturer|count)|tenancy)|capacity-reservation-(id|type|interruptible)|placement-group-(id|partition))$'))",message="label domain \"karpenter.k8s.aws\" is restricted"
	// +mapType=atomic
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are put on the claim and on its node.
	//
	// +mapType=granular
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NodeClaimTemplateSpec is the part of a claim's spec that its pool says.
type NodeClaimTemplateSpec struct {
	// Taints are on the node for as long as it lives: only pods that tolerate them are placed.
	//
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// StartupTaints are on the node when it joins, and somebody else removes them. Pods need not tolerate them for the
	// node to be launched; it counts as initialized once they are removed.
	//
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	// Requirements restrict which nodes may be bought. They may be empty, and must be said.
	//
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(r, r.key != 'karpenter.sh/nodepool')",message="label \"karpenter.sh/nodepool\" is restricted"
	// +listType=atomic
	// +required
	Requirements []Requirement `json:"requirements"`
	// NodeClassRef names the class the nodes are launched with. Its group and kind cannot change.
	//
	// +kubebuilder:validation:XValidation:rule="self.group == oldSelf.group",message="'nodeClassRef.group' cannot change"
	// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind",message="'nodeClassRef.kind' cannot change"
	// +required
	NodeClassRef NodeClassReference `json:"nodeClassRef"`
	// TerminationGracePeriod is how long a node may drain before it is terminated whatever still runs on it. Unset
	// waits for as long as it takes.
	//
	// +optional
	TerminationGracePeriod *Duration `json:"terminationGracePeriod,omitempty"`
	// ExpireAfter is the age at which a node is replaced.
	//
	// +kubebuilder:default="720h"
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitzero"`
}
