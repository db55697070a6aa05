package provision

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Sources of a machine catalogue.
const (
	sourceShared = "s3"  // the one the catalogue function keeps for every cluster of the region
	sourceOwn    = "ec2" // read by this function itself
)

// Ages from which parts of a catalogue are called stale: what the catalogue function reads again after ten minutes or twelve
// hours, and some patience. A stale catalogue is used, and everything that was decided by it says so.
const (
	staleTypes = 13 * time.Hour
	staleSpot  = 30 * time.Minute
)

// machines returns the region's machine catalogue: the shared one, or what EC2 says where that is missing or too old, so
// that a catalogue function that died stops nobody. Where EC2 cannot be asked either the shared one does, however old.
func (r *run) machines(ctx context.Context) (model.MachineCatalog, error) {
	if r.catalog != nil {
		return *r.catalog, nil
	}
	shared, err := r.Machines.Machines(ctx, r.reg)
	if err != nil && !fault.Is(err, fault.NotFound) {
		r.problem("read the catalogue all clusters of %s share: %v", r.reg.Region, err)
	}
	if err == nil && r.age(shared.ReadUnix) < r.settings.CatalogAfter {
		return r.use(sourceShared, shared), nil
	}
	own, err := r.ownMachines(ctx)
	switch {
	case err == nil && own.ReadUnix >= shared.ReadUnix:
		return r.use(sourceOwn, own), nil
	case len(shared.Types) > 0:
		if err != nil {
			r.problem("read the catalogue of %s from EC2, going by an older one: %v", r.reg.Region, err)
		}
		return r.use(sourceShared, shared), nil
	case err != nil:
		return model.MachineCatalog{}, fmt.Errorf("read the catalogue of %s: %w", r.reg.Region, err)
	}
	return r.use(sourceOwn, own), nil
}

// ownMachines reads the catalogue from EC2, within what the region's clusters may take of its API together.
func (r *run) ownMachines(ctx context.Context) (model.MachineCatalog, error) {
	if calls := r.site.Catalog.Due(); calls > 0 {
		if !r.look(ctx, calls) {
			return model.MachineCatalog{}, fault.New(fault.Throttled, "", "EC2's API is used up for now, by all clusters of the region together")
		}
	}
	own, err := r.site.Catalog.Types(ctx)
	if fault.Is(err, fault.Throttled) {
		r.giveBack(ctx, granted{}, 0, true)
	}
	return own, err
}

// use notes by which catalogue this run decides, and how old it is.
func (r *run) use(source string, catalog model.MachineCatalog) model.MachineCatalog {
	r.catalog = &catalog
	r.out.Machines = &model.CatalogUse{
		Source: source, Version: catalog.Version, ReadUnix: catalog.ReadUnix, PriceUnix: catalog.PriceUnix, SpotUnix: catalog.SpotUnix, Stale: r.staleParts(catalog),
	}
	return catalog
}

// staleParts says what of a catalogue is older than it should be, or stands in for what was never read.
func (r *run) staleParts(catalog model.MachineCatalog) []string {
	var stale []string
	if age := r.age(catalog.ReadUnix); age > staleTypes {
		stale = append(stale, fmt.Sprintf("machine types are %s old", age))
	}
	if catalog.PriceUnix == 0 {
		stale = append(stale, "on-demand prices were never read: a built-in table stands in")
	} else if age := r.age(catalog.PriceUnix); age > staleTypes {
		stale = append(stale, fmt.Sprintf("on-demand prices are %s old", age))
	}
	if catalog.SpotUnix == 0 {
		stale = append(stale, "spot prices were never read: on-demand prices stand in")
	} else if age := r.age(catalog.SpotUnix); age > staleSpot {
		stale = append(stale, fmt.Sprintf("spot prices are %s old", age))
	}
	return stale
}

func (r *run) age(unix int64) time.Duration { return time.Duration(r.now()-unix) * time.Second }
