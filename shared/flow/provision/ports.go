package provision

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/work"
)

// Flow is provisioning with its ports and its clock. It keeps nothing between runs.
type Flow struct {
	Registry      port.Registry
	Leases        Leases
	Claims        Claims
	ClaimStates   port.ClaimStates
	Unavailable   UnavailableOfferings
	Allowances    port.Allowances
	Memory        Memory
	Decisions     Decisions
	Snapshots     port.Snapshots
	Losses        work.LossReporter // nil = the watcher finds by itself what of its snapshot is gone
	Catalogs      port.RegionCatalogs
	Memories      Memories
	UsageRecounts UsageRecounts // nil = usage is not corrected
	Connector     Connector
	Peeks         work.Peeks // nil = clusters are swept each minute

	RequestResync     port.Hint // a full pass of this function; the key is the tick
	RequestDisruption port.Hint // nil = the disruption function's own tick finds what became of replacements

	Now      func() time.Time
	NewID    func() string // unique and sorted by time, such as a ULID
	Settings Settings
	Plan     func(pack.Input) model.Plan // nil = pack.Plan; a test may put something defective in its place
	Effects  EffectHook                  // nil but where a test wants to see or stop effects

	// Parallel calls do(0) … do(n-1) side by side and returns when all have; nil = on goroutines, at most
	// Settings.Parallel at once. A simulator that lets one thing happen at a time has its own.
	Parallel func(n int, do func(i int))
}

// Leases makes one planner at a time likely, and a second one harmless.
type Leases interface {
	// Acquire takes the cluster's planner lease for owner until untilUnix and returns a fence whose token is greater
	// than any before. Conflict where another owner holds it at nowUnix, unless it was taken after untilUnix: then its
	// clock was ahead. Taking it again as the same owner renews it.
	Acquire(ctx context.Context, cluster, owner string, nowUnix, untilUnix int64) (model.Fence, error)
	// Release ends it early. A fence that is not the newest any more is left alone; that is no error.
	Release(ctx context.Context, fence model.Fence) error
}

// ClaimExists is the code of an error because of a claim's name.
const ClaimExists = "ClaimExists"

// Claims is the ledger's store of claims and intents. Every write carries a fence and commits only while that fence is
// the newest of its cluster: otherwise Conflict, and nothing was written.
type Claims interface {
	port.Ledger
	// Record writes an intent, its claims (state Intent, Reserved set) and what they hold of the pool's limits in one
	// transaction. limits is what the pool allows now (nil = nothing): Exhausted, and nothing written, where held plus
	// used would pass it. Recording the very same intent again changes nothing and is no error, so that a try whose
	// answer was lost may be repeated; recording another of its id is Conflict, and so is a claim of a name that is in
	// use, with the code ClaimExists. A claim above version 1 may take the place of the one of its name that is Gone
	// and one version below. At most 25 claims at once.
	Record(ctx context.Context, fence model.Fence, intent model.Intent, claims []model.Claim,
		limits model.Resources) error
	// Calling notes another attempt of an open intent, with Attempt and DueUnix as given.
	Calling(ctx context.Context, fence model.Fence, intent model.Intent) error
	// Settle records an outcome and closes the intent: claims Launched or Gone, holds replaced by what was really
	// taken. Settling a closed intent again changes nothing and is no error.
	Settle(ctx context.Context, fence model.Fence, outcome model.Settlement) error
}

// UsageRecounts corrects what limits are evaluated by.
type UsageRecounts interface {
	// Recount writes what a pool's claims hold as its usage, under the next version, on condition that its Version is
	// still the stored one (0 = there is none) and that the fence is the newest of its cluster: Conflict, and nothing
	// written, where either is not.
	Recount(ctx context.Context, fence model.Fence, usage model.Usage) error
}

// UnavailableOfferings remembers which offerings gave no capacity, for every cluster of the same account and region.
type UnavailableOfferings interface {
	port.UnavailableOfferings
	// TakeProbe takes the probe of a half-open unavailable offering: the stored unavailable offering's time is moved to
	// untilUnix, on condition that it still is the given one's. It returns the unavailable offering as stored then, and
	// Conflict where somebody else was first.
	TakeProbe(ctx context.Context, reg model.Registration, unavailable model.UnavailableOffering,
		untilUnix int64) (model.UnavailableOffering, error)
	// Clear removes an unavailable offering whose offering gave capacity, on condition that it is stored as given;
	// otherwise it stays, which is no error.
	Clear(ctx context.Context, reg model.Registration, unavailable model.UnavailableOffering) error
}

// Memory is what the planner remembers of a cluster.
type Memory interface {
	// Remember replaces the notes, on condition that the fence is the newest of its cluster: Conflict where it is not.
	Remember(ctx context.Context, fence model.Fence, notes model.Notes) error
}

