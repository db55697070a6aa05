package disrupt

import (
	"time"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/work"
)

// Names of the flow's effects, in the order a command meets them.
const (
	EffectForget     = "forget"   // memo of a check that found nothing taken back; only where there is one
	EffectCommit     = "commit"   // command, its claims and turns written
	EffectDecision   = "decision" // decision record kept
	EffectTaint      = "taint"    // node tainted
	EffectPatchClaim = "show"     // why a node is disrupted shown on its NodeClaim, or that no more
	EffectStep       = "step"     // how far a command has come, in the ledger
	EffectReplace    = "replace"  // provision asked for replacements, or for the pods' next place
	EffectEnd        = "end"      // command Done or Undone, with its claims
	EffectDrain      = "drain"    // a drain run asked for
	EffectUntaint    = "untaint"  // taint taken off
	EffectHint       = "hint"     // another check asked for
	EffectNote       = "note"     // notes of the disruption function written
	EffectReport     = "tell"     // events
)

// AllEffects lists them.
var AllEffects = []string{
	EffectForget, EffectCommit, EffectDecision, EffectTaint, EffectPatchClaim, EffectStep, EffectReplace, EffectEnd, EffectDrain, EffectUntaint,
	EffectHint, EffectNote, EffectReport,
}

// Flow is the disruption function with its ports and its clock. It keeps nothing between runs: what it remembers is in the ledger.
type Flow struct {
	Registry  port.Registry
	Leases    port.Leases
	Ledger    Ledger
	Commands  Commands
	Snapshots port.Snapshots
	Losses    work.LossReporter // nil = the watcher finds by itself what of its snapshot is gone
	Catalogs  port.RegionCatalogs
	Decisions Decisions
	Connector port.Connector[Clients]

	RequestReplacement port.Hint        // of provision: look at the commands, and at the pods of what is drained
	RequestDrain       port.DelayedHint // of the interruption function: take the next step of every drain
	RequestDisruption  port.DelayedHint // of this function: check again

	// Now is this process's own clock. It dates the lease and measures how long things take; how old anything is comes from
	// the ledger's clock.
	Now   func() time.Time
	NewID func() string // unique and sorted by time, such as a ULID

	// Nil = those of core/disruption; a test may put something else in their place.
	Plan       func(disruption.Input) model.DisruptPlan
	Revalidate func(disruption.Input, *model.Command) []model.KeptReason

	// Parallel calls do(0) … do(n-1) side by side and returns when all have; nil = on goroutines, at most Settings.Parallel
	// at once. Tests replace it to have one order.
	Parallel func(n int, do func(i int))
	Settings Settings
	Effects  work.EffectHook // nil but where a test wants to see or stop effects
}

// Settings are the flow's numbers. A field that is zero has the default of its tag.
type Settings struct {
	Build          string        // version of the binary, for decision records
	LeaseMargin    time.Duration `default:"2s"`  // how long the lease outlives the invocation's deadline
	StopBefore     time.Duration `default:"3s"`  // what must be left of the invocation to begin another step
	FreshFor       time.Duration `default:"10s"` // age of the watcher's heartbeat up to which its snapshot is decided by
	SilentAfter    time.Duration `default:"45s"` // age of the watcher's heartbeat from which nobody waits for the next
	ValidateAfter  time.Duration `default:"15s"` // between a command to save money and its second check
	ValidateWithin time.Duration `default:"5m"`  // for a command to be found to hold
	ReplaceWithin  time.Duration `default:"20m"` // for its replacements to be initialized
	RecheckAfter   time.Duration `default:"20s"` // between two looks at a command that waits for replacements
	PassEvery      time.Duration `default:"10s"` // at least, between two looks this flow asks itself for because time has passed
	MemoFor        time.Duration `default:"5m"`  // how long a check that found nothing is good for, whatever else
	CatalogAfter   time.Duration `default:"25h"` // age of the region's instance catalog from which nothing is decided by it
	ClassAfter     time.Duration `default:"15m"` // age of what a class resolves to from which nothing is launched by it
	ReportAfter    time.Duration `default:"15m"` // between two events that say why a node stays
	MaxReported    int           `default:"500"` // nodes of which it is remembered what events said
	MaxEvents      int           `default:"100"` // about nodes that stay, in one run
	Parallel       int           `default:"20"`  // commands, and nodes of each, at work at once

	Disruption disruption.Settings // what people choose
	Offerings  offering.Settings   // what instance types hold; Region is the cluster's, the time the run's
}

