package attach

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Registry knows the clusters that are attached.
type Registry interface {
	// Cluster returns one registration, read consistently; NotFound where there is none.
	Cluster(ctx context.Context, name string) (model.Registration, error)
	// Clusters returns every registration, by name.
	Clusters(ctx context.Context) ([]model.Registration, error)
	// Register writes a registration, replacing an older one.
	Register(ctx context.Context, reg model.Registration) error
	// Unregister deletes one. NotFound where there is none; Conflict where there is one of another ARN.
	Unregister(ctx context.Context, reg model.Registration) error
}

// Clusters is EKS.
type Clusters interface {
	// Describe returns the registration's cluster, asked for with its catalog's role. NotFound where EKS has none of the name.
	Describe(ctx context.Context, reg model.Registration) (model.ControlPlane, error)
}

// Leases keeps everybody else away from a cluster.
type Leases interface {
	// AcquireLease takes one of the cluster's leases for owner until untilUnix. Conflict where another owner holds it at nowUnix. Taking
	// it again as the same owner renews it.
	AcquireLease(ctx context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error)
	// Release ends it early. A fence that is not the newest any more is left alone; that is no error.
	Release(ctx context.Context, fence model.Fence) error
}

// Ledger is what is kept of a cluster.
type Ledger interface {
	// Records reads claims, open intents and commands, consistently, with the ledger's own time.
	Records(ctx context.Context, reg model.Registration) (model.ClusterRecords, error)
	// Forget deletes all of it; leases stay as they are held. It may be repeated.
	Forget(ctx context.Context, cluster string, nowUnix int64) error
}

// Connector opens a cluster's API server, with the permissions of whoever hands it over.
type Connector interface {
	Connect(ctx context.Context, reg model.Registration) (Objects, error)
}

// Objects is an API server, as far as a hand-over goes.
type Objects interface {
	// ReadLive reads nodes and NodeClaim objects live. An error where any of it cannot be read.
	ReadLive(ctx context.Context) (model.LiveState, error)
	// Free takes our finalizer, and no other, off a Node or NodeClaim, on condition of its UID. NotFound where it is gone;
	// Conflict where another has its name.
	Free(ctx context.Context, kind string, object model.Object) error
}
