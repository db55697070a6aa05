package adopt

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Registry knows the clusters that are attached.
type Registry interface {
	// Cluster returns one registration, read consistently; NotFound where there is none.
	Cluster(ctx context.Context, name string) (model.Registration, error)
}

// Leases keeps the resync, which ends what nobody owns, away for as long as this takes.
type Leases interface {
	// AcquireLease takes one of the cluster's leases (model.LeaseCollector) for owner until untilUnix and returns a fence whose token
	// is greater than any before. Conflict where another owner holds it at nowUnix. Taking it again as the same owner
	// renews it.
	AcquireLease(ctx context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error)
	// Release ends it early. A fence that is not the newest any more is left alone; that is no error.
	Release(ctx context.Context, fence model.Fence) error
}

// Ledger is read, and gets claims.
type Ledger interface {
	// Records reads claims and open intents, consistently, with the ledger's own time.
	Records(ctx context.Context, reg model.Registration) (model.ClusterRecords, error)
	// Adopt writes a claim nobody recorded, with State, instance and Reserved set, and adds what it holds to its pool's usage,
	// whatever the limits are, while the fence is the newest of its lease. Adopting a claim of the same name and instance
	// again changes nothing and is no error; Conflict where a claim of that name has another instance or is Gone, or where
	// the fence was lost.
	Adopt(ctx context.Context, fence model.Fence, claim model.Claim) error
}

// Catalogs knows what instances cost.
type Catalogs interface {
	// RegionCatalog returns the catalog of the registration's account and region; NotFound where nobody has stored one.
	RegionCatalog(ctx context.Context, reg model.Registration) (model.InstanceCatalog, error)
}

// Connector opens a cluster: its API server and its instances.
type Connector interface {
	Connect(ctx context.Context, reg model.Registration) (Clients, error)
}

// Clients is an open cluster.
type Clients struct {
	Cluster   Cluster
	Karpenter Karpenter
	Objects   Objects
	Fleet     Fleet
}

// Cluster is the API server, as far as it is read.
type Cluster interface {
	// ReadLive reads nodes and NodeClaim objects live. An error where any of it cannot be read, also where NodeClaims are not
	// defined: an empty list means that there is none.
	ReadLive(ctx context.Context) (model.LiveState, error)
	// Configuration reads every NodePool and EC2NodeClass as they are now.
	Configuration(ctx context.Context) (model.Configuration, error)
}

// Karpenter is the API server, as far as it shows a Karpenter at work.
type Karpenter interface {
	// Karpenter reads Deployments and leader lease of Karpenter in every namespace. Denied where that may not be read.
	Karpenter(ctx context.Context) (model.Karpenter, error)
}

// Objects is the API server, as far as it is written to.
type Objects interface {
	// PutClaim brings annotations and status of a claim's NodeClaim object up to date. NotFound where the object of that UID is
	// gone.
	PutClaim(ctx context.Context, claim model.Claim) (uid string, err error)
	// PatchNode takes taints off a node, on condition of its UID. NotFound or Conflict where the node is gone or another.
	PatchNode(ctx context.Context, patch model.NodePatch) error
}

// Fleet is EC2, as far as instances are found and tagged.
type Fleet interface {
	// Managed returns every instance that carries the cluster's tag and a NodePool tag, whether or not an intent's, in
	// whatever state, by id, each once. It may miss young ones.
	Managed(ctx context.Context, cluster string) ([]model.Instance, error)
	// DescribeInstances returns those of the instances that EC2 shows, in whatever state, by id, each once.
	DescribeInstances(ctx context.Context, ids []string) ([]model.Instance, error)
	// AdoptInstances gives those of the instances the tag of an intent that carry the cluster's tag and a NodePool tag when it is called,
	// have no intent yet and are not ending. It returns the ids of those that carry the intent afterwards, also where they had
	// it before. It may be repeated.
	AdoptInstances(ctx context.Context, cluster, intent string, ids []string) ([]string, error)
}
