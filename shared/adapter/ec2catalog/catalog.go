package ec2catalog

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/model"
)

// Clients are the services read from. Pricing's region is one of the few that have the API, see PricingRegion.
type Clients struct {
	EC2     *ec2.Client
	IAM     *iam.Client
	Pricing *pricing.Client
	SSM     *ssm.Client
}

// Settings are the region and how long what was read is good. Zero durations mean the defaults.
type Settings struct {
	Region       string
	Isolated     bool             // there is no way to the price list and to IAM, which have no endpoints within a network
	TypesEvery   time.Duration    // instance types and where they are offered: 12 h
	PricesEvery  time.Duration    // on-demand prices: 12 h
	SpotEvery    time.Duration    // spot prices: 10 min
	ImagesEvery  time.Duration    // parameters that name images: 30 min
	ResolveEvery time.Duration    // what a class resolved to without a problem: 1 min
	RetryAfter   time.Duration    // after a failed refresh: 1 min
	Now          func() time.Time // time.Now
}

// Catalog is one region seen with one cluster's permissions. It is safe for concurrent use.
type Catalog struct {
	clients  Clients
	settings Settings

	mutex      sync.Mutex
	kept       model.InstanceCatalog // what Types returns
	failed     failures              // of its last refreshes
	parameters map[string]parameter
	resolved   map[string]resolved // by UID and generation
}

// failures are when reading a part last failed; zero where it did not.
type failures struct{ types, prices, spot time.Time }

type typeZone struct{ instanceType, zone string }

// New returns a catalog that has read nothing yet.
func New(clients Clients, settings Settings) *Catalog {
	duration := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	duration(&settings.TypesEvery, 12*time.Hour)
	duration(&settings.PricesEvery, 12*time.Hour)
	duration(&settings.SpotEvery, 10*time.Minute)
	duration(&settings.ImagesEvery, 30*time.Minute)
	duration(&settings.ResolveEvery, time.Minute)
	duration(&settings.RetryAfter, time.Minute)
	if settings.Now == nil {
		settings.Now = time.Now
	}
	return &Catalog{clients: clients, settings: settings, parameters: map[string]parameter{}, resolved: map[string]resolved{}}
}

// InstanceTypes returns every instance type of the region, by name. It reads what is too old first; where that fails, the older
// facts are returned with their own time, and an error only where there are none.
func (c *Catalog) InstanceTypes(ctx context.Context) (model.InstanceCatalog, error) {
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
		err = fmt.Errorf("the last try failed less than %s ago", c.settings.RetryAfter)
	}
	if len(c.kept.Types) == 0 {
		c.kept = model.InstanceCatalog{}
		return c.kept, fmt.Errorf("read instance types of %s: %w", c.settings.Region, err)
	}
	return c.kept, nil
}

// CallsDue returns how many calls of EC2's API the next Types makes, about; 0 where what is kept is young enough.
func (c *Catalog) CallsDue() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.due(c.settings.Now()).Calls()
}

// due returns the parts that are too old, less those that were tried without effect a moment ago.
func (c *Catalog) due(now time.Time) model.CatalogParts {
	old := func(readUnix int64, every time.Duration, failed time.Time) bool {
		return now.Sub(time.Unix(readUnix, 0)) >= every && now.Sub(failed) >= c.settings.RetryAfter
	}
	return model.CatalogParts{
		Types:  old(c.kept.ReadUnix, c.settings.TypesEvery, c.failed.types),
		Prices: c.HasPriceList() && old(c.kept.PriceUnix, c.settings.PricesEvery, c.failed.prices),
		Spot:   old(c.kept.SpotUnix, c.settings.SpotEvery, c.failed.spot),
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
