package review

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/core/admit"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// Objects knows what else is in the cluster.
type Objects interface {
	// CopyTo fills in what is known of the cluster; false where too little is, and then nothing is filled in. What it fills in is
	// the caller's to read.
	CopyTo(into *admit.Facts) bool
}

// Flow answers admissions. It may be used from many goroutines.
type Flow struct {
	Catalogs  port.RegionCatalogs
	Objects   Objects           // nil = nothing is known of the cluster
	Offerings offering.Settings // as those who plan have them; the region is that of the registration
	Patience  time.Duration     // how long the catalog is waited for; 0 = as long as ctx lets
	Now       func() time.Time
}

// Admit evaluates an admission in the cluster of the registration, of which it reads account and region.
// An error says what could not be read; the verdict is good nevertheless.
func (f *Flow) Admit(ctx context.Context, reg model.Registration, a model.Admission) (model.Verdict, error) {
	known := admit.Facts{Settings: f.Offerings}
	known.Settings.Region, known.Settings.NowUnix = reg.Region, f.Now().Unix()
	if f.Objects != nil {
		known.Objects = f.Objects.CopyTo(&known)
	}
	var problem error
	if a.Operation != model.OperationDelete {
		if f.Patience > 0 {
			limited, cancel := context.WithTimeout(ctx, f.Patience)
			defer cancel()
			ctx = limited
		}
		catalog, err := f.Catalogs.RegionCatalog(ctx, reg)
		if err == nil {
			known.InstanceTypes = catalog.Types
		}
		problem = err
	}
	return admit.Evaluate(a, known), problem
}
