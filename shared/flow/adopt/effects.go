package adopt

// Names of the flow's effects, in their order for each NodeClaim.
const (
	EffectRecord  = "record"  // claim written to the ledger
	EffectTag     = "tag"     // instances tagged
	EffectStamp   = "stamp"   // NodeClaim object annotated
	EffectUntaint = "untaint" // taint that Karpenter left taken off a node
)

// AllEffects lists them.
var AllEffects = []string{EffectRecord, EffectTag, EffectStamp, EffectUntaint}
