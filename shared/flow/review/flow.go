package review

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/core/admit"
	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/model"
)

// Machines has the region's machine catalogues.
type Machines interface {
	// Machines returns the catalogue of the registration's account and region; it is shared, and nobody writes to it. NotFound
	// where there is none.
	Machines(ctx context.Context, reg model.Registration) (model.MachineCatalog, error)
}

// Objects knows what else is in the cluster.
type Objects interface {
	// Look fills in what is known of the cluster; false where too little is, and then nothing is filled in. What it fills in is
	// the caller's to read.
	Look(into *admit.Known) bool
}

// Flow answers admissions. It may be used from many goroutines.
type Flow struct {
	Machines Machines
	Objects  Objects        // nil = nothing is known of the cluster
	Offers   offer.Settings // as those who plan have them; the region is that of the registration
	Patience time.Duration  // how long the catalogue is waited for; 0 = as long as ctx lets
	Now      func() time.Time
}

// Judge returns what is to be said to an admission in the cluster of the registration, of which account and region are looked at.
// An error says what could not be read; the verdict is good nevertheless.
func (f *Flow) Judge(ctx context.Context, reg model.Registration, a model.Admission) (model.Verdict, error) {
	known := admit.Known{Settings: f.Offers}
	known.Settings.Region, known.Settings.NowUnix = reg.Region, f.Now().Unix()
	if f.Objects != nil {
		known.Objects = f.Objects.Look(&known)
	}
	var problem error
	if a.Operation != model.OperationDelete {
		if f.Patience > 0 {
			limited, cancel := context.WithTimeout(ctx, f.Patience)
			defer cancel()
			ctx = limited
		}
		catalog, err := f.Machines.Machines(ctx, reg)
		if err == nil {
			known.Machines = catalog.Types
		}
		problem = err
	}
	return admit.Review(a, known), problem
}
