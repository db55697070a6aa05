package ec2catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// InstanceTypes returns every instance type of the region, by name. It reads what is too old first; where that fails,
// the older facts are returned with their own time, and an error only where there are none.
func (c *Types) InstanceTypes(ctx context.Context) (model.InstanceCatalog, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.settings.Now()
	parts := c.due(now)
	var err error
	if parts.Any() {
		before := c.kept
		c.kept, err = c.Refresh(ctx, c.kept, parts)
		c.failed.note(parts, before, c.kept, now)
	} else if len(c.kept.Types) == 0 {
		err = fmt.Errorf("the last try failed less than %s ago", retryAfter)
	}
	if len(c.kept.Types) == 0 {
		c.kept = model.InstanceCatalog{}
		return c.kept, fmt.Errorf("read instance types of %s: %w", c.settings.Region, err)
	}
	return c.kept, nil
}

// CallsDue returns how many calls of EC2's API the next InstanceTypes makes, about; 0 where what is kept is young
// enough.
func (c *Types) CallsDue() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.due(c.settings.Now()).Calls()
}

// due returns the parts that are too old, less those that were tried without effect a moment ago.
func (c *Types) due(now time.Time) model.CatalogParts {
	old := func(readUnix int64, every time.Duration, failed time.Time) bool {
		return now.Sub(time.Unix(readUnix, 0)) >= every && now.Sub(failed) >= retryAfter
	}
	return model.CatalogParts{
		Types:  old(c.kept.ReadUnix, typesEvery, c.failed.types),
		Prices: c.HasPriceList() && old(c.kept.PriceUnix, pricesEvery, c.failed.prices),
		Spot:   old(c.kept.SpotUnix, spotEvery, c.failed.spot),
	}
}

// note remembers which of the parts asked for have the time they had before.
func (f *failures) note(parts model.CatalogParts, before, after model.InstanceCatalog, now time.Time) {
	note := func(asked bool, before, after int64, failed *time.Time) {
		if asked && before == after {
			*failed = now
		}
	}
	note(parts.Types, before.ReadUnix, after.ReadUnix, &f.types)
	note(parts.Prices, before.PriceUnix, after.PriceUnix, &f.prices)
	note(parts.Spot, before.SpotUnix, after.SpotUnix, &f.spot)
}
