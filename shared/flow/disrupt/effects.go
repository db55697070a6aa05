package disrupt

// Names of the flow's effects, in the order a command meets them.
const (
	EffectForget     = "forget"   // memo of a check that found nothing taken back; only where there is one
	EffectCommit     = "commit"   // command, its claims and turns written
	EffectDecision   = "decision" // decision record kept
	EffectTaint      = "taint"    // node tainted
	EffectPatchClaim = "show"     // why a node is disrupted shown on its NodeClaim, or that no more
	EffectStep       = "step"     // how far a command has come, in the ledger
	EffectReplace    = "replace"  // provision asked for replacements, or for the pods' next place
	EffectEnd        = "end"      // command Done or Undone, with its claims
	EffectDrain      = "drain"    // a drain run asked for
	EffectUntaint    = "untaint"  // taint taken off
	EffectHint       = "hint"     // another check asked for
	EffectNote       = "note"     // notes of the disruption function written
	EffectReport     = "tell"     // events
)

// AllEffects lists them.
var AllEffects = []string{
	EffectForget, EffectCommit, EffectDecision, EffectTaint, EffectPatchClaim, EffectStep, EffectReplace, EffectEnd, EffectDrain, EffectUntaint,
	EffectHint, EffectNote, EffectReport,
}
