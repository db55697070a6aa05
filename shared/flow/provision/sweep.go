package provision

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Hints sends a hint to look at a cluster.
type Hints interface {
	// Sweep asks for a full pass over the cluster. The same tick for the same cluster is one hint, however often sent.
	Sweep(ctx context.Context, cluster, tick string) error
}

// FanOut turns the tick of each minute into one hint per attached cluster, so that a slow or broken cluster delays no
// other. It returns how many hints were sent; the error joins those that were not.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	registrations, err := f.Registry.Clusters(ctx)
	if err != nil {
		return 0, fmt.Errorf("list attached clusters: %w", err)
	}
	return fault.Each(model.Active(registrations), func(reg model.Registration) error {
		if err := f.Hints.Sweep(ctx, reg.Cluster, tick); err != nil {
			return fmt.Errorf("hint a sweep of cluster %s: %w", reg.Cluster, err)
		}
		return nil
	})
}
