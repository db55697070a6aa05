package catalog

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Registry knows the clusters that are attached.
type Registry interface {
	// Clusters returns every registration, by name. Safe to repeat; may be stale by seconds.
	Clusters(ctx context.Context) ([]model.Registration, error)
	// Cluster returns one registration, read consistently; NotFound where there is none.
	Cluster(ctx context.Context, name string) (model.Registration, error)
}

// Leases makes one pass over a cluster at a time likely, and a second one harmless.
type Leases interface {
	// AcquireLease takes one of the cluster's leases (model.LeaseCatalog) for owner until untilUnix. Conflict where another owner
	// holds it at nowUnix.
	AcquireLease(ctx context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error)
	// Release ends it early. A fence that is not the newest any more is left alone; that is no error.
	Release(ctx context.Context, fence model.Fence) error
}

// Records reads the ledger of a cluster, and writes what was found out about classes and claims.
type Records interface {
	// Load reads everything the ledger knows of the cluster, consistently, with the ledger's own time.
	Load(ctx context.Context, reg model.Registration) (model.Ledger, error)
	// PutClass writes a class record on condition of its Version (0 = there is none), and returns it with the next one.
	// Conflict where the stored one is at another.
	PutClass(ctx context.Context, cluster string, record model.ClassRecord) (model.ClassRecord, error)
	// DeleteClass removes a class record on condition of its Version. One that is not there is no error; Conflict where the
	// stored one is at another.
	DeleteClass(ctx context.Context, cluster string, record model.ClassRecord) error
	// Advance writes a live claim, whose State stays, on condition of its Version, and returns it with the next one.
	// Conflict where the stored one is at another or Gone.
	Advance(ctx context.Context, cluster string, claim model.Claim) (model.Claim, error)
}

// Hints asks for a check of a cluster.
type Hints interface {
	// RequestPass asks this function for a pass over a cluster. The same key for the same cluster may be one hint.
	RequestPass(ctx context.Context, cluster, key string) error
	// Ready tells who launches that a class of the cluster can be launched from now. The same key is one hint.
	Ready(ctx context.Context, cluster, key string) error
}

// DisruptHints asks the disruption function.
type DisruptHints interface {
	// RequestDisruption asks for a check of the cluster. The same key for the same cluster may be one hint; a hint may be lost.
	RequestDisruption(ctx context.Context, cluster, key string) error
}

// Allowances keeps what all clusters of an account and region share of EC2's API.
type Allowances interface {
	// Allowance reads it consistently; the zero value where it was never written.
	Allowance(ctx context.Context, reg model.Registration) (model.Allowance, error)
	// Spend writes it, with the next Version, on condition that its Version is still the stored one. Conflict where it is
	// not.
	Spend(ctx context.Context, reg model.Registration, allowance model.Allowance) error
}

// Connector opens a cluster with the cluster's own permissions: what is tried there is validated as whoever launches would be.
type Connector interface {
	Connect(ctx context.Context, reg model.Registration) (Clients, error)
}

// Clients is an open cluster. Nothing of it can launch or terminate.
type Clients struct {
	Cluster       Cluster
	Claims        ClaimObjects
	Reporter      Reporter
	Catalog       Catalog
	Profiles      Profiles
	Trials        Trials
	InstanceTypes InstanceTypes
}

// Cluster is the API server, as far as classes are concerned.
type Cluster interface {
	// Configuration reads every NodePool and EC2NodeClass as they are now.
	Configuration(ctx context.Context) (model.Configuration, error)
	// PatchClass puts our finalizer on an EC2NodeClass or takes it off, and sets annotations. NotFound where the object is
	// gone or another.
	PatchClass(ctx context.Context, mark model.ClassPatch) error
	// ReadLive reads nodes and NodeClaim objects live. An error where any of it cannot be read.
	ReadLive(ctx context.Context) (model.LiveState, error)
	// Definitions reads the definitions of NodePools, NodeClaims and EC2NodeClasses live. One that is not there is no error.
	Definitions(ctx context.Context) (model.Definitions, error)
}

// ClaimObjects shows what became of claims.
type ClaimObjects interface {
	// PutClaim brings the NodeClaim object of a claim up to date. NotFound where claim.ObjectUID is set and the object is
	// gone or another.
	PutClaim(ctx context.Context, claim model.Claim) (uid string, err error)
	// PatchNode writes labels of a node, on condition of its UID. NotFound or Conflict where the node is gone or another.
	PatchNode(ctx context.Context, patch model.NodePatch) error
}

// Reporter tells people: events, and the status of classes.
type Reporter interface {
	// Report publishes events and conditions. Each is independent; the first error is returned after all were tried.
	// Repeating a report is harmless.
	Report(ctx context.Context, report model.Report) error
}

// Catalog says what can be bought and what a class resolves to.
type Catalog interface {
	// InstanceTypes returns every instance type of the region with its offerings and prices, by name.
	InstanceTypes(ctx context.Context) (model.InstanceCatalog, error)
	// ResolveParts returns what the class's selectors mean now, with every image the queries find (none chosen yet). A selector
	// that finds nothing is a problem of its condition. A part that could not be asked about is an Unknown problem and
	// empty; the others stand, and the error joins what went wrong.
	ResolveParts(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus, error)
}

// Profiles makes and deletes instance profiles.
type Profiles interface {
	// EnsureProfile makes an instance profile that holds its role, or finishes what was half made. NotFound where the role
	// does not exist, Conflict where the profile holds another.
	EnsureProfile(ctx context.Context, profile model.InstanceProfile) error
	// Profiles returns the instance profiles whose path begins with a prefix, by name.
	Profiles(ctx context.Context, prefix string) ([]model.InstanceProfile, error)
	// DeleteProfile takes the role out of an instance profile and deletes it. One that is not there is no error.
	DeleteProfile(ctx context.Context, profile model.InstanceProfile) error
}

// Trials asks EC2 whether it would launch. Denied means that the permissions are missing, Invalid that the class asks for
// something EC2 refuses; every other error says nothing about the class. Each asks once.
type Trials interface {
	// PrepareRequest makes the launch template a launch needs and returns the bytes of its request. The template stays, and real
	// launches of the same content use it.
	PrepareRequest(ctx context.Context, launch model.Launch) ([]byte, error)
	// DryRunFleet asks whether the request would be carried out.
	DryRunFleet(ctx context.Context, request []byte) error
	// DryRun asks whether an instance of the launch, whose request the bytes are, would run in a subnet.
	DryRun(ctx context.Context, launch model.Launch, request []byte, subnet string) error
}

// InstanceTypes is EC2, as far as claims and classes are compared with it and tidied up after.
type InstanceTypes interface {
	// DescribeInstances returns those of the instances that EC2 shows, in whatever state, by id, each once.
	DescribeInstances(ctx context.Context, ids []string) ([]model.Instance, error)
	// DeleteTemplates deletes every launch template of the cluster's class. It may be repeated.
	DeleteTemplates(ctx context.Context, cluster, class string) error
}
