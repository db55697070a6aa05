package provision

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Sources of an instance catalog.
const (
	sourceShared = "s3"  // the one the catalog function keeps for every cluster of the region
	sourceOwn    = "ec2" // read by this function itself
)

// readCatalog returns the region's instance catalog: the shared one, or what EC2 says where that is missing or too old, so
// that a catalog function that died stops nobody. Where EC2 cannot be asked either the shared one does, however old.
func (r *pass) readCatalog(ctx context.Context) (model.InstanceCatalog, error) {
	if r.catalog != nil {
		return *r.catalog, nil
	}
	shared, err := r.Catalogs.RegionCatalog(ctx, r.reg)
	if err != nil && !fault.Is(err, fault.NotFound) {
		r.problem("read the catalog that all clusters of %s share: %v", r.reg.Region, err)
	}
	if err == nil && r.age(shared.ReadUnix) < r.settings.CatalogAfter {
		return r.use(sourceShared, shared), nil
	}
	own, err := r.catalogFromEC2(ctx)
	switch {
	case err == nil && own.ReadUnix >= shared.ReadUnix:
		return r.use(sourceOwn, own), nil
	case len(shared.Types) > 0:
		if err != nil {
			r.problem("read the catalog of %s from EC2; an older one is used: %v", r.reg.Region, err)
		}
		return r.use(sourceShared, shared), nil
	case err != nil:
		return model.InstanceCatalog{}, fmt.Errorf("read the catalog of %s: %w", r.reg.Region, err)
	}
	return r.use(sourceOwn, own), nil
}

// catalogFromEC2 reads the catalog from EC2, within what the region's clusters may take of its API together.
func (r *pass) catalogFromEC2(ctx context.Context) (model.InstanceCatalog, error) {
	if calls := r.clients.Catalog.CallsDue(); calls > 0 {
		if !r.takeReads(ctx, calls) {
			return model.InstanceCatalog{}, fault.New(fault.Throttled, "", "all clusters of the region together have used up the EC2 API quota for now")
		}
	}
	own, err := r.clients.Catalog.InstanceTypes(ctx)
	if fault.Is(err, fault.Throttled) {
		r.settleCalls(ctx, granted{}, 0, true)
	}
	return own, err
}

// use notes by which catalog this run decides, and how old it is.
func (r *pass) use(source string, catalog model.InstanceCatalog) model.InstanceCatalog {
	r.catalog = &catalog
	use := offering.Use(source, catalog, r.now())
	r.out.Catalog = &use
	return catalog
}

func (r *pass) age(unix int64) time.Duration { return time.Duration(r.now()-unix) * time.Second }
