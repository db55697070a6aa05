package provision

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Sources of a machine catalogue.
const (
	sourceShared = "s3"  // the one the catalogue function keeps for every cluster of the region
	sourceOwn    = "ec2" // read by this function itself
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
	use := offer.Use(source, catalog, r.now())
	r.out.Machines = &use
	return catalog
}

func (r *run) age(unix int64) time.Duration { return time.Duration(r.now()-unix) * time.Second }
