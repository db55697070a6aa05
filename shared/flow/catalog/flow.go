package catalog

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/core/allowance"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/work"
)

// Names of the effects of a pass over a cluster; no other function has one of the same name.
const (
	EffectSpend      = "class-spend"   // calls of EC2's API taken from, or returned to, what all clusters share
	EffectPatchClass = "class-mark"    // finalizer and hashes on an EC2NodeClass
	EffectProfile    = "class-profile" // instance profile made
	EffectTrial      = "class-trial"   // launch template made, for dry runs
	EffectRecord     = "class-record"  // class record written or dropped
	EffectAdvance    = "class-advance" // claim written, with its drift
	EffectPatchClaim = "class-show"    // NodeClaim object brought up to date
	EffectNode       = "class-node"    // node relabelled
	EffectTidy       = "class-tidy"    // instance profile or launch templates deleted
	EffectReport     = "class-tell"    // events and status
	EffectHint       = "class-hint"    // who launches told that a class is ready, or that a zonal shift began or ended
	EffectShift      = "class-shift"   // zonal shifts recorded
)

// Flow is both passes with their ports and their clock. It keeps nothing between runs.
type Flow struct {
	Registry   port.Registry
	Leases     port.Leases
	Records    Records
	Allowances port.Allowances
	Peeks      work.Peeks // nil = clusters are swept each minute
	Connector  port.Connector[Clients]
	Catalogs   Catalogs // where the region pass keeps the instance catalog; nil = each pass reads EC2 itself

	Shifts ShiftRecords // where zonal shifts are recorded; nil = ARC is not asked

	RequestPass       port.Hint // of this function, over one cluster
	ReportReady       port.Hint // to who launches: a class can be launched from now
	RequestDisruption port.Hint // of claims that have newly drifted; nil = none is sent
	// RequestShift asks this function to ask ARC alone, after a time; nil = each tick does
	RequestShift func(ctx context.Context, cluster, key string, after time.Duration) error

	Now      func() time.Time
	Settings Settings
	Effects  work.EffectHook // nil but where a test wants to see or stop effects
}

// Settings are the flow's numbers. A field that is zero has the default of its tag.
type Settings struct {
	LeaseMargin time.Duration `default:"2s"` // how long the lease outlives the invocation's deadline
	StopBefore  time.Duration `default:"5s"` // what must be left of the invocation to begin with another class

	// How old what a class resolves to may become before it is looked up again.
	BusyEvery   time.Duration `default:"110s"` // while claims use it, so that every other tick of a minute does; less than who launches accepts
	IdleEvery   time.Duration `default:"1h"`   // while none do
	RetryAfter  time.Duration `default:"50s"`  // while it is not ready, so that each tick of a minute does
	RepeatAfter time.Duration `default:"10s"`  // where a NodePool or EC2NodeClass was changed

	// How long a verdict is good while what it depends on stays the same. What a bad one is about is mostly mended elsewhere,
	// such as permissions, and people wait for it.
	VerdictFor time.Duration `default:"30m"`  // a good one
	NoFor      time.Duration `default:"110s"` // a bad one, so that every other tick of a minute tries again

	KeepProfile   time.Duration `default:"1h"`  // how long an instance profile is kept that a class does not use any more
	ProfilesEvery time.Duration `default:"30m"` // between looks for instance profiles left over
	EndAfter      time.Duration `default:"30s"` // how long a deletion must have been asked for, so that no launch that has not heard of it is under way

	IsolatedVPC  bool              // IAM cannot be reached: nothing is asked of it
	NoDryRun     bool              // classes are not tried on EC2
	NoZonalShift bool              // ARC is not asked for zonal shifts, and those that are recorded are dropped
	Offerings    offering.Settings // what instance types hold; Region is the cluster's
	Rates        allowance.Rates   // of what all clusters share of EC2's API
}

// Request is one hint to look at one cluster.
type Request struct {
	Cluster  string
	Config   bool      // a NodePool or EC2NodeClass was made or changed: everything is due
	Shift    bool      // a zonal shift may have begun or ended: nothing else is looked at
	Owner    string    // of the lease: unique to the invocation
	Deadline time.Time // when the invocation is killed
}

// Outcome is what one pass did, for one log line.
type Outcome struct {
	Cluster  string           `json:"cluster"`
	Skipped  string           `json:"skipped,omitempty"` // why nothing was done
	Classes  int              `json:"classes"`           // that there are
	Resolved int              `json:"resolved"`          // looked up in this pass
	Tried    int              `json:"tried,omitempty"`   // tried on EC2
	NotReady []string         `json:"notReady,omitempty"`
	Ended    []string         `json:"ended,omitempty"`    // classes whose deletion was finished
	Vanished []string         `json:"vanished,omitempty"` // classes released that go with their definition
	Drifted  map[string]int   `json:"drifted,omitempty"`  // claims found drifted, by reason
	Rehashed int              `json:"rehashed,omitempty"` // claims whose hashes were of other rules: written anew, and no drift
	Tidied   int              `json:"tidied,omitempty"`   // instance profiles deleted
	Shifted  []string         `json:"shifted,omitempty"`  // IDs of zones that the cluster is shifted away from
	Millis   map[string]int64 `json:"millis,omitempty"`   // since the start of the run, by what was reached
	Problems []string         `json:"problems,omitempty"`
}
