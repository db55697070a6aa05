package model

// Well-known node labels of Kubernetes and Karpenter that the code itself uses.
const (
	LabelInstanceType = "node.kubernetes.io/instance-type"
	LabelArch         = "kubernetes.io/arch"
	LabelOS           = "kubernetes.io/os"
	LabelHostname     = "kubernetes.io/hostname"
	LabelZone         = "topology.kubernetes.io/zone"
	LabelRegion       = "topology.kubernetes.io/region"
	LabelZoneID       = "topology.k8s.aws/zone-id"
	LabelCapacityType = "karpenter.sh/capacity-type"
	LabelNodePool     = "karpenter.sh/nodepool"
	LabelNodeClass    = "karpenter.k8s.aws/ec2nodeclass"
	LabelRegistered   = "karpenter.sh/registered"
	LabelInitialized  = "karpenter.sh/initialized"
	LabelDoNotSync    = "karpenter.sh/do-not-sync-taints"
	LabelWindowsBuild = "node.kubernetes.io/windows-build"

	// What a claim was launched from, to tell later whether it has drifted.
	AnnotationPoolHash         = "karpenter.sh/nodepool-hash"
	AnnotationPoolHashVersion  = "karpenter.sh/nodepool-hash-version"
	AnnotationClassHash        = "karpenter.k8s.aws/ec2nodeclass-hash"
	AnnotationClassHashVersion = "karpenter.k8s.aws/ec2nodeclass-hash-version"
	// "true" where a pool's minValues were lowered
	AnnotationMinValuesRelaxed = "karpenter.sh/nodeclaim-min-values-relaxed"
	// AnnotationDrivers names the drivers whose devices the claim's pods claim, with commas between them.
	AnnotationDrivers = "karpenter.sh/requested-dra-drivers"
	// AnnotationPriceOverlaid and AnnotationCapacityOverlaid are "true" on a claim of which NodeOverlays changed the
	// price or the capacity of an instance type.
	AnnotationPriceOverlaid    = "karpenter.sh/price-overlay-applied"
	AnnotationCapacityOverlaid = "karpenter.sh/capacity-overlay-applied"

	// By whose rules those hashes are computed: our own. Karpenter's have versions of its own (v3, v6), whose values no
	// other program can compute, so that a hash of either is never compared with one of the other.
	PoolHashVersion  = "joiner-v1"
	ClassHashVersion = "joiner-v1"

	// AnnotationPrice of a NodeClaim is what its instance costs an hour in US dollars, by the price it was launched at.
	AnnotationPrice = "joiner.sh/usd-per-hour"

	AnnotationInstanceProfile = "karpenter.k8s.aws/instance-profile-name" // the profile a claim was launched with

	// "true" once the instance carries the tags that are not known before it has joined.
	AnnotationTagged        = "karpenter.k8s.aws/tagged"
	AnnotationClusterTagged = "compatibility.karpenter.k8s.aws/cluster-name-tagged"

	LabelReservationID   = "karpenter.k8s.aws/capacity-reservation-id"
	LabelReservationType = "karpenter.k8s.aws/capacity-reservation-type"          // default, capacity-block
	LabelInterruptible   = "karpenter.k8s.aws/capacity-reservation-interruptible" // "true", "false"
	LabelPlacementGroup  = "karpenter.k8s.aws/placement-group-id"
	LabelPartition       = "karpenter.k8s.aws/placement-group-partition"
	LabelTenancy         = "karpenter.k8s.aws/instance-tenancy"
	LabelNitroSandbox    = "eks.amazonaws.com/nitro-sandbox"

	// LabelExcludeBalancers takes a node out of load balancers that are made for Services; while it is drained its
	// value is ExcludedForDrain.
	LabelExcludeBalancers = "node.kubernetes.io/exclude-from-external-load-balancers"
	ExcludedForDrain      = "karpenter"

	Finalizer = "karpenter.sh/termination" // on NodeClaims and Nodes of ours
	// RFC 3339: by then no pod is left on the claim's node
	AnnotationDeadline   = "karpenter.sh/nodeclaim-termination-timestamp"
	AnnotationNotDisrupt = "karpenter.sh/do-not-disrupt"

	// "true" on a NodePool: its nodes expire as they drift, within budgets and with replacements first. Else expiry
	// ends them whatever budgets say.
	AnnotationGentleExpiry = "joiner.sh/expire-within-budgets"

	// "true" on a NodePool, or on pods (a workload's template): while a workload has pods in two zones or more, no node
	// is disrupted voluntarily where that would leave them in one.
	AnnotationTwoZones = "joiner.sh/keep-two-zones"

	// "first" on an EC2NodeClass: its on-demand instances run in open capacity reservations of the account that fit,
	// and EC2 takes these first. Else they run in none.
	AnnotationOpenReservations = "joiner.sh/open-capacity-reservations"
	OpenReservationsFirst      = "first"

	// "true" on an EC2NodeClass of amiFamily Custom: ${JOINER_…} in its user data is replaced by what Joiner knows.
	AnnotationUserDataVariables = "joiner.sh/user-data-variables"
	// AnnotationTimeZone of a NodePool is the time zone its budgets' schedules are in, an IANA name.
	AnnotationTimeZone = "joiner.sh/budget-time-zone"

	// On pods (a workload's template): when their node may be disrupted voluntarily. The schedule is cron's, the
	// duration such as 2h, the time zone an IANA name.
	AnnotationWindowSchedule = "joiner.sh/disruption-schedule"
	AnnotationWindowDuration = "joiner.sh/disruption-duration"
	AnnotationWindowTimeZone = "joiner.sh/disruption-time-zone"

	// AnnotationSystem is "true" on pods (a workload's template) that are there for the sake of nodes, such as an agent
	// that a Deployment scales with their number: they keep no node, and none is launched for them.
	AnnotationSystem = "joiner.sh/system-workload"

	// AnnotationTerminateFirst of a NodePool says whether nodes that drifted, or that expire within budgets, are
	// terminated before their replacements are launched where these cannot be launched beside them: "true", or "false".
	// Without it static pools do so whose spec.limits.nodes is no more than spec.replicas.
	AnnotationTerminateFirst = "joiner.sh/terminate-first"

	// AnnotationZoneByZone is "true" on a NodePool whose nodes that drifted, or that expire within budgets, are
	// replaced in one zone at a time.
	AnnotationZoneByZone = "joiner.sh/drift-zone-by-zone"

	// AnnotationByReason is "true" on a NodePool of which a budget with reasons counts only the nodes that are
	// disrupted for these, and those that are not ready.
	AnnotationByReason = "joiner.sh/budgets-by-reason"

	// AnnotationSingleReplicas is "true" on a NodePool whose nodes are not consolidated where a pod runs that is alone
	// in its workload.
	AnnotationSingleReplicas = "joiner.sh/keep-single-replicas"

	// AnnotationStopAlarms of a NodePool names CloudWatch alarms, with commas between them: while one is in ALARM no
	// node of the NodePool is disrupted voluntarily.
	AnnotationStopAlarms = "joiner.sh/stop-disruption-alarms"

	TaintUnregistered = "karpenter.sh/unregistered" // NoExecute, on every node until it is registered
	TaintDisrupted    = "karpenter.sh/disrupted"    // NoSchedule, on every node being drained
	// NoSchedule, which Kubernetes puts on a node that is cordoned
	TaintUnschedulable = "node.kubernetes.io/unschedulable"
)

