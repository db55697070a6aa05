package interruption

import (
	"context"

	"github.com/joiner-sh/joiner/shared/work"
)

// FanOut turns the tick of each minute into one hint per cluster that is awake, as work.FanOut says. One that sleeps has no claim, no
// node of ours and no launch that is open, so that all there could be to find is an unknown instance.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	return work.FanOut(ctx, f.Registry, "interruption", work.SkipResync(ctx, f.Peeks, tick), func(cluster string) error {
		return f.Hints.RequestPass(ctx, cluster, tick, 0)
	})
}
