package work

import "context"

// EffectHook sees every effect of a flow before it is asked for and after it has happened. Its error before an effect
// stops it. Production leaves it nil; tests count effects with it, fail the n-th, or kill the process there.
type EffectHook interface {
	Before(ctx context.Context, effect string) error
	After(ctx context.Context, effect string)
}

// RunEffect carries out one effect under the eyes of effects, which may be nil.
func RunEffect(ctx context.Context, effects EffectHook, name string, do func() error) error {
	if effects == nil {
		return do()
	}
	if err := effects.Before(ctx, name); err != nil {
		return err
	}
	err := do()
	effects.After(ctx, name)
	return err
}
