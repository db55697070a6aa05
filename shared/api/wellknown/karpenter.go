package wellknown

// Group is the API group of NodePool and NodeClaim, and the domain of their labels and annotations.
const Group = "karpenter.sh"

// CompatibilityGroup is the domain of markers kept only for objects written by older versions.
const CompatibilityGroup = "compatibility." + Group

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
	// LabelDoNotSyncTaints is "true" on a node whose bootstrap sets the claim's taints itself: registration must
	// not copy them a second time, because somebody may have removed one since.
	LabelDoNotSyncTaints = Group + "/do-not-sync-taints"
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
	// AnnotationTerminationTimestamp is the RFC 3339 time at which a draining claim is terminated whatever still
	// runs on it.
	AnnotationTerminationTimestamp = Group + "/nodeclaim-termination-timestamp"
	// AnnotationMinValuesRelaxed is "true" on a claim launched with less flexibility than its pool asks for.
	AnnotationMinValuesRelaxed = Group + "/nodeclaim-min-values-relaxed"
	// AnnotationRequestedDRADrivers lists, sorted and comma separated, the dynamic resource drivers a claim's pods use.
	AnnotationRequestedDRADrivers = Group + "/requested-dra-drivers"
	// AnnotationPriceOverlayApplied is "true" on a claim one of whose instance types had its price overlaid.
	AnnotationPriceOverlayApplied = Group + "/price-overlay-applied"
	// AnnotationCapacityOverlayApplied is "true" on a claim one of whose instance types had its capacity overlaid.
	AnnotationCapacityOverlayApplied = Group + "/capacity-overlay-applied"
	// AnnotationCapacityBufferFakePod, …Name and …Namespace mark the pods imagined for a CapacityBuffer; they are
	// never written to a cluster.
	AnnotationCapacityBufferFakePod   = Group + "/capacity-buffer-fake-pod"
	AnnotationCapacityBufferName      = Group + "/capacity-buffer-name"
	AnnotationCapacityBufferNamespace = Group + "/capacity-buffer-namespace"
	// AnnotationCompatibilityProvider is accepted on old objects and read by nobody.
	AnnotationCompatibilityProvider = CompatibilityGroup + "/provider"
)

// FinalizerTermination keeps a claim and its node until the instance behind them is gone.
const FinalizerTermination = Group + "/termination"

// Taint keys of the karpenter.sh domain.
const (
	// TaintDisrupted, with effect NoSchedule, keeps new pods off a node that is about to leave.
	TaintDisrupted = Group + "/disrupted"
	// TaintUnregistered, with effect NoExecute, is set by the node's own bootstrap and removed by registration.
	TaintUnregistered = Group + "/unregistered"
)

// TagDiscovery is the AWS tag key by which documentation suggests to mark subnets and security groups of a cluster.
const TagDiscovery = Group + "/discovery"
