package catalog

import "context"

// Effects sees every effect of the flow before it is asked for and after it has happened. Its error before an effect
// stops it. Production leaves it nil; tests count effects with it, fail the n-th, or kill the process there.
type Effects interface {
	Before(ctx context.Context, effect string) error
	After(ctx context.Context, effect string)
}

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
