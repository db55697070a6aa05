package port

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Connector opens a cluster with the cluster's own permissions: what is tried there is allowed as it is for whoever has
// those.
type Connector[Clients any] interface {
	Connect(ctx context.Context, reg model.Registration) (Clients, error)
}

// Reporter tells people: events on objects, conditions and status.
type Reporter interface {
	// Report publishes events and conditions. Each is independent; the first error is returned after all were tried.
	// Repeating a report is harmless: events of the same object, reason and message are counted up, unchanged
	// conditions are not written.
	Report(ctx context.Context, report model.Report) error
}

// Configurations reads what people have applied.
type Configurations interface {
	// Configuration returns every NodePool and EC2NodeClass as the API server has them now, and which of these kinds it
	// does not define. An object that cannot be read is left out.
	Configuration(ctx context.Context) (model.Configuration, error)
}

// LiveStates reads nodes and NodeClaims.
type LiveStates interface {
	// ReadLive reads nodes and NodeClaim objects live. An error where any of it cannot be read; where NodeClaims are
	// not defined that is NotFound with the code model.CodeUndefined, as an empty list means that there is none, and
	// beside that error it returns what else it has read, with Undefined set.
	ReadLive(ctx context.Context) (model.LiveState, error)
}

// Definitions reads what the API server defines.
type Definitions interface {
	// Definitions reads the definitions of NodePools, NodeClaims and EC2NodeClasses live. One that is not there is no
	// error.
	Definitions(ctx context.Context) (model.Definitions, error)
}

// NodePatcher writes to nodes.
type NodePatcher interface {
	// PatchNode writes labels, annotations, taints and owner of a node, on condition of its UID. NotFound or Conflict
	// where the node is gone or another.
	PatchNode(ctx context.Context, patch model.NodePatch) error
}

// ClaimObjects shows what became of claims.
type ClaimObjects interface {
	NodePatcher
	// PutClaim creates the claim's NodeClaim object or brings annotations and status of it up to date, and returns the
	// object's UID. NotFound where claim.ObjectUID is set and the object is gone or another.
	PutClaim(ctx context.Context, claim model.Claim) (uid string, err error)
}

// Finalizers takes finalizers off.
type Finalizers interface {
	// Free takes our finalizer, and no other, off the object of a kind (Node or NodeClaim), on condition of its UID.
	// NotFound where it is gone; Conflict where another has its name. One without it is left as it is. Kept says that
	// the object is being deleted and that finalizers of others keep it.
	Free(ctx context.Context, kind string, object model.Object) (kept bool, err error)
}

// Instances is EC2, as far as instances are read by id.
type Instances interface {
	// DescribeInstances returns those of the instances that EC2 shows, in whatever state, by id, each once. That one is
	// missing is no error.
	DescribeInstances(ctx context.Context, ids []string) ([]model.Instance, error)
}
