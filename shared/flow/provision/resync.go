package provision

import (
	"context"

	"github.com/joiner-sh/joiner/shared/work"
)

// Hints sends a hint to look at a cluster.
type Hints interface {
	// Resync asks for a full pass over the cluster. The same tick for the same cluster is one hint, however often sent.
	Resync(ctx context.Context, cluster, tick string) error
}

// FanOut turns the tick of each minute into one hint per cluster that is awake, as work.FanOut says.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	return work.FanOut(ctx, f.Registry, "resync", work.SkipResync(ctx, f.Peeks, tick), func(cluster string) error {
		return f.Hints.Resync(ctx, cluster, tick)
	})
}
