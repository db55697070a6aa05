package adopt

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// Ledger is read, and gets claims.
type Ledger interface {
	port.ClusterRecords
	port.Adopter
}

// Clients is an open cluster.
type Clients struct {
	Cluster   Cluster
	Karpenter Karpenter
	Objects   port.ClaimObjects
	Fleet     Fleet
}

// Cluster is the API server, as far as it is read.
type Cluster interface {
	port.LiveStates
	port.Configurations
}

// Karpenter is the API server, as far as it shows a Karpenter at work.
type Karpenter interface {
	// Karpenter reads Deployments and leader lease of Karpenter in every namespace. Denied where that may not be read.
	Karpenter(ctx context.Context) (model.Karpenter, error)
}

// Fleet is EC2, as far as instances are found and tagged.
type Fleet interface {
	port.Instances
	// Managed returns every instance that carries the cluster's tag and a NodePool tag, whether or not an intent's, in
	// whatever state, by id, each once. It may miss young ones.
	Managed(ctx context.Context, cluster string) ([]model.Instance, error)
	// AdoptInstances gives those of the instances the tag of an intent that carry the cluster's tag and a NodePool tag when it is called,
	// have no intent yet and are not ending. It returns the ids of those that carry the intent afterwards, also where they had
	// it before. It may be repeated.
	AdoptInstances(ctx context.Context, cluster, intent string, ids []string) ([]string, error)
}
