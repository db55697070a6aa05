package wellknown

// Group is the API group of NodePool and NodeClaim, and the domain of their labels and annotations.
const Group = "karpenter.sh"

// Labels of the karpenter.sh domain.
const (
	// LabelNodePool names the pool a claim and its node belong to; absent on a claim made by hand.
	LabelNodePool = Group + "/nodepool"
	// LabelCapacityType is one of CapacityTypeSpot, CapacityTypeOnDemand and CapacityTypeReserved.
	LabelCapacityType = Group + "/capacity-type"
	// LabelRegistered is "true" on a node whose registration has finished.
	LabelRegistered = Group + "/registered"
	// LabelInitialized is "true" on a node whose initialisation has finished.
	LabelInitialized = Group + "/initialized"
)

// Values of LabelCapacityType.
const (
	CapacityTypeSpot     = "spot"
	CapacityTypeOnDemand = "on-demand"
	CapacityTypeReserved = "reserved"
)

// CapacityTypes returns every value of LabelCapacityType, cheapest kind first. The slice is the caller's own.
func CapacityTypes() []string {
	return []string{CapacityTypeReserved, CapacityTypeSpot, CapacityTypeOnDemand}
}

// Annotations of the karpenter.sh domain.
const (
	// AnnotationDoNotDisrupt protects a pod ("true", or a Go duration counted from the pod's start) or a node
	// (only "true") from voluntary disruption.
	AnnotationDoNotDisrupt = Group + "/do-not-disrupt"
	// AnnotationNodePoolHash holds the drift hash of the pool's template, on the pool and on its claims.
	AnnotationNodePoolHash = Group + "/nodepool-hash"
	// AnnotationNodePoolHashVersion says by which rules AnnotationNodePoolHash was computed.
	AnnotationNodePoolHashVersion = Group + "/nodepool-hash-version"
	// AnnotationMinValuesRelaxed is "true" on a claim launched with less flexibility than its pool asks for.
	AnnotationMinValuesRelaxed = Group + "/nodeclaim-min-values-relaxed"
)

// Taint keys of the karpenter.sh domain.
const (
	// TaintDisrupted, with effect NoSchedule, keeps new pods off a node that is about to leave.
	TaintDisrupted = Group + "/disrupted"
	// TaintUnregistered, with effect NoExecute, is set by the node's own bootstrap and removed by registration.
	TaintUnregistered = Group + "/unregistered"
)
