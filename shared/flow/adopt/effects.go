package adopt

import "context"

// Effects sees every effect of the flow before it is asked for and after it has happened. Its error before an effect
// stops it. Production leaves it nil; tests count effects with it, fail the n-th, or stop the run there.
type Effects interface {
	Before(ctx context.Context, effect string) error
	After(ctx context.Context, effect string)
}

// Names of the flow's effects, in their order for each NodeClaim.
const (
	EffectRecord  = "record"  // claim written to the ledger
	EffectTag     = "tag"     // machines tagged
	EffectStamp   = "stamp"   // NodeClaim object annotated
	EffectUntaint = "untaint" // taint that Karpenter left taken off a node
)

// AllEffects lists them.
var AllEffects = []string{EffectRecord, EffectTag, EffectStamp, EffectUntaint}

// effect carries out one effect under the eyes of Effects.
func (f *Flow) effect(ctx context.Context, name string, do func() error) error {
	if f.Effects == nil {
		return do()
	}
	if err := f.Effects.Before(ctx, name); err != nil {
		return err
	}
	err := do()
	f.Effects.After(ctx, name)
	return err
}
