package pack

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
	ClassNotReady = "ClassNotReady" // its EC2NodeClass is missing or has a problem

	NoInstanceTypes = "NoInstanceTypes" // its requirements leave none of what its class can buy

	// Of the pod on the pool, in the order they are looked at.
	TaintNotTolerated   = "TaintNotTolerated"
	RequirementConflict = "RequirementConflict"
	ResourcesTooLarge   = "ResourcesTooLarge"
	NoOffer             = "NoOffer" // everything that could hold the pod is unavailable now
	MinValues           = "MinValues"
	LimitReached        = "LimitReached"
)
