package interruption

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// Registry knows the clusters that are attached.
type Registry interface {
	// Clusters returns every registration, by name. Safe to repeat; may be stale by seconds.
	Clusters(ctx context.Context) ([]model.Registration, error)
	// Cluster returns one registration, read consistently; NotFound where there is none.
	Cluster(ctx context.Context, name string) (model.Registration, error)
}

// Leases makes one collector at a time likely, and a second one harmless.
type Leases interface {
	// Hold takes one of the cluster's leases (model.LeaseCollector) for owner until untilUnix and returns a fence whose
	// token is greater than any before of that lease. Conflict where another owner holds it at nowUnix, unless for more than
	// twice as long as is asked for here: then its clock was ahead. Taking it again as the same owner renews it.
	Hold(ctx context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error)
	// Release gives it back early. A fence that is not the newest any more is left alone; that is no error.
	Release(ctx context.Context, fence model.Fence) error
}

// Notebook reads the ledger and keeps what the collector remembers.
type Notebook interface {
	// Survey reads claims, open intents and the collector's casebook, consistently, with the ledger's own time.
	Survey(ctx context.Context, reg model.Registration) (model.Survey, error)
	// Note replaces the casebook, on condition that the fence is the newest of its lease and that the stored one has the
	// Version given, and returns it with the next one. Conflict otherwise, and nothing was written.
	Note(ctx context.Context, fence model.Fence, cases model.Casebook) (model.Casebook, error)
}

// Claims ends claims and begins those of machines that are adopted. Every write carries a fence and commits only while
// that is the newest of its lease: otherwise Conflict, and nothing was written.
type Claims interface {
	// Retire moves a claim that has an instance to Terminating, with FailureCode and FailureMessage as given, on condition
	// of its Version, and returns it with the next one. Conflict where the stored one is at another version or Gone.
	Retire(ctx context.Context, fence model.Fence, claim model.Claim) (model.Claim, error)
	// Close moves a claim to Gone as of atUnix, with FailureCode and FailureMessage as given, and gives back what it holds,
	// in one transaction on condition of its Version. Closing a claim that is Gone changes nothing and is no error.
	// Conflict where the stored one is live at another version.
	Close(ctx context.Context, fence model.Fence, claim model.Claim, atUnix int64) error
	// Adopt writes a claim nobody recorded, with State, instance and Held set, and adds what it holds to its pool's usage,
	// whatever the limits are. Adopting a claim of the same name and instance again changes nothing and is no error;
	// Conflict where a claim of that name has another instance or is Gone.
	Adopt(ctx context.Context, fence model.Fence, claim model.Claim) error
}

// Hints asks for a look at a cluster.
type Hints interface {
	// Look asks for one after some time. The same key for the same cluster may be one hint, however often sent.
	Look(ctx context.Context, cluster, key string, after time.Duration) error
}

// Connector opens a cluster: its API server and its machines, with the cluster's own rights.
type Connector interface {
	Connect(ctx context.Context, reg model.Registration) (Site, error)
}

// Site is an open cluster.
type Site struct {
	Cluster Cluster
	Fleet   Fleet
}

// Cluster is the API server, as far as collecting reads and writes it.
type Cluster interface {
	// Look reads nodes and NodeClaim objects live. An error where any of it cannot be read, also where NodeClaims are not
	// defined: an empty list means that there is none.
	Look(ctx context.Context) (model.Sight, error)
	// Runs reports whether a node carries pods that have not ended, other than those of DaemonSets and static ones.
	Runs(ctx context.Context, node string) (bool, error)
	// Remove deletes the object of a kind (Node or NodeClaim) on condition of its UID. NotFound where it is gone; Conflict
	// where another has its name.
	Remove(ctx context.Context, kind string, object model.Object) error
}

// Kinds of objects that can be removed.
const (
	KindNode      = "Node"
	KindNodeClaim = "NodeClaim"
)

// Fleet is EC2, as far as collecting reads and writes it.
type Fleet interface {
	// Owned returns every instance that carries the cluster's tag, a NodePool tag and an intent tag, in whatever state, by
	// id, each once. It may miss young ones, and more.
	Owned(ctx context.Context, cluster string) ([]model.Instance, error)
	// Describe returns those of the instances that EC2 shows, in whatever state, by id, each once. That one is missing is
	// no error.
	Describe(ctx context.Context, ids []string) ([]model.Instance, error)
	// Terminate ends those of the instances that carry the three tags when it is called, and returns their ids. It may be
	// repeated; one that is not shown, or has ended, is left out.
	Terminate(ctx context.Context, cluster string, ids []string) ([]string, error)
}
