package adopt

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/work"
)

// Names of the flow's effects, in their order for each NodeClaim.
const (
	EffectRecord  = "record"  // claim written to the ledger
	EffectTag     = "tag"     // instances tagged
	EffectStamp   = "stamp"   // NodeClaim object annotated
	EffectUntaint = "untaint" // taint that Karpenter left taken off a node
)

// Flow is the adoption with its ports. It keeps nothing between runs.
type Flow struct {
	Registry  port.Registry
	Leases    port.Leases
	Ledger    Ledger
	Catalogs  port.RegionCatalogs // nil = prices are not at hand
	Connector port.Connector[Clients]

	// Now is this process's own clock. It measures how long things take; what time it is comes from the ledger.
	Now func() time.Time
	// Pause waits, and returns early with an error where the context ends.
	Pause    func(ctx context.Context, d time.Duration) error
	Progress func(text string) // takes what is waited for; nil = nobody wants to know
	Settings Settings
	Effects  work.EffectHook // nil but where a test wants to see or stop effects
}

// Settings are the flow's numbers. A field that is zero has the default of its tag.
type Settings struct {
	LeaseFor time.Duration `default:"60s"` // how long the lease is taken for at a time
	WaitFor  time.Duration `default:"90s"` // how long somebody else's lease is waited for
	AtOnce   int           `default:"25"`  // NodeClaims between two renewals of the lease
}

// Request asks for one cluster.
type Request struct {
	Cluster string
	Owner   string // of the lease: unique to the run
	Apply   bool   // adopt; otherwise nothing is written
	// DespiteKarpenter goes on although Karpenter runs, or nobody can tell.
	DespiteKarpenter bool
}

// Outcome is what a run saw and did.
type Outcome struct {
	Cluster   string
	AtUnix    int64    // by the ledger's clock
	Karpenter []string // why Karpenter is taken to be at work, sentences; none where it is not
	Items     []Item   // by name
	Unclaimed []lifecycle.Unclaimed
	Others    int      // nodes of no NodePool: managed node groups and the like
	Warnings  []string // what could not be read and does not stop anything
}

// Item is one NodeClaim, with what was done about it.
type Item struct {
	lifecycle.Adoption
	Done    []string // effects, in their order
	Problem string   // what went wrong; the rest of it was not tried
}

// Problems returns how many items something went wrong with.
func (o *Outcome) Problems() int {
	n := 0
	for i := range o.Items {
		if o.Items[i].Problem != "" {
			n++
		}
	}
	return n
}

// pass is one run at work.
type pass struct {
	*Flow
	settings Settings
	request  Request
	out      Outcome

	reg     model.Registration
	clients Clients
	fence   model.Fence
	read    time.Time // by this process's clock, when the ledger said what time it is: out.AtUnix
	until   time.Time // by this process's clock, when the lease ends

	stops   bool  // Karpenter was asked to stop, and may not have yet
	pods    int64 // of Karpenter's Deployments that are left
	renewed int64 // when Karpenter's lease was renewed; 0 = there is none
}

// effect carries out one effect under the eyes of Effects.
func (f *Flow) effect(ctx context.Context, name string, do func() error) error {
	return work.RunEffect(ctx, f.Effects, name, do)
}
