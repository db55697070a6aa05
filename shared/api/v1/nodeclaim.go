package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeClaim is one node, from its launch to the end of its instance. Users may create one without a NodePool, and
// may delete any.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeclaims,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".metadata.labels.node\\.kubernetes\\.io/instance-type"
// +kubebuilder:printcolumn:name="Capacity",type="string",JSONPath=".metadata.labels.karpenter\\.sh/capacity-type"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".metadata.labels.topology\\.kubernetes\\.io/zone"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="ImageID",type="string",priority=1,JSONPath=".status.imageID"
// +kubebuilder:printcolumn:name="ID",type="string",priority=1,JSONPath=".status.providerID"
// +kubebuilder:printcolumn:name="NodePool",type="string",priority=1,JSONPath=".metadata.labels.karpenter\\.sh/nodepool"
// +kubebuilder:printcolumn:name="NodeClass",type="string",priority=1,JSONPath=".spec.nodeClassRef.name"
// +kubebuilder:printcolumn:name="Drifted",type="string",priority=1,JSONPath=".status.conditions[?(@.type==\"Drifted\")].status"
// +kubebuilder:printcolumn:name=USD/h,type=string,priority=1,JSONPath=.metadata.annotations.joiner\.sh/usd-per-hour
type NodeClaim struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec cannot change.
	//
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a claim cannot change"
	// +required
	Spec NodeClaimSpec `json:"spec"`
	// +optional
	Status NodeClaimStatus `json:"status,omitzero"`
}

// NodeClaimList is a list of claims.
//
// +kubebuilder:object:root=true
type NodeClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeClaim `json:"items"`
}

// NodeClaimSpec is what is asked of the node.
type NodeClaimSpec struct {
	// Taints are on the node for as long as it lives.
	//
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// StartupTaints are on the node when it joins, and somebody else removes them.
	//
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	// Requirements restrict which node may be bought.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +required
	Requirements []Requirement `json:"requirements"`
	// Resources is what the node must have room for.
	//
	// +optional
	Resources ResourceRequirements `json:"resources,omitzero"`
	// NodeClassRef names the class the node is launched with.
	//
	// +required
	NodeClassRef NodeClassReference `json:"nodeClassRef"`
	// TerminationGracePeriod is how long the node may drain before it is terminated whatever still runs on it. Unset
	// waits for as long as it takes.
	//
	// +optional
	TerminationGracePeriod *Duration `json:"terminationGracePeriod,omitempty"`
	// ExpireAfter is the age at which the node is replaced.
	//
	// +kubebuilder:default="720h"
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitzero"`
}

// ResourceRequirements is what a node must have room for.
type ResourceRequirements struct {
	// Requests is the sum of the requests of the pods planned for the node and of its daemons.
	//
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
}
