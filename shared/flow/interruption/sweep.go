package interruption

import (
	"context"
	"errors"
	"fmt"
)

// FanOut turns the tick of each minute into one hint per attached cluster, so that a slow or broken cluster delays no
// other. It returns how many hints were sent; the error joins those that were not.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	registrations, err := f.Registry.Clusters(ctx)
	if err != nil {
		return 0, fmt.Errorf("list attached clusters: %w", err)
	}
	var sent int
	var failures []error
	for _, reg := range registrations {
		if reg.Paused {
			continue
		}
		if err := f.Hints.Look(ctx, reg.Cluster, tick, 0); err != nil {
			failures = append(failures, fmt.Errorf("hint a look at cluster %s: %w", reg.Cluster, err))
			continue
		}
		sent++
	}
	return sent, errors.Join(failures...)
}
