package world

import (
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// Log is everything that happened in a world, in order. Models write it in the same moment they change; an auditor evaluates
// by it alone. Nothing that is evaluated reads it.
type Log struct {
	now func() time.Time

	mu      sync.Mutex
	actor   string
	crowded bool // there are several clusters, so that who touches whose is noted
	entries []Entry
}

// Entry is one fact with its place in the order of things.
type Entry struct {
	Seq   int64     // 1, 2, …
	At    time.Time // by the world's clock, not by anybody's own
	Actor string    // the process that caused it; empty = nature or a person
	Fact  Fact
}

// Fact is one of the types below.
type Fact interface{ fact() }

// NewLog returns an empty log.
func NewLog(now func() time.Time) *Log { return &Log{now: now} }

// Note adds a fact. Whatever it refers to must not be written to afterwards.
func (l *Log) Note(fact Fact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, Entry{Seq: int64(len(l.entries)) + 1, At: l.now(), Actor: l.actor, Fact: fact})
}

// As notes facts of what do does as caused by actor. One process acts at a time.
func (l *Log) As(actor string, do func() error) error {
	l.mu.Lock()
	before := l.actor
	l.actor = actor
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.actor = before
		l.mu.Unlock()
	}()
	return do()
}

// Touch notes that somebody looks at or changes what is one cluster's, where there are several: writes have facts of their own, reads
// have this.
func (l *Log) Touch(cluster, what string) {
	l.mu.Lock()
	crowded := l.crowded && l.actor != ""
	l.mu.Unlock()
	if crowded {
		l.Note(Touched{Cluster: cluster, What: what})
	}
}

// Since returns the entries after the n-th, without copying them.
func (l *Log) Since(n int64) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries[n:len(l.entries):len(l.entries)]
}

// Touched is somebody who looks at or changes what is one cluster's.
type Touched struct {
	Cluster string
	What    string // ledger, object, snapshot, decision, instance
}

// FleetCalled is one call of CreateFleet that reached EC2, whether or not its answer reached the caller.
type FleetCalled struct {
	Cluster      string
	Intent       string // as tagged
	Token        string
	Request      []byte // the exact bytes
	Wanted       int
	CapacityType string
	Pools        []model.OfferingKey // that may be used
	Refused      string              // EC2's code where the call as a whole was refused; nothing happened then
	Repeat       bool                // its token was known: the first answer was given again
	Errors       []model.LaunchError //
	Instances    []string            // ids of the answer
}

// InstanceStarted is an instance that EC2 began to run.
type InstanceStarted struct {
	Cluster   string // whose tags it carries; empty = nobody's
	Instance  model.Instance
	UserData  []byte         // what it boots with
	Price     model.MicroUSD // per hour
	VisibleAt time.Time      // when describing calls begin to show it
}

// InstanceWarned is a spot instance that will be taken away.
type InstanceWarned struct {
	ID  string
	Due time.Time
}

// InstanceEnded is an instance that stopped existing: from here on it runs nothing and costs nothing.
type InstanceEnded struct {
	ID    string
	Cause string // terminate, spot, failure, person
}

// DefinitionsWritten says that the definitions of NodePools, NodeClaims and EC2NodeClasses were deleted, or were applied anew.
type DefinitionsWritten struct {
	Established bool
}

// TerminateCalled is a call of TerminateInstances that reached EC2.
type TerminateCalled struct {
	IDs []string
}

// LeaseTaken is a planner lease that changed hands, or was renewed.
type LeaseTaken struct{ Fence model.Fence }

// LeaseReleased is a lease that was given back before its time.
type LeaseReleased struct{ Fence model.Fence }

// LedgerWritten is one committed transaction of the ledger: everything it changed.
type LedgerWritten struct {
	Cluster     string
	Op          string       // the port's method: record, calling, settle, advance, …
	Fence       *model.Fence // that it was written under; nil where the operation needs none
	Intents     []model.Intent
	Claims      []ClaimChange
	Usage       []model.Usage               // pools' usage afterwards
	Unavailable []model.UnavailableOffering // as stored now
	Cleared     []model.UnavailableOffering // as stored until now

	Commands []CommandChange
	Turns    []model.BudgetVersion // as stored now

	Replaced []string // of remember: the claims whose pods are planned for elsewhere
}

// ClaimChange is a claim before and after. Before is nil for a new one, After for one that was removed.
type ClaimChange struct{ Before, After *model.Claim }

// CommandChange is a command before and after. Before is nil for a new one.
type CommandChange struct{ Before, After *model.Command }

// StopMoved is a stop of disruption voluntarily that somebody set or, Over, took back. Cluster is whose registration it was set for.
type StopMoved struct {
	Cluster string
	Stop    model.Stop
	Over    bool
}

