package adopt

import (
	"context"

	"github.com/joiner-sh/joiner/shared/work"
)

// EffectHook sees every effect of the flow.
type EffectHook = work.EffectHook

// Names of the flow's effects, in their order for each NodeClaim.
const (
	EffectRecord  = "record"  // claim written to the ledger
	EffectTag     = "tag"     // instances tagged
	EffectStamp   = "stamp"   // NodeClaim object annotated
	EffectUntaint = "untaint" // taint that Karpenter left taken off a node
)

// AllEffects lists them.
var AllEffects = []string{EffectRecord, EffectTag, EffectStamp, EffectUntaint}

// effect carries out one effect under the eyes of Effects.
func (f *Flow) effect(ctx context.Context, name string, do func() error) error {
	return work.RunEffect(ctx, f.Effects, name, do)
}
