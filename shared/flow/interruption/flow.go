package interruption

import (
	"cmp"
	"time"

	"github.com/joiner-sh/joiner/shared/core/drain"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/work"
)

// Names of the flow's effects.
const (
	EffectNote        = "casebook"  // collector state written
	EffectTerminate   = "terminate" // TerminateInstances
	EffectRemoval     = "removal"   // record of an instance's end kept
	EffectClose       = "close"     // claim Gone in the ledger
	EffectAdopt       = "adopt"     // claim of an instance nobody recorded written to the ledger
	EffectRemove      = "remove"    // Node or NodeClaim object deleted
	EffectHint        = "hint"      // another check asked for
	EffectBegin       = "begin"     // claim Draining or Terminating in the ledger
	EffectTaint       = "taint"     // node tainted and taken out of load balancers
	EffectPlan        = "plan"      // provision asked for the pods' next place
	EffectDrain       = "drain"     // a drain run asked for
	EffectStep        = "step"      // how far a drain has come, in the ledger
	EffectEvict       = "evict"     // pod asked to leave
	EffectDelete      = "delete"    // pod made to leave
	EffectPatchClaim  = "show"      // NodeClaim object's conditions
	EffectFree        = "free"      // finalizer taken off
	EffectReport      = "tell"      // events
	EffectDisrupt     = "judge"     // the disruption function told that a command's node has ended
	EffectVanish      = "vanish"    // that a NodeClaim object is to be made anew, in the ledger
	EffectUnavailable = "mark"      // offerings marked that EC2 takes instances back of
)

// Flow is the resync with its ports and its clock. It keeps nothing between runs: what it remembers is in the ledger.
type Flow struct {
	Registry  port.Registry
	Leases    port.Leases
	Collector CollectorStore
	Claims    Claims
	Removals  Removals
	Peeks     work.Peeks // nil = clusters are looked at each minute
	Connector port.Connector[Clients]

	Finder      Finder
	Steps       port.ClaimStates
	Unavailable port.UnavailableOfferings

	RequestPlan       port.Hint        // of provision: look at the pods that must leave
	RequestDrain      port.DelayedHint // of this function: take the next step of every drain
	RequestPass       port.DelayedHint // of this function, over one cluster
	RequestShift      port.Hint        // of the catalog function: ask ARC for zonal shifts; nil = its own tick does
	RequestDisruption port.Hint        // as budgets have room again; nil = the disruption function's own tick finds it

	// Now is this process's own clock. It dates the lease and measures how long things take; how old anything is comes from
	// the ledger's clock.
	Now func() time.Time
	// Parallel calls do(0) … do(n-1) side by side and returns when all have; nil = on goroutines, at most Settings.Parallel
	// at once. Tests replace it to have one order.
	Parallel func(n int, do func(i int))
	Settings Settings
	Effects  work.EffectHook // nil but where a test wants to see or stop effects
}

// Settings are the flow's numbers. A field that is zero has the default of its tag.
type Settings struct {
	Confirm     time.Duration `default:"30s"` // between the look that first sees something wrong and the one that acts
	JoinWithin  time.Duration `default:"15m"` // for an instance's node to join
	RepairAfter time.Duration // for how long a condition of a node may be bad, whichever: 10 min of accelerators, 30 min of the others
	// of a NodePool's nodes, rounded up: where more are unhealthy, none is repaired; 20
	RepairPercent int
	LeaseMargin   time.Duration `default:"2s"`   // how long the lease outlives the invocation's deadline
	StopBefore    time.Duration `default:"3s"`   // what must be left of the invocation to begin another act
	ActWithin     time.Duration `default:"8s"`   // age of the look from which it is too old to act upon
	Continuous    time.Duration `default:"10m"`  // gap between two looks after which suspicions begin anew
	BelieveOld    time.Duration `default:"30m"`  // how long an API server must show a state older than one already seen to be believed
	MaxSuspects   int           `default:"2000"` // that are remembered
	MaxActs       int           `default:"200"`  // in one run
	Parallel      int           `default:"50"`   // claims at work at once, so that a thousand drains come round in two seconds
	ParallelPods  int           `default:"10"`   // pods of each that are asked to leave at once

	// Of drain runs.
	Drain         drain.Settings
	MaxMoves      int   `default:"2000"` // pods that are made to leave in one run
	RetrySeconds  int64 `default:"30"`   // until a claim whose drain panicked is looked at again, and at most until one that could not be read or written is
	ReportSeconds int64 `default:"120"`  // between two events that say what a drain waits for

	// The removal limit: in RemovalWindow at most max(RemovalNodes, RemovalPercent of the cluster's nodes) are removed that EC2 does not
	// say have ended. The window is longer than the five minutes promised, because what was counted is done a little later.
	RemovalWindow  time.Duration `default:"6m"`
	RemovalNodes   int           `default:"5"`
	RemovalPercent int           `default:"10"`
}

func (s Settings) withDefaults() Settings {
	// Less than the drain's own: with what it takes to be reported and to come round, the first pod of an instance that EC2 warned of
	// is asked to leave within 8 seconds (C1).
	s.Drain.ReplaceSeconds = cmp.Or(s.Drain.ReplaceSeconds, 4)
	return work.WithDefaults(s)
}

// Request is one hint to look at one cluster.
type Request struct {
	Cluster  string
	Owner    string    // of the lease: unique to the invocation
	Deadline time.Time // when the invocation is killed

	// Of a drain run, as its hints say.
	Dues  []int64 // when the steps they were sent for are due
	Tries int     // how often in a row it could not be done

	AsOfUnix int64 // all they are about was on record, or due, by then; 0 = not known
	Undated  bool  // of some that is not known
}

