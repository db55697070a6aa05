package interruption

// Names of the flow's effects.
const (
	EffectNote        = "casebook"  // collector state written
	EffectTerminate   = "terminate" // TerminateInstances
	EffectRemoval     = "removal"   // record of an instance's end kept
	EffectClose       = "close"     // claim Gone in the ledger
	EffectAdopt       = "adopt"     // claim of an instance nobody recorded written to the ledger
	EffectRemove      = "remove"    // Node or NodeClaim object deleted
	EffectHint        = "hint"      // another check asked for
	EffectBegin       = "begin"     // claim Draining or Terminating in the ledger
	EffectTaint       = "taint"     // node tainted and taken out of load balancers
	EffectPlan        = "plan"      // provision asked for the pods' next place
	EffectDrain       = "drain"     // a drain run asked for
	EffectStep        = "step"      // how far a drain has come, in the ledger
	EffectEvict       = "evict"     // pod asked to leave
	EffectDelete      = "delete"    // pod made to leave
	EffectPatchClaim  = "show"      // NodeClaim object's conditions
	EffectFree        = "free"      // finalizer taken off
	EffectReport      = "tell"      // events
	EffectDisrupt     = "judge"     // the disruption function told that a command's node has ended
	EffectVanish      = "vanish"    // that a NodeClaim object is to be made anew, in the ledger
	EffectUnavailable = "mark"      // offerings marked that EC2 takes instances back of
)

// AllEffects lists them.
var AllEffects = []string{
	EffectNote, EffectTerminate, EffectRemoval, EffectClose, EffectAdopt, EffectRemove, EffectHint,
	EffectBegin, EffectTaint, EffectPlan, EffectDrain,
	EffectStep, EffectEvict, EffectDelete, EffectPatchClaim, EffectFree, EffectReport, EffectDisrupt, EffectUnavailable, EffectVanish,
}
