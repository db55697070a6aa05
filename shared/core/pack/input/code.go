package input

// Codes of model.Reason: why a pool, or anything at all, cannot hold a pod.
const (
	// Of the pod, whatever the pool.
	Invalid         = "Invalid"         // the pod's own conditions cannot be read or never hold
	NotSupportedYet = "NotSupportedYet" // the pod needs, as a hard rule, what is not built
	NoPools         = "NoPools"         // there is no NodePool

	// Of the pool, whatever the pod.
	PoolInvalid   = "PoolInvalid"
	PoolDeleting  = "PoolDeleting"
	PoolStatic    = "PoolStatic"    // it has replicas, so that pods make no nodes of it
	PoolSuspended = "PoolHeld"      // its latest instances came up and could not take the pods they were bought for
	ClassNotReady = "ClassNotReady" // its EC2NodeClass is missing or has a problem

	NoInstanceTypes = "NoInstanceTypes" // its requirements leave none of what its class can buy

	// Of the pod on the pool, in the order they are looked at.
	TaintNotTolerated   = "TaintNotTolerated"
	RequirementConflict = "RequirementConflict"
	ResourcesTooLarge   = "ResourcesTooLarge"
	NoOffering          = "NoOffer" // everything that could hold the pod is unavailable now
	MinValues           = "MinValues"
	LimitReached        = "LimitReached"

	// Of the pod beside other pods.
	HostPortTaken  = "HostPortTaken"  // another pod of the node, or a daemon, has the port
	VolumeConflict = "VolumeConflict" // its volume is elsewhere, or in use by another pod that shares it with none
	VolumeLimit    = "VolumeLimit"    // the node can attach no more volumes of the driver
	// its claims for devices cannot be met there: the devices are too few, taken, elsewhere or unsuitable
	DevicesUnavailable = "DevicesUnavailable"

	TopologySpread  = "TopologySpread"  // a DoNotSchedule constraint
	PodAffinity     = "PodAffinity"     // no pod it must be near is there
	PodAntiAffinity = "PodAntiAffinity" // a pod it must not be near is there, or one that must not be near it
)
