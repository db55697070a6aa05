package v1

import corev1 "k8s.io/api/core/v1"

// Requirement asks something of one label of a node.
//
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || (has(self.values) && self.values.size() > 0)",message="operator 'In' needs at least one value"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(self.values) && self.values.size() == 1 && self.values[0].matches('^[0-9]+$') && int(self.values[0]) >= 0)",message="operators 'Gt', 'Lt', 'Gte' and 'Lte' need exactly one value, a whole number of at least 0"
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || !has(self.minValues) || (has(self.values) && self.values.size() >= self.minValues)",message="operator 'In' needs at least as many values as 'minValues' says"
type Requirement struct {
	// Key is the label's key.
	//
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/hostname'",message="label \"kubernetes.io/hostname\" is restricted"
	// +kubebuilder:validation:XValidation:rule="self in ['karpenter.sh/nodepool', 'karpenter.sh/capacity-type'] || !self.matches('^([^/]*[.])?karpenter[.]sh/')",message="label domain \"karpenter.sh\" is restricted"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([^/]*[.])?karpenter[.]k8s[.]aws/') || self.matches('^karpenter[.]k8s[.]aws/(ec2nodeclass|instance-(cpu|cpu-manufacturer|cpu-sustained-clock-speed-mhz|memory|category|family|generation|size|capability-flex|hypervisor|encryption-in-transit-supported|local-nvme|ebs-bandwidth|network-bandwidth|gpu-(name|manufacturer|count|memory)|accelerator-(name|manufacturer|count)|tenancy)|capacity-reservation-(id|type|interruptible)|placement-group-(id|partition))$')",message="label domain \"karpenter.k8s.aws\" is restricted"
	// +required
	Key string `json:"key"`
	// Operator relates the label to Values. In: the label has one of the values. NotIn: it has none of them, or is
	// absent. Exists and DoesNotExist: it is present, or absent, whatever Values says. Gt, Lt, Gte and Lte compare
	// with the one whole number in Values.
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
	// MinValues is the number of distinct values of the label that the instance types a claim may be launched with
	// must cover; unset asks nothing. Where a key is required several times, the largest counts. Alpha.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	MinValues *int `json:"minValues,omitempty"`
}

// Operators that Kubernetes' own node selectors do not have.
const (
	OperatorGte corev1.NodeSelectorOperator = "Gte"
	OperatorLte corev1.NodeSelectorOperator = "Lte"
)

// Operators returns the eight operators of a Requirement. The slice is the caller's own.
func Operators() []corev1.NodeSelectorOperator {
	return []corev1.NodeSelectorOperator{
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
		corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, OperatorGte, OperatorLte,
	}
}

// NodeClassReference names the object that says how the cloud launches a node.
type NodeClassReference struct {
	// Group is the API group of the class, such as karpenter.k8s.aws; no version.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[^/]*$`
	// +required
	Group string `json:"group"`
	// Kind is the kind of the class, such as EC2NodeClass.
	//
	// +kubebuilder:validation:MinLength=1
	// +required
	Kind string `json:"kind"`
	// Name is the name of the class.
	//
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
}
