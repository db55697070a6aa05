package attach

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/work"
)

// Flow is both ways with their ports. It keeps nothing between runs.
type Flow struct {
	Registry  Registry
	Clusters  Clusters
	Leases    port.Leases
	Ledger    Ledger
	Connector port.Connector[Objects] // nil = nothing can be handed over from here

	// Spread says why a text is no list of default constraints; nil = none is looked at.
	Spread func(text string) error
	// Now is this process's own clock. It measures how long things take and dates registrations.
	Now func() time.Time
	// Pause waits, and returns early with an error where the context ends.
	Pause    func(ctx context.Context, d time.Duration) error
	Settings Settings
	Effects  work.EffectHook // nil but where a test wants to see or stop effects
}

// Settings are the flow's numbers. A field that is zero has the default of its tag.
type Settings struct {
	LeaseFor time.Duration `default:"120s"` // how long leases are taken for, and kept when the cluster is gone: as long as any function may run
	WaitFor  time.Duration `default:"60s"`  // how long somebody else's lease is waited for
	AtOnce   int           `default:"8"`    // objects that are freed side by side
	RightsIn time.Duration // how long a role that was just made may take to be believed: none
}

// Names of the flow's effects.
const (
	EffectRegister   = "register"   // registration written
	EffectPause      = "pause"      // cluster paused, to be detached
	EffectLease      = "lease"      // lease taken
	EffectFree       = "free"       // finalizer taken off an object
	EffectForget     = "forget"     // all of the cluster deleted
	EffectUnregister = "unregister" // registration deleted
)

// leases are all a cluster has, in the order they are taken: who launches first.
var leases = []string{model.LeasePlanner, model.LeaseDisrupt, model.LeaseCollector, model.LeaseDrainer, model.LeaseCatalog}

// effect carries out one effect under the eyes of Effects.
func (f *Flow) effect(ctx context.Context, name string, do func() error) error {
	return work.RunEffect(ctx, f.Effects, name, do)
}
