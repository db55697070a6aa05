package provision

import (
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Triggers of a run.
const (
	TriggerBatch    = "batch"    // the watcher saw pods nothing can hold
	TriggerDrain    = "drain"    // a claim is to end: its pods need a place elsewhere
	TriggerNode     = "node"     // a node joined or became ready
	TriggerReplace  = "replace"  // a command waits for its replacements to be launched
	TriggerConfig   = "config"   // a NodePool or EC2NodeClass was made or changed
	TriggerHeadroom = "headroom" // a CapacityBuffer changed, or pods came to where there may be its room
	TriggerResync   = "sweep"    // the full pass of each minute
)

// Request is one hint to look at one cluster.
type Request struct {
	Cluster  string
	Trigger  string
	Epoch    int64     // of the snapshot the hint names; 0 = any
	Seq      int64     // the same
	Owner    string    // of the lease: unique to the invocation
	Deadline time.Time // when the invocation is killed
}

// Take makes the request ask for what a hint asks for too: it keeps the newest state any of a cluster's hints names,
// and the trigger that asks for most.
func (r *Request) Take(hint wire.Hint) {
	if hint.Epoch > r.Epoch || hint.Epoch == r.Epoch && hint.Seq > r.Seq {
		r.Epoch, r.Seq = hint.Epoch, hint.Seq
	}
	rank := map[string]int{
		TriggerResync: 1, TriggerNode: 2, TriggerHeadroom: 2, TriggerBatch: 3, TriggerDrain: 3, TriggerReplace: 3,
		TriggerConfig: 4,
	}
	trigger := string(hint.Reason)
	if hint.Reason == wire.ReasonLeaving { // releases before called it a drain
		trigger = TriggerDrain
	}
	if rank[trigger] == 0 {
		trigger = TriggerResync
	}
	if rank[trigger] > rank[r.Trigger] {
		r.Trigger = trigger
	}
}

// Outcome is what one run did, for one log line.
type Outcome struct {
	Cluster       string              `json:"cluster"`
	Trigger       string              `json:"trigger"`
	Skipped       string              `json:"skipped,omitempty"`  // why nothing was done
	Source        string              `json:"source,omitempty"`   // snapshot or list
	Decision      string              `json:"decision,omitempty"` // id of the record
	Pending       int                 `json:"pending"`
	Headroom      int                 `json:"headroom,omitempty"` // places that CapacityBuffers ask for
	Claims        int                 `json:"claims"`             // launched
	Bought        []Bought            `json:"bought,omitempty"`   // Claims by pool and capacity type
	Intents       []string            `json:"intents,omitempty"`  // ids of those that launched them
	Failed        int                 `json:"failed,omitempty"`
	Failures      map[string]int      `json:"failures,omitempty"`  // Failed by code
	Nominated     int                 `json:"nominated,omitempty"` // pods that fit what is there or on its way
	Unschedulable int                 `json:"unschedulable,omitempty"`
	Later         int                 `json:"later,omitempty"` // pods that are planned next
	Rounds        int                 `json:"rounds,omitempty"`
	Recovered     int                 `json:"recovered,omitempty"`
	Recounted     []lifecycle.Recount `json:"recounted,omitempty"` // pools whose usage was corrected
	Restored      int                 `json:"restored,omitempty"`  // NodeClaims made anew after their definition was
	Registered    int                 `json:"registered,omitempty"`
	Joined        map[string]int      `json:"joined,omitempty"` // Registered by pool; "" = of none
	Initialized   int                 `json:"initialized,omitempty"`
	PricePerHour  float64             `json:"pricePerHour,omitempty"` // of what was launched, USD
	// objects that the API server has otherwise than the snapshot, with what
	Corrected []string `json:"corrected,omitempty"`
	// planned claims not launched, since those could not be read
	Withheld int               `json:"withheld,omitempty"`
	Catalog  *model.CatalogUse `json:"machines,omitempty"` // what catalog was decided by
	Millis   map[string]int64  `json:"millis,omitempty"`   // since the start of the run, by what was reached
	Problems []string          `json:"problems,omitempty"`
}

// Bought is how many instances were launched for a pool as one capacity type.
type Bought struct {
	Pool         string `json:"pool,omitempty"` // "" = for a NodeClaim made by hand
	CapacityType string `json:"capacityType"`
	Claims       int    `json:"claims"`
}

// spentAfter is the age at which a hint says nothing any more: resyncs have looked at its cluster several times since.
const spentAfter = 5 * time.Minute

// Spent reports whether a hint is so old that nothing need be done about it, so that a backlog of hours is worked off
// in the time it takes to read it. A hint that does not say when it was sent is not. Where the sender's clock is wrong
// a hint may be taken for spent that is not; the next resync finds what it would have said.
func Spent(hint wire.Hint, now time.Time) bool {
	return hint.SentAtMillis > 0 && now.Sub(time.UnixMilli(hint.SentAtMillis)) > spentAfter
}
