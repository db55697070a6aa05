package catalog

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// types reads the instance catalog, once in a pass.
func (r *session) types(ctx context.Context) (*model.InstanceCatalog, error) {
	if r.catalog == nil {
		catalog, err := r.sharedTypes(ctx)
		if err != nil {
			catalog, err = r.clients.Catalog.InstanceTypes(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("read the catalog of %s: %w", r.reg.Region, err)
		}
		r.catalog = &catalog
	}
	return r.catalog, nil
}

// sharedFor is how old the instance types of the shared catalog may be before a cluster's pass reads EC2 itself.
const sharedFor = 25 * time.Hour

// sharedTypes returns the catalog the region pass keeps; NotFound where there is none that is young enough.
func (r *session) sharedTypes(ctx context.Context) (model.InstanceCatalog, error) {
	none := fault.New(fault.NotFound, "NoSharedCatalogue", "the catalog of instance types of %s is not stored, or too old", r.reg.Region)
	if r.flow.Catalogs == nil {
		return model.InstanceCatalog{}, none
	}
	catalog, _, err := r.flow.Catalogs.Read(ctx, r.reg)
	if err != nil {
		if !fault.Is(err, fault.NotFound) {
			r.Problem("read the catalog of instance types all clusters of %s share: %v", r.reg.Region, err)
		}
		return catalog, err
	}
	if r.Clock().Sub(time.Unix(catalog.ReadUnix, 0)) > sharedFor {
		return catalog, none
	}
	return catalog, nil
}

func (r *session) offeringSettings() offering.Settings {
	settings := r.settings.Offerings
	settings.Region, settings.NowUnix = cmp.Or(settings.Region, r.reg.Region), r.NowUnix()
	return settings
}
