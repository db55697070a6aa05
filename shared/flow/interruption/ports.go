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
	// AcquireLease takes one of the cluster's leases (model.LeaseCollector) for owner until untilUnix and returns a fence whose
	// token is greater than any before of that lease. Conflict where another owner holds it at nowUnix, unless it was
	// taken after untilUnix: then its clock was ahead; with Conflict comes what is known of the holder's fence.
	// Taking it again as the same owner renews it.
	AcquireLease(ctx context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error)
	// Release ends it early. A fence that is not the newest any more is left alone; that is no error.
	Release(ctx context.Context, fence model.Fence) error
}

// CollectorStore reads the ledger and keeps what the collector remembers.
type CollectorStore interface {
	// Records reads claims, open intents and the collector's state, consistently, with the ledger's own time. Claims of pools that are gone
	// and never had an instance are left out: nothing is left of them.
	Records(ctx context.Context, reg model.Registration) (model.ClusterRecords, error)
	// Ending reads the claims that are to end, the commands and the planner's notes, as Records does.
	Ending(ctx context.Context, reg model.Registration) (model.DrainInput, error)
	// PutCollectorState replaces the collector state, on condition that the fence is the newest of its lease and that the stored one has the
	// Version given, and returns it with the next one. Conflict otherwise, and nothing was written.
	PutCollectorState(ctx context.Context, fence model.Fence, collector model.CollectorState) (model.CollectorState, error)
}

// Claims ends claims and begins those of instances that are adopted. Every write carries a fence and commits only while
// that is the newest of its lease: otherwise Conflict, and nothing was written.
type Claims interface {
	// CloseClaim moves a claim to Gone as of atUnix, with FailureCode and FailureMessage as given, and releases what it holds,
	// in one transaction on condition of its Version. Closing a claim that is Gone changes nothing and is no error.
	// Conflict where the stored one is live at another version.
	CloseClaim(ctx context.Context, fence model.Fence, claim model.Claim, atUnix int64) error
	// Adopt writes a claim nobody recorded, with State, instance and Reserved set, and adds what it holds to its pool's usage,
	// whatever the limits are. Adopting a claim of the same name and instance again changes nothing and is no error;
	// Conflict where a claim of that name has another instance or is Gone.
	Adopt(ctx context.Context, fence model.Fence, claim model.Claim) error
}

// Removals keeps the records of instances' ends.
type Removals interface {
	// PutRemoval stores the record of an instance's end. Putting it again replaces it.
	PutRemoval(ctx context.Context, removal model.Removal) error
	// AddRemoval is PutRemoval where there is no record of that claim and day, and else nothing.
	AddRemoval(ctx context.Context, removal model.Removal) error
}

// Finder finds the claims of instances AWS names.
type Finder interface {
	// ByInstance returns the claims, gone ones too, that have one of the instances, whatever their cluster, each read
	// consistently, and the ledger's own time. An id no claim is found for is left out; a claim younger than some seconds may
	// be missed.
	ByInstance(ctx context.Context, ids []string) (found []model.FoundClaim, nowUnix int64, err error)
}

// Steps moves claims on towards their end. The claim's version is condition enough.
type Steps interface {
	// Advance writes the claim (State Draining or Terminating, why it ends, Drain) on condition that its Version is still the
	// stored one, and returns it with the next. Conflict where it is not, or the stored one is Gone.
	Advance(ctx context.Context, cluster string, claim model.Claim) (model.Claim, error)
}

// PlanHints asks provision for what pods that must leave need.
type PlanHints interface {
	// Plan asks for a check of a cluster's pods, now. The same key for the same cluster may be one hint, however often sent.
	Plan(ctx context.Context, cluster, key string) error
}

// DisruptHints asks the disruption function.
type DisruptHints interface {
	// RequestDisruption asks for a check of which nodes to disrupt, now. The same key for the same cluster may be one hint, however often sent.
	RequestDisruption(ctx context.Context, cluster, key string) error
}

// UnavailableOfferings remembers which offerings gave no capacity, for every cluster of the same account and region.
type UnavailableOfferings interface {
	// MarkUnavailable adds unavailable offerings. Of two about the same, the one with more failures stays, then the one that lasts longer.
	MarkUnavailable(ctx context.Context, reg model.Registration, unavailableOfferings []model.UnavailableOffering) error
}

// DrainHints asks for a drain step, as Hints asks for a check.
type DrainHints interface {
	// Drain asks for the next step of every drain of a cluster after some time. The same key may be one hint.
	Drain(ctx context.Context, cluster, key string, after time.Duration) error
}