// AlarmMoved is a CloudWatch alarm that went into ALARM or, On unset, out of it.
type AlarmMoved struct {
	Name string
	On   bool
}

// ManifestMoved is the watcher's word that its snapshot is that of now: it published another, or confirmed the last one.
type ManifestMoved struct {
	Cluster    string
	Epoch, Seq int64
}

// WatchFollowed is how far a replica of the watcher has followed the API server: to everything up to a resourceVersion.
type WatchFollowed struct {
	Cluster string
	Version int64
}

// ObjectWritten is one change of one object at the API server.
type ObjectWritten struct {
	Cluster string
	Kind    string // Pod, Node, NodeClaim, NodePool, EC2NodeClass, PodDisruptionBudget
	Name    string // namespace/name where there is a namespace
	UID     string
	Verb    string // create, update, bind, status, evict, delete (asked for), gone (really)
	Version int64  // resourceVersion after the change

	// The object afterwards; at most one is set, none for kinds without a model.
	Pod   *model.Pod
	Shape *model.PodShape // with Pod
	Node  *model.Node
	Claim *model.Claim // as the NodeClaim object shows it
	Pool  *model.Pool

	Budget *model.PDB
	Volume *VolumeAttachment

	ResourceClaim *model.ResourceClaim
	ResourceSlice *model.ResourceSlice

	// Of a Node or NodeClaim: whether our finalizer is on it, and when it was deleted; 0 = it is not being deleted.
	Finalizer   bool
	DeletedUnix int64
}

// EvictionRequested is a pod that was asked to leave, by an eviction or, Forced, by a deletion with a grace.
type EvictionRequested struct {
	Pod          model.PodRef // as it was evaluated
	UID, Node    string       // of the pod of that name, when it was asked; empty = there was none
	Forced       bool
	GraceSeconds int64
	Refused      string // why it was not; empty = it was
}

// InstanceEnding is an instance that was told to end: it is shutting down.
type InstanceEnding struct {
	ID    string
	Cause string // as of InstanceEnded
}

// InstanceStopped is an instance that was stopped: it runs nothing and costs nothing, and is there still.
type InstanceStopped struct{ ID string }

// InstanceImpaired is an instance of which EC2 says that something is wrong, or nothing any more where Kind is empty.
type InstanceImpaired struct{ ID, Kind string }

// EventMoved is an event of AWS on its way to the queue of notices.
type EventMoved struct {
	Kind string // of model's kinds of notices
	IDs  []string
	Verb string        // send, lost, late, doubled
	Late time.Duration // of send and late: how much later it shows up
}

// MessageMoved is a message on its way through a queue.
type MessageMoved struct {
	Queue    string
	ID       string
	Group    string
	Verb     string // send, duplicate (deduplicated, never shown), receive, delete, return (visible again), dead (to the DLQ), lost
	Receives int    // how often it was received by now
}

// ListFailed is a list of a cluster's instances that failed, or from which instances were missing.
type ListFailed struct {
	Cluster string
	Error   string // empty: it was answered
	Missing int    // instances that can be seen and were not named
}

// ProcessMoved is an invocation or another program that starts or ends.
type ProcessMoved struct {
	Process string
	Program string // provision, interruption, watcher, …
	Verb    string // start, end, kill, timeout
	Error   string
}

// LedgerMeddled is an item of the ledger that a person deleted or changed by hand.
type LedgerMeddled struct {
	Cluster string
	Claim   *model.Claim // that was deleted; nil = none
	Usage   *model.Usage // that was changed, as it is now; nil = none
}

// FaultInjected is something that was made to go wrong.
type FaultInjected struct {
	Process string // whom it hit; empty = a model
	What    string // such as "dies after ledger.record"
}

func (Touched) fact()            {}
func (FleetCalled) fact()        {}
func (InstanceStarted) fact()    {}
func (InstanceWarned) fact()     {}
func (InstanceEnded) fact()      {}
func (EvictionRequested) fact()  {}
func (InstanceEnding) fact()     {}
func (InstanceStopped) fact()    {}
func (InstanceImpaired) fact()   {}
func (EventMoved) fact()         {}
func (DefinitionsWritten) fact() {}
func (TerminateCalled) fact()    {}
func (LeaseTaken) fact()         {}
func (LeaseReleased) fact()      {}
func (LedgerWritten) fact()      {}
func (LedgerMeddled) fact()      {}
func (StopMoved) fact()          {}
func (AlarmMoved) fact()         {}
func (ManifestMoved) fact()      {}
func (WatchFollowed) fact()      {}
func (ObjectWritten) fact()      {}
func (MessageMoved) fact()       {}
func (ListFailed) fact()         {}
func (ProcessMoved) fact()       {}
func (FaultInjected) fact()      {}
