package model

import (
	"slices"
	"strings"
)

// The leases of a cluster. Each has tokens of its own.
const (
	LeasePlanner   = "planner"   // who launches
	LeaseCollector = "collector" // who ends
	LeaseCatalog   = "catalog"   // who resolves classes and makes instance profiles
	LeaseDrainer   = "drainer"   // who empties nodes
	LeaseDisrupt   = "judge"     // who decides what is disrupted voluntarily
)

// Why a claim ended, in FailureCode of claims that are Terminating or Gone, beside the reasons of commands
// (DisruptionReasons).
const (
	EndedNeverRegistered = "NeverRegistered"  // its instance ran and no node of it joined in time
	EndedObjectDeleted   = "NodeClaimDeleted" // somebody deleted its NodeClaim object
	EndedNodeGone        = "NodeGone"         // its node left the cluster and the instance ran on
	EndedInstance        = "InstanceEnded"    // EC2 says the instance was terminated
	EndedMissing         = "InstanceMissing"  // EC2 has not shown the instance for several reads
	EndedIntentLost      = "IntentLost"       // the launch it waits for is not in the ledger
	EndedOrphan          = "Orphan"           // of an instance: no claim had it

	EndedNodeDeleted = "NodeDeleted" // somebody deleted its Node object
	EndedExpired     = "Expired"     // it is older than spec.expireAfter
	EndedUnhealthy   = "Unhealthy"   // a condition of its node was bad for longer than is tolerated
	EndedBlockEnds   = "CapacityBlockEnds"

	// What AWS said of its instance.
	EndedSpotInterrupted        = "SpotInterrupted"
	EndedScheduledChange        = "ScheduledChange" // of AWS Health, or an event EC2 has scheduled for the instance
	EndedInstanceStopping       = "InstanceStopping"
	EndedReservationInterrupted = "CapacityReservationInterrupted"
	EndedStatusFailed           = "StatusCheckFailed"
)

// EndedByUs reports whether a FailureCode says that it was decided here that the instance should end, rather than found
// out that it had.
func EndedByUs(code string) bool {
	switch code {
	case EndedNeverRegistered, EndedObjectDeleted, EndedNodeGone, EndedNodeDeleted, EndedExpired, EndedUnhealthy,
		EndedBlockEnds, EndedSpotInterrupted, EndedScheduledChange, EndedInstanceStopping, EndedReservationInterrupted,
		EndedStatusFailed:
		return true
	}
	return slices.ContainsFunc(DisruptionReasons, func(r DisruptionReason) bool { return r.Name == code })
}

// ClusterRecords is what the ledger knows of a cluster's claims, for whoever collects what is left over. It is read
// consistently item by item, not at one instant.
type ClusterRecords struct {
	Claims    []Claim  // live ones and, of those gone in the last day, what had an instance or has no pool, by name
	Intents   []Intent // open ones, by id
	Collector CollectorState
	Notes     Notes         // the planner's
	Classes   []ClassRecord // what the catalog function found out last, by name
	Commands  []Command     // open ones and those ended in the last day, by id
	NowUnix   int64         // when it was read, by the clock of the ledger itself: the only one ages are measured by
	Unread    UnreadItems   // items that are there and cannot be read, by key
}

// DrainInput is what a drain run reads of the ledger.
type DrainInput struct {
	Claims   []Claim   // Draining and Terminating ones, by name
	Notes    Notes     // the planner's
	Commands []Command // open ones and those ended in the last day, by id
	NowUnix  int64     // as of ClusterRecords
	Unread   UnreadItems
}

