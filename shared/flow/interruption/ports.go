package interruption

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// CollectorStore reads the ledger and keeps what the collector remembers.
type CollectorStore interface {
	port.ClusterRecords
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
	port.Adopter
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

// Clients is an open cluster.
type Clients struct {
	Cluster  Cluster
	Objects  Objects
	Pods     Pods
	Reporter port.Reporter
	Fleet    Fleet
	Health   Health
}

// Objects is the API server, as far as draining writes to NodeClaims and Nodes.
type Objects interface {
	port.NodePatcher
	port.Finalizers
	// ReadNode reads a node live, with every pod on it and the volumes attached to it. NotFound where the node of that UID is
	// gone; without a UID, where no node has the name.
	ReadNode(ctx context.Context, node model.Object) (model.Occupied, error)
	// ReadNodes reads many nodes so, by UID, in fewer calls than one after another. One that is left out is gone, or could not
	// be read with the others: Occupied says which.
	ReadNodes(ctx context.Context, nodes []model.Object) (map[string]model.Occupied, error)
	// UpdateTermination brings the conditions of the claim's NodeClaim object up to how far its end has come, and its deadline annotation
	// where it has none or a later one. NotFound where the object of that UID is gone.
	UpdateTermination(ctx context.Context, claim model.Claim) error
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
	port.LiveStates
	port.Definitions
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
	port.Instances
	// Owned returns every instance that carries the cluster's tag, a NodePool tag and an intent tag, in whatever state, by
	// id, each once. It may miss young ones, and more.
	Owned(ctx context.Context, cluster string) ([]model.Instance, error)
	// Terminate ends those of the instances that carry the three tags when it is called, and returns their ids. It may be
	// repeated; one that is not shown, or has ended, is left out.
	Terminate(ctx context.Context, cluster string, ids []string) ([]string, error)
}
