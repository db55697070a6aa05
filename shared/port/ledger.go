package port

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Registry knows the clusters that are attached.
type Registry interface {
	// Clusters returns every registration, by name. Safe to repeat; may be stale by seconds. With an error it returns
	// those that can be read.
	Clusters(ctx context.Context) ([]model.Registration, error)
	// Cluster returns one registration, read consistently; NotFound where there is none.
	Cluster(ctx context.Context, name string) (model.Registration, error)
}

// Leases makes one run at a time likely, and a second one harmless.
type Leases interface {
	// AcquireLease takes one of the cluster's leases (model.LeasePlanner and the like) for owner until untilUnix and
	// returns a fence whose token is greater than any before of that lease. Conflict where another owner holds it at
	// nowUnix, unless it was taken after untilUnix: then its clock was ahead; with Conflict comes what is known of the
	// holder's fence. Taking it again as the same owner renews it.
	AcquireLease(ctx context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error)
	// Release ends it early. A fence that is not the newest any more is left alone; that is no error.
	Release(ctx context.Context, fence model.Fence) error
}

// Ledger reads all that is recorded of a cluster.
type Ledger interface {
	// Load reads everything there is to know of the cluster, consistently item by item, and the ledger's own time.
	Load(ctx context.Context, reg model.Registration) (model.Ledger, error)
}

// ClusterRecords reads what collectors go by.
type ClusterRecords interface {
	// Records reads claims, open intents, commands and the collector's state, consistently, with the ledger's own time.
	// Claims of pools that are gone and never had an instance are left out: nothing is left of them.
	Records(ctx context.Context, reg model.Registration) (model.ClusterRecords, error)
}

// ClaimStates moves claims on. It needs no fence: the claim's version is condition enough.
type ClaimStates interface {
	// Advance writes a claim on condition that its Version is still the stored one, and returns it with the next.
	// Conflict where it is not, or the stored one is Gone.
	Advance(ctx context.Context, cluster string, claim model.Claim) (model.Claim, error)
}

// Adopter begins the claims of instances that nobody recorded.
type Adopter interface {
	// Adopt writes a claim nobody recorded, with State, instance and Reserved set, and adds what it holds to its pool's
	// usage, whatever the limits are, while the fence is the newest of its lease. Adopting a claim of the same name and
	// instance again changes nothing and is no error; Conflict where a claim of that name has another instance or is
	// Gone, or the fence was lost.
	Adopt(ctx context.Context, fence model.Fence, claim model.Claim) error
}

// UnavailableOfferings remembers which offerings gave no capacity, for every cluster of the same account and region.
type UnavailableOfferings interface {
	// MarkUnavailable adds unavailable offerings. Of two about the same, the one with more failures stays, then the one
	// that lasts longer; one that is forgotten at the new one's AtUnix does not count.
	MarkUnavailable(ctx context.Context, reg model.Registration, offerings []model.UnavailableOffering) error
}

// Allowances keeps what all clusters of an account and region share of EC2's API.
type Allowances interface {
	// Allowance reads it consistently; the zero value where it was never written.
	Allowance(ctx context.Context, reg model.Registration) (model.Allowance, error)
	// Spend writes it, with the next Version, on condition that its Version is still the stored one. Conflict where it
	// is not.
	Spend(ctx context.Context, reg model.Registration, allowance model.Allowance) error
}
