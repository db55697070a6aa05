package interruption

import (
	"context"

	"github.com/joiner-sh/joiner/shared/work"
)

// FanOut turns the tick of each minute into one hint per cluster that is not paused, as work.FanOut says.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	return work.FanOut(ctx, f.Registry, "look", work.Paused, func(cluster string) error {
		return f.Hints.Look(ctx, cluster, tick, 0)
	})
}
