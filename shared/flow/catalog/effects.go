package catalog

// Names of the effects of a pass over a cluster; no other function has one of the same name.
const (
	EffectSpend      = "class-spend"   // calls of EC2's API taken from, or returned to, what all clusters share
	EffectPatchClass = "class-mark"    // finalizer and hashes on an EC2NodeClass
	EffectProfile    = "class-profile" // instance profile made
	EffectTrial      = "class-trial"   // launch template made, for dry runs
	EffectRecord     = "class-record"  // class record written or dropped
	EffectAdvance    = "class-advance" // claim written, with its drift
	EffectPatchClaim = "class-show"    // NodeClaim object brought up to date
	EffectNode       = "class-node"    // node relabelled
	EffectTidy       = "class-tidy"    // instance profile or launch templates deleted
	EffectReport     = "class-tell"    // events and status
	EffectHint       = "class-hint"    // who launches told that a class is ready
)
