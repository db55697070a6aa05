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
// other. A cluster that sleeps gets one every fifth minute. It returns how many hints were sent; the error joins those that were not.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	registrations, err := f.Registry.Clusters(ctx)
	if err != nil {
		return 0, fmt.Errorf("list attached clusters: %w", err)
	}
	sent := 0
	_, err = fault.Each(model.Active(registrations), func(reg model.Registration) error {
		if f.sleeps(ctx, reg, tick) {
			return nil
		}
		if err := f.Hints.Sweep(ctx, reg.Cluster, tick); err != nil {
			return fmt.Errorf("hint a sweep of cluster %s: %w", reg.Cluster, err)
		}
		sent++
		return nil
	})
	return sent, err
}

// sleeps reports whether a cluster needs no sweep with this tick. One of which nothing can be read is swept.
func (f *Flow) sleeps(ctx context.Context, reg model.Registration, tick string) bool {
	if f.Glances == nil {
		return false
	}
	pointer, notes, nowUnix, err := f.Glances.Glance(ctx, reg.Cluster)
	return err == nil && !notes.SweepDue(pointer, nowUnix, tick)
}
