package port

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Snapshots reads what the watcher publishes.
type Snapshots interface {
	// SnapshotAt returns the cluster's snapshot at the manifest, or a later one of the same full snapshot. It may be
	// kept between calls, is shared and must not be written to. NotFound where an object the manifest names is missing.
	SnapshotAt(ctx context.Context, manifest model.Manifest) (*model.Snapshot, error)
}

// RegionCatalogs reads the instance catalog that the catalog function keeps for every cluster of an account and region.
type RegionCatalogs interface {
	// RegionCatalog returns it with the ages of its parts; it may be old, may be kept between calls, and is shared.
	// NotFound where there is none.
	RegionCatalog(ctx context.Context, reg model.Registration) (model.InstanceCatalog, error)
}
