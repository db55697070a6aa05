package catalog

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Catalogs keeps the instance catalog of each account and region, where every function finds it.
type Catalogs interface {
	// Read returns the catalog of the registration's account and region, and the revision Write conditions on. It is shared
	// and must not be written to. NotFound where there is none yet; Invalid, with its revision, where what is stored cannot be
	// read.
	Read(ctx context.Context, reg model.Registration) (model.InstanceCatalog, string, error)
	// Write replaces it on condition of the revision, "" meaning that there is none. Conflict where that is not so, and nothing
	// was written.
	Write(ctx context.Context, reg model.Registration, catalog model.InstanceCatalog, revision string) error
}

// CatalogSource is what can be bought in a region, seen with one cluster's permissions.
type CatalogSource interface {
	// Refresh reads parts of the catalog again and returns known with them. What could not be read stays as it was, with its
	// own time, and the error says what that is: the catalog returned is good in either case, unless it has no types at all.
	// Prices are merged over those known. Asked for no part it only brings prices that stand in for others, and the version, up
	// to date. Known is left alone. Safe to repeat; it may take many calls, see model.CatalogParts.
	Refresh(ctx context.Context, known model.InstanceCatalog, parts model.CatalogParts) (model.InstanceCatalog, error)
	// HasPriceList reports whether on-demand prices can be read at all; where not, those of a built-in table stand in.
	HasPriceList() bool
}

// CatalogSources opens a region with a cluster's permissions. Opening calls nobody.
type CatalogSources interface {
	CatalogSource(ctx context.Context, reg model.Registration) (CatalogSource, error)
}

// Learnings is what was learned of instance types by all clusters of an account and region.
type Learnings interface {
	// Learned returns what is not forgotten at nowUnix, by type, then images. It may be stale by seconds.
	Learned(ctx context.Context, reg model.Registration, nowUnix int64) ([]model.LearnedOf, error)
}

// Ledgers reads the ledger of a cluster.
type Ledgers interface {
	// Load reads everything the ledger knows of the cluster, consistently, with the ledger's own time.
	Load(ctx context.Context, reg model.Registration) (model.Ledger, error)
}

// Snapshots reads what the watcher publishes.
type Snapshots interface {
	// SnapshotAt returns the cluster's snapshot at the manifest; it is shared and must not be written to.
	SnapshotAt(ctx context.Context, manifest model.Manifest) (*model.Snapshot, error)
}