// Outcome is what one run did, for one log line.
type Outcome struct {
	Cluster    string           `json:"cluster"`
	Skipped    string           `json:"skipped,omitempty"`   // why nothing was done
	Undefined  string           `json:"undefined,omitempty"` // why no end began for how the cluster is
	Instances  int              `json:"instances"`           // ours, that EC2 shows
	Claims     int              `json:"claims"`              // live
	Nodes      int              `json:"nodes"`               // live claims with one
	Findings   map[string]int   `json:"findings,omitempty"`
	Waiting    int              `json:"waiting,omitempty"`    // findings that must be seen again first
	Limited    int              `json:"braked,omitempty"`     // findings put off because enough nodes were removed lately
	Adopted    int              `json:"adopted,omitempty"`    // instances that got a claim
	Terminated []string         `json:"terminated,omitempty"` // instance ids told to end
	Drained    int              `json:"drained,omitempty"`    // claims made Draining
	Vanished   int              `json:"vanished,omitempty"`   // claims whose NodeClaim object goes with a definition, and whose instance stays
	Hastened   int              `json:"hastened,omitempty"`   // drains whose deadline came forward
	Retired    int              `json:"retired,omitempty"`    // claims made Terminating
	Closed     int              `json:"closed,omitempty"`     // claims made Gone
	Ended      []Ended          `json:"ended,omitempty"`      // of the closed ones, those that had an instance
	Removed    int              `json:"removed,omitempty"`    // objects deleted
	Freed      int              `json:"freed,omitempty"`      // objects our finalizer was taken off
	Millis     map[string]int64 `json:"millis,omitempty"`     // since the start of the run, by what was reached
	Problems   []string         `json:"problems,omitempty"`

	Interrupted int            `json:"interrupted,omitempty"` // spot instances that EC2 says it takes back
	Impaired    map[string]int `json:"impaired,omitempty"`    // instances that EC2's checks find ill and that were not at the last look, by kind
}

// Ended is a claim whose instance has ended, and is reported once, by whoever closed it.
type Ended struct {
	Claim        string `json:"claim"`
	Pool         string `json:"pool,omitempty"` // "" = of none
	CapacityType string `json:"capacityType,omitempty"`
	Reason       string `json:"reason"`            // one of the Ended… codes
	Seconds      int64  `json:"seconds,omitempty"` // since its end began; 0 = it was found to have ended
}

// endedOf returns what is reported of a claim that was closed at a time, and whether it had an instance.
func endedOf(claim *model.Claim, atUnix int64) (ended Ended, had bool) {
	ended = Ended{Claim: claim.Name, Pool: claim.Pool, CapacityType: claim.CapacityType, Reason: claim.FailureCode}
	if claim.Drain != nil {
		ended.Seconds = max(1, atUnix-claim.Drain.SinceUnix)
	}
	return ended, claim.InstanceID != ""
}

// DrainOutcome is what one drain run did, for one log line.
type DrainOutcome struct {
	Cluster    string           `json:"cluster"`
	Skipped    string           `json:"skipped,omitempty"`    // why nothing was done
	Draining   int              `json:"draining"`             // claims whose nodes are being emptied
	Ending     int              `json:"ending"`               // claims whose instances are ending
	Due        int              `json:"due"`                  // of both, those whose next step was due
	Steps      map[string]int   `json:"steps,omitempty"`      // that were done, by kind
	Evicted    int              `json:"evicted,omitempty"`    // pods that were asked to leave and will
	Deleted    int              `json:"deleted,omitempty"`    // pods that were made to
	Refused    int              `json:"refused,omitempty"`    // evictions that were not allowed, or failed
	Terminated []string         `json:"terminated,omitempty"` // instance ids told to end
	Closed     int              `json:"closed,omitempty"`     // claims made Gone
	Ended      []Ended          `json:"ended,omitempty"`      // of those, the ones that had an instance, by claim
	DueUnix    int64            `json:"again,omitempty"`      // when the next step is due
	Millis     map[string]int64 `json:"millis,omitempty"`     // since the start of the run, by what was reached
	Problems   []string         `json:"problems,omitempty"`
}

// Received is a message of the queue of notices.
type Received struct {
	Message string // its id
	Body    []byte // an event of EventBridge
}

// NoticesOutcome is what one batch of notices came to, for one log line.
type NoticesOutcome struct {
	Messages  int              `json:"messages"`
	Kinds     map[string]int   `json:"kinds,omitempty"`     // messages by kind of notice
	Malformed int              `json:"malformed,omitempty"` // messages that are no event; dropped
	Foreign   int              `json:"foreign,omitempty"`   // messages about no instance of ours; dropped
	Elsewhere int              `json:"elsewhere,omitempty"` // claims named by another account or region than their instance's; dropped
	Idle      int              `json:"idle,omitempty"`      // claims of clusters that are detached or paused; nothing is done about them
	Stale     int              `json:"stale,omitempty"`     // warnings whose time has come already: a look asks EC2 instead
	Unfit     int              `json:"unfit,omitempty"`     // warnings that do not fit how the instance was bought: a look asks EC2 instead
	Begun     map[string]int   `json:"begun,omitempty"`     // claims whose end began, by kind of notice
	Hastened  int              `json:"hastened,omitempty"`  // claims that were to end already, and end sooner
	Already   int              `json:"already,omitempty"`   // claims that were to end already, or are Gone
	Marked    int              `json:"marked,omitempty"`    // offerings that are left alone for a while
	Passes    int              `json:"looks,omitempty"`     // looks that were asked for
	Shifts    int              `json:"shifts,omitempty"`    // clusters for which ARC is to be asked
	Failed    int              `json:"failed,omitempty"`    // messages that are to come again
	Millis    map[string]int64 `json:"millis,omitempty"`    // since the start, by what was reached
	Problems  []string         `json:"problems,omitempty"`
}