// Decisions keeps decision records.
type Decisions interface {
	// PutDecision stores a decision under its id. Putting it again replaces it.
	PutDecision(ctx context.Context, decision model.Decision) error
}

// Memories notes what is learned of instance types, for every cluster of an account and region.
type Memories interface {
	// Learn notes how much memory a node of a type had. Of two about the same type and images the smaller stays, and
	// the later of two equals; one that is forgotten at the new one's SeenUnix does not count.
	Learn(ctx context.Context, reg model.Registration, learned model.LearnedOf) error
}

// Connector opens a cluster: its API server, its fleet and its catalog, with the cluster's own permissions.
type Connector = port.Connector[Clients]

// Clients is an open cluster.
type Clients struct {
	Cluster Cluster

	Configurations port.Configurations

	Nominator  Nominator
	Standalone StandaloneClaims
	Reporter   port.Reporter
	Fleet      Fleet
	Templates  Templates
	Tagger     Tagger
	Catalog    Catalog
}

// Cluster is the API server, as far as provisioning writes and reads it.
type Cluster interface {
	port.ClaimObjects
	// List builds a snapshot by listing: slower, never wrong. Epoch and Seq are 0.
	List(ctx context.Context) (*model.Snapshot, error)
	// Present returns the pods that are on a node, or on none where node is "", and have not ended, by UID, each with
	// whether it is being deleted, as the API server has them now.
	Present(ctx context.Context, node string) (map[string]bool, error)
	// PoolUID returns the UID of a NodePool as the API server has it now. NotFound where there is none of that name, or
	// it is being deleted.
	PoolUID(ctx context.Context, name string) (string, error)
}

// Nominator keeps room on nodes for pods.
type Nominator interface {
	// Nominate writes the node as the one that a pod, which is bound to none, is nominated to, on condition of the
	// pod's UID: until it is bound, kube-scheduler keeps its room there from pods of no higher priority. NotFound or
	// Conflict where the pod is gone, another, or bound.
	Nominate(ctx context.Context, pod model.PodRef, node string) error
}

// StandaloneClaims reads NodeClaims that people made by hand.
type StandaloneClaims interface {
	// StandaloneClaim returns what the NodeClaim asks for, as the API server has it now. NotFound where it is gone,
	// another, being deleted, or has an instance. One that says it is of a pool is Invalid.
	StandaloneClaim(ctx context.Context, object model.Object) (model.StandaloneClaim, error)
}

// Fleet buys instances.
type Fleet interface {
	// PrepareRequest returns the exact request bytes for a launch, making sure that the launch template it names
	// exists. Same launch, same bytes.
	PrepareRequest(ctx context.Context, launch model.Launch) ([]byte, error)
	// Launch sends the request. The result carries instances and errors together; partial success is normal. An error
	// of the call itself (Throttled, Denied, Invalid, Internal, …) means nothing is known of its effect unless its kind
	// is Throttled, Denied or Invalid, which mean nothing happened.
	Launch(ctx context.Context, request []byte) (model.LaunchResult, error)
	// FindInstances returns the instances that carry the intent's tag and are not terminated, by id. It may miss young
	// ones.
	FindInstances(ctx context.Context, intent string) ([]model.Instance, error)
}

// Templates keeps the launch templates that Fleet makes from piling up.
type Templates interface {
	// Named returns the names of the launch templates that request bytes launch from, sorted.
	Named(request []byte) ([]string, error)
	// Collect deletes at most so many of the cluster's launch templates that were made before a time by EC2's clock,
	// without those of the given names. It returns how many more there are to delete.
	Collect(ctx context.Context, cluster string, keep []string, beforeUnix int64, most int) (left int, err error)
}

// Tagger gives instances the tags that are known only once they have joined.
type Tagger interface {
	// Tag adds those of the tags whose keys the instance does not have, and reports whether any were missing. NotFound
	// where EC2 does not show the instance.
	Tag(ctx context.Context, id string, tags map[string]string) (bool, error)
}

// Catalog says what can be bought and what a class resolves to.
type Catalog interface {
	// InstanceTypes returns every instance type of the region with its offerings and prices, by name. It may be kept
	// and shared, and carries its own age.
	InstanceTypes(ctx context.Context) (model.InstanceCatalog, error)
	// CallsDue returns about how many calls of EC2's API the next Types makes; 0 where it has what it returns. It calls
	// nobody.
	CallsDue() int
	// Resolve returns what the class's selectors mean now, with every image the queries find (none chosen yet), each
	// with its query's requirements and its architecture. Problems of the class are in the status; an error means that
	// nothing could be found out at all.
	Resolve(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus, error)
}