// Request is one hint to look at one cluster.
type Request struct {
	Cluster      string
	Owner        string    // of the lease: unique to the invocation
	Deadline     time.Time // when the invocation is killed
	Changed      bool      // somebody has seen something change, so that it is looked even where the snapshot is the same
	Redeliveries int       // how often the hint has come back because another run was at work
}

// Outcome is what one run did, for one log line.
type Outcome struct {
	Cluster     string            `json:"cluster"`
	Skipped     string            `json:"skipped,omitempty"`   // why nothing was looked at
	Undecided   string            `json:"undecided,omitempty"` // why nothing new was decided
	Open        int               `json:"open"`                // commands on their way, at the start
	Nodes       int               `json:"nodes,omitempty"`     // of pools
	Planned     int               `json:"planned,omitempty"`   // commands
	Committed   []string          `json:"committed,omitempty"` // command ids
	Decided     []Decided         `json:"decided,omitempty"`   // the same by reason and by what they do
	Conflicts   int               `json:"conflicts,omitempty"` // writes that came too late
	Replacing   int               `json:"replacing,omitempty"` // commands found to hold, whose replacements were asked for
	Done        int               `json:"done,omitempty"`
	Drained     int               `json:"drained,omitempty"` // claims made Draining
	Undoing     int               `json:"undoing,omitempty"` // commands found not to hold, or whose replacements failed
	Undone      int               `json:"undone,omitempty"`
	Strays      int               `json:"strays,omitempty"` // taints nobody answers for, taken off
	Kept        map[string]int    `json:"kept,omitempty"`   // nodes that stay, by the first reason's code
	Constrained bool              `json:"constrained,omitempty"`
	Savings     float64           `json:"savings,omitempty"`     // per hour, of what was committed, USD
	PriceBefore float64           `json:"priceBefore,omitempty"` // per hour, USD
	PriceAfter  float64           `json:"priceAfter,omitempty"`  // once the plan is carried out
	Decision    string            `json:"decision,omitempty"`    // id of the record
	DueUnix     int64             `json:"again,omitempty"`       // when the next check is due, by the ledger's clock; 0 = when something changes
	Catalog     *model.CatalogUse `json:"machines,omitempty"`    // what catalog was decided by
	Millis      map[string]int64  `json:"millis,omitempty"`      // since the start of the run, by what was reached
	Problems    []string          `json:"problems,omitempty"`

	Waiting []model.WaitingNodes `json:"waiting,omitempty"` // nodes there is reason to disrupt, and that stay
	Delayed float64              `json:"delayed,omitempty"` // USD per hour that is not saved while something waits
	Moved   []Moved              `json:"moved,omitempty"`   // pods of what was committed
}

// Decided is how many commands were committed for one reason that do the same.
type Decided struct {
	Reason   string `json:"reason"`             // model.ReasonEmpty and the like
	Replaces bool   `json:"replaces,omitempty"` // instances are launched in the place of those disrupted
	Commands int    `json:"commands"`
}

// Moved is how many pods commands move, by reason and by what the NodePool says, in Karpenter's words.
type Moved struct {
	Reason string `json:"reason"`
	Policy string `json:"policy,omitempty"` // consolidationPolicy, of what it has an effect on
	Mode   string `json:"mode"`             // graceful, eventual or forceful, by terminationGracePeriod
	Pods   int    `json:"pods"`
}

// seconds of a duration.
func seconds(d time.Duration) int64 { return int64(d / time.Second) }

const (
	maxClockOffset  = 5 // seconds by which the watcher's clock may be ahead of the ledger's for its heartbeat to be believed
	missedHeartbeat = 3 // seconds until another check, where the watcher's heartbeat is only a little late
	retryAfter      = 5 // seconds until another check, after something did not answer
	cameTooLate     = 2 // seconds until another check, after somebody else has written first
	sharedSource    = "s3"
)