// NoPool is what the tag LabelNodePool says of an instance of no NodePool: of a NodeClaim that somebody made by hand.
// No NodePool can have this name.
const NoPool = "-"

// PoolTag returns the value of the tag LabelNodePool of a pool's instances, of none's for "".
func PoolTag(pool string) string {
	if pool == "" {
		return NoPool
	}
	return pool
}

// PoolOfTag returns the pool whose instances carry that value of the tag LabelNodePool, "" for none's and for no value.
func PoolOfTag(value string) string {
	if value == NoPool {
		return ""
	}
	return value
}

// ConditionConsolidatable of a NodeClaim says that no pod has come to its node or left it for as long as
// consolidateAfter of its NodePool asks for.
const ConditionConsolidatable = "Consolidatable"

// ConditionRolledOut of a NodePool says that no node of it differs from what would be launched now.
const ConditionRolledOut = "RolledOut"

// ConditionDisruptionReason of a NodeClaim says why its node is being disrupted voluntarily.
const ConditionDisruptionReason = "DisruptionReason"

// Capacity types, in the order they are preferred at launch.
const (
	Reserved = "reserved"
	Spot     = "spot"
	OnDemand = "on-demand"
)

// EphemeralTaint reports whether a taint with this key and effect is one that disappears by itself while a node starts,
// so that it neither asks for more capacity nor counts as the node's own.
func EphemeralTaint(key, effect string) bool {
	const readiness = "readiness.k8s.io/"
	switch {
	case key == "node.kubernetes.io/not-ready":
		return effect == NoSchedule || effect == NoExecute
	case key == "node.kubernetes.io/unreachable", key == "node.cloudprovider.kubernetes.io/uninitialized":
		return effect == NoSchedule
	case key == TaintUnregistered:
		return effect == NoExecute
	}
	return len(key) > len(readiness) && key[:len(readiness)] == readiness
}
