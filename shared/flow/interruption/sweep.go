package interruption

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// FanOut turns the tick of each minute into one hint per attached cluster, so that a slow or broken cluster delays no
// other. It returns how many hints were sent; the error joins those that were not.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	registrations, err := f.Registry.Clusters(ctx)
	if err != nil {
		return 0, fmt.Errorf("list attached clusters: %w", err)
	}
	return fault.Each(model.Active(registrations), func(reg model.Registration) error {
		if err := f.Hints.Look(ctx, reg.Cluster, tick, 0); err != nil {
			return fmt.Errorf("hint a look at cluster %s: %w", reg.Cluster, err)
		}
		return nil
	})
}