// CollectorState is what the collector remembers of a cluster between its runs.
type CollectorState struct {
	Version  int64          `json:"version"`            // 0 = none were ever written; bumped by every write
	AtUnix   int64          `json:"at"`                 // when they were written, by the ledger's clock
	Suspects []Suspect      `json:"suspects,omitempty"` // by kind and subject
	Removals []RemovalCount `json:"removals,omitempty"` // of the last minutes, by time

	// Recorded are the claims that were Unrecorded and are not any more, by name, and the instances that ended without
	// one, by id, while the ledger's records and EC2 show them.
	Recorded []string `json:"recorded,omitempty"`

	// The newest state of the API server that was ever seen, and when that was. An older one is not believed.
	SeenVersion int64 `json:"seenVersion,omitempty"`
	SeenUnix    int64 `json:"seen,omitempty"`

	// Of what EC2 itself says of instances that are about to end, beside what EventBridge delivers.
	// when it is asked next about spot instances, for which a hint was sent; 0 = none was
	PollUnix    int64 `json:"poll,omitempty"`
	CheckedUnix int64 `json:"checked,omitempty"` // when it last said what is wrong with instances
	// what was wrong with the cluster's then, by kind and instance id, each since it was first seen
	Impaired []Suspect `json:"impaired,omitempty"`
}

// Suspect is something that looked wrong in every look since SinceUnix.
type Suspect struct {
	Kind      string `json:"kind"`
	Subject   string `json:"subject"` // an instance id, or the name of a claim or NodeClaim object
	SinceUnix int64  `json:"since"`   // by the ledger's clock
}

// RemovalCount is how many nodes were given up for removal at one time.
type RemovalCount struct {
	AtUnix int64 `json:"at"`
	Nodes  int   `json:"nodes"`
}

// LiveState is what an API server shows of instances, read live. Lists are by name.
type LiveState struct {
	Version int64         // resourceVersion of the oldest of its lists; 0 = not known
	Nodes   []Node        // every node, ours or not
	Objects []ClaimObject // every NodeClaim

	// NodeClaims are not defined: that there are no Objects says nothing, and why a node left may be just that
	Undefined bool

	// Gentle are the names of the NodePools whose nodes expire within budgets (AnnotationGentleExpiry), which the
	// disruption function sees to. Where NodePools could not be read PoolsUnread says why, and which they are
	// is unknown, as are Waits.
	Gentle      []string
	Waits       map[string]PoolWaits // of the NodePools that set any, by name
	Pools       []string             // the names of all NodePools that are not being deleted; nil = not known
	PoolsUnread string
}

// CodeUndefined is the code of NotFound where a kind is not defined in a cluster, so that nobody can tell which objects
// of it there would be.
const CodeUndefined = "Undefined"

// CodeUnreadCluster is the code of Invalid where a cluster's registration is there and cannot be read.
const CodeUnreadCluster = "RegistrationUnread"

// Definitions are the CustomResourceDefinitions of the kinds that instances are described by, as the API server has
// them now.
type Definitions struct {
	Pools, Claims, Classes Definition
}

// Definition is one of them. The API server deletes every object of a definition that is being deleted, or was: that is
// not what people who delete an object say.
type Definition struct {
	Name        string // nodepools.karpenter.sh
	Established bool   // it is there, and is not being deleted
	Going       bool   // it is there still, and is being deleted
	CreatedUnix int64  // of one that is there
}

// State says in a word how a definition is.
func (d Definition) State() string {
	switch {
	case d.Established:
		return "in place"
	case d.Going:
		return "being deleted"
	}
	return "gone"
}

// Missing names those that do not stand, and how each is; "" where all stand.
func (d Definitions) Missing() string {
	var out []string
	for _, one := range []Definition{d.Pools, d.Claims, d.Classes} {
		if !one.Established {
			out = append(out, one.Name+" is "+one.State())
		}
	}
	return strings.Join(out, ", ")
}

// ClaimObject is a NodeClaim object.
type ClaimObject struct {
	Claim       Claim // as far as the object shows it, with ObjectUID; State says how far its conditions have come
	DeletedUnix int64 // when somebody asked for its deletion; 0 = nobody did
	CreatedUnix int64 // by the API server's clock; 0 = not known
	Finalizer   bool  // ours is on it, so that its deletion waits until we take that off
	// DeadlineUnix is what the annotation karpenter.sh/nodeclaim-termination-timestamp says: by then no pod is left; 0
	// = none.
	DeadlineUnix int64
	// ClassKind is kind.group of its nodeClassRef where that is none of ours; empty = it is an EC2NodeClass.
	ClassKind string
}
