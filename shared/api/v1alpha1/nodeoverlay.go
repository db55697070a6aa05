package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeOverlay corrects what is known of the instance types that it selects: their price, or resources that their nodes
// have.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeoverlays,scope=Cluster,categories=karpenter,shortName=overlays
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Weight",type="integer",priority=1,JSONPath=".spec.weight"
type NodeOverlay struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec NodeOverlaySpec `json:"spec"`
	// +optional
	Status NodeOverlayStatus `json:"status,omitzero"`
}

// NodeOverlayList is a list of overlays.
//
// +kubebuilder:object:root=true
type NodeOverlayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeOverlay `json:"items"`
}

// NodeOverlaySpec says what an overlay applies to and what it changes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.price) || !has(self.priceAdjustment)",message="'price' and 'priceAdjustment' exclude each other"
type NodeOverlaySpec struct {
	// Requirements select offerings of instance types by labels: those of instance types and offerings, the label of
	// the NodePool, and the labels of spec.template.metadata.labels of NodePools. An empty list selects all.
	//
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.operator != 'NotIn' || (has(x.values) && x.values.size() > 0))",message="operator 'NotIn' needs at least one value"
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +required
	Requirements []Requirement `json:"requirements"`
	// PriceAdjustment changes the price: by an amount in dollars per hour such as "-0.05", or by a percentage such as
	// "+10%". The sign is required. Prices below 0 become 0.
	//
	// +kubebuilder:validation:Pattern=`^([+-]\d*\.?\d+|\+\d*\.?\d+%|-\d{1,2}(\.\d+)?%|-100%)$`
	// +optional
	PriceAdjustment *string `json:"priceAdjustment,omitempty"`
	// Price replaces the price, in dollars per hour.
	//
	// +kubebuilder:validation:Pattern=`^\d+(\.\d+)?$`
	// +optional
	Price *string `json:"price,omitempty"`
	// Capacity is added to what nodes of the instance type have: extended resources and huge pages.
	//
	// +kubebuilder:validation:XValidation:rule="self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",message="cpu, memory, ephemeral-storage and pods cannot be changed"
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Weight orders overlays that change the same: the heaviest counts. Unset is 0. Two of one weight conflict.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Weight *int32 `json:"weight,omitempty"`
}

// Requirement asks something of one label.
//
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || (has(self.values) && self.values.size() > 0)",message="operator 'In' needs at least one value"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(self.values) && self.values.size() == 1 && self.values[0].matches('^[0-9]+$') && int(self.values[0]) >= 0)",message="operators 'Gt', 'Lt', 'Gte' and 'Lte' need exactly one value, a whole number of at least 0"
type Requirement struct {
	// Key is the label's key.
	//
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/hostname'",message="label \"kubernetes.io/hostname\" is restricted"
	// +kubebuilder:validation:XValidation:rule="self in ['karpenter.sh/nodepool', 'karpenter.sh/capacity-type'] || !self.matches('^([^/]*[.])?karpenter[.]sh/')",message="label domain \"karpenter.sh\" is restricted"
	// +required
	Key string `json:"key"`
	// Operator relates the label to Values, as in a NodePool.
	//
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt;Gte;Lte
	// +required
	Operator corev1.NodeSelectorOperator `json:"operator"`
	// Values is what the operator compares with.
	//
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// NodeOverlayStatus says whether an overlay is applied.
type NodeOverlayStatus struct {
	// Conditions say whether the overlay is applied, and why not.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
