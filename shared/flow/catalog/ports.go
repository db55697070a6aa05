package catalog

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Registry knows the clusters that are attached.
type Registry interface {
	// Clusters returns every registration, by name. Safe to repeat; may be stale by seconds.
	Clusters(ctx context.Context) ([]model.Registration, error)
	// Cluster returns one registration, read consistently; NotFound where there is none.
	Cluster(ctx context.Context, name string) (model.Registration, error)
}

// Leases makes one pass over a cluster at a time likely, and a second one harmless.
type Leases interface {
	// Hold takes one of the cluster's leases (model.LeaseCatalog) for owner until untilUnix. Conflict where another owner
	// holds it at nowUnix.
	Hold(ctx context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error)
	// Release gives it back early. A fence that is not the newest any more is left alone; that is no error.
	Release(ctx context.Context, fence model.Fence) error
}

// Records reads the ledger of a cluster, and writes what was found out about classes and claims.
type Records interface {
	// Load reads everything the ledger knows of the cluster, consistently, with the ledger's own time.
	Load(ctx context.Context, reg model.Registration) (model.Ledger, error)
	// PutClass writes a class record on condition of its Version (0 = there is none), and returns it with the next one.
	// Conflict where the stored one is at another.
	PutClass(ctx context.Context, cluster string, record model.ClassRecord) (model.ClassRecord, error)
	// DropClass removes a class record on condition of its Version. One that is not there is no error; Conflict where the
	// stored one is at another.
	DropClass(ctx context.Context, cluster string, record model.ClassRecord) error
	// Advance writes a live claim, whose State stays, on condition of its Version, and returns it with the next one.
	// Conflict where the stored one is at another or Gone.
	Advance(ctx context.Context, cluster string, claim model.Claim) (model.Claim, error)
}

// Hints asks for a look at a cluster.
type Hints interface {
	// Look asks this function for a pass over a cluster. The same key for the same cluster may be one hint.
	Look(ctx context.Context, cluster, key string) error
	// Ready tells who launches that a class of the cluster can be launched from now. The same key is one hint.
	Ready(ctx context.Context, cluster, key string) error
}