// Hints asks for a check of a cluster.
type Hints interface {
	// RequestPass asks for one after some time. The same key for the same cluster may be one hint, however often sent.
	RequestPass(ctx context.Context, cluster, key string, after time.Duration) error
}

// Connector opens a cluster: its API server and its instances, with the cluster's own permissions.
type Connector interface {
	Connect(ctx context.Context, reg model.Registration) (Clients, error)
}

// Clients is an open cluster.
type Clients struct {
	Cluster  Cluster
	Objects  Objects
	Pods     Pods
	Reporter Reporter
	Fleet    Fleet
	Health   Health
}

// Objects is the API server, as far as draining writes to NodeClaims and Nodes.
type Objects interface {
	// ReadNode reads a node live, with every pod on it and the volumes attached to it. NotFound where the node of that UID is
	// gone; without a UID, where no node has the name.
	ReadNode(ctx context.Context, node model.Object) (model.Occupied, error)
	// ReadNodes reads many nodes so, by UID, in fewer calls than one after another. One that is left out is gone, or could not
	// be read with the others: Occupied says which.
	ReadNodes(ctx context.Context, nodes []model.Object) (map[string]model.Occupied, error)
	// PatchNode writes labels, annotations and taints of a node, on condition of its UID. NotFound or Conflict where the node is
	// gone or another.
	PatchNode(ctx context.Context, patch model.NodePatch) error
	// UpdateTermination brings the conditions of the claim's NodeClaim object up to how far its end has come, and its deadline annotation
	// where it has none or a later one. NotFound where the object of that UID is gone.
	UpdateTermination(ctx context.Context, claim model.Claim) error
	// Free takes our finalizer off the object of a kind (Node or NodeClaim), on condition of its UID. NotFound where it is
	// gone; Conflict where another has its name. One without it is left as it is.
	Free(ctx context.Context, kind string, object model.Object) error
}

// Pods is the API server, as far as pods are made to leave.
type Pods interface {
	// Evict asks the Eviction API for a pod to leave, on condition of its UID. Throttled where a PodDisruptionBudget forbids it,
	// with the code DisruptionBudget (or any other where the server is busy); Invalid with the code TooManyBudgets where
	// several name it; NotFound or Conflict where it is gone or another.
	Evict(ctx context.Context, pod model.PodRef) error
	// Delete deletes a pod with a grace of so many seconds, ≥ 1, on condition of its UID, with errors as of Evict but those about
	// budgets. A pod that is ending sooner already stays as it is.
	Delete(ctx context.Context, pod model.PodRef, graceSeconds int64) error
}

// Reporter tells people: events on objects.
type Reporter interface {
	// Report publishes events. Each is independent; the first error is returned after all were tried. Repeating one of the same
	// object, reason and message counts it up.
	Report(ctx context.Context, report model.Report) error
}

// Health is EC2, as far as it tells what is about to happen to instances.
type Health interface {
	// Interrupted returns the cluster's spot instances that EC2 has marked for termination or has stopped or terminated for
	// its own reasons, by instance id.
	Interrupted(ctx context.Context, cluster string) ([]model.SpotInterruption, error)
	// Impaired returns what is wrong with instances of account and region, whoever owns them, by instance id and kind: failed
	// status checks and scheduled events that are neither completed nor canceled. Denied where that may not be asked.
	Impaired(ctx context.Context) ([]model.Impairment, error)
}

// Cluster is the API server, as far as collecting reads and writes it.
type Cluster interface {
	// ReadLive reads nodes and NodeClaim objects live. An error where any of it cannot be read; where NodeClaims are not defined that
	// is NotFound with the code model.CodeUndefined, as an empty list means that there is none, and beside that error it returns what
	// else it has read, with Undefined set.
	ReadLive(ctx context.Context) (model.LiveState, error)
	// Definitions reads the definitions of NodePools, NodeClaims and EC2NodeClasses live. One that is not there is no error.
	Definitions(ctx context.Context) (model.Definitions, error)
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
	// DescribeInstances returns those of the instances that EC2 shows, in whatever state, by id, each once. That one is missing is
	// no error.
	DescribeInstances(ctx context.Context, ids []string) ([]model.Instance, error)
	// Terminate ends those of the instances that carry the three tags when it is called, and returns their ids. It may be
	// repeated; one that is not shown, or has ended, is left out.
	Terminate(ctx context.Context, cluster string, ids []string) ([]string, error)
}
