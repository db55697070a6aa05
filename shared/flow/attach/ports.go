package attach

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// Registry knows the clusters that are attached.
type Registry interface {
	port.Registry
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

// Ledger is what is kept of a cluster.
type Ledger interface {
	port.ClusterRecords
	// Forget deletes all of it; leases stay as they are held. It may be repeated.
	Forget(ctx context.Context, cluster string, nowUnix int64) error
}

// Objects is an API server, as far as a hand-over goes.
type Objects interface {
	port.LiveStates
	port.Finalizers
}
