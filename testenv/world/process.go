package world

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
)

// Mode is how an effect goes wrong.
type Mode string

// The modes.
const (
	DiesBefore Mode = "dies before" // the process is killed; the effect did not happen
	DiesAfter  Mode = "dies after"  // it happened, and then the process was killed
	Fails      Mode = "fails"       // it did not happen, and the process lives on with an error
	LosesReply Mode = "loses reply" // it happened, and the process lives on with an error
)

// Modes lists them.
var Modes = []Mode{DiesBefore, DiesAfter, Fails, LosesReply}

// Fault says which effect of a process goes wrong. The zero value is none.
type Fault struct {
	At     int    // the effect, counted from 1
	Effect string // only effects of this name count; "" = all
	Mode   Mode
}

// InvocationTimeout is when a process is killed at the latest.
const InvocationTimeout = 30 * time.Second

// Process is one invocation of provision.
type Process struct {
	world *World
	owner string
	fault Fault

	mu      sync.Mutex
	dead    bool
	effects []string
	counted int // those of them that count for the fault
}

// Process returns a new invocation with a fault to come.
func (w *World) Process(f Fault) *Process {
	return &Process{world: w, owner: "process-" + w.newID(), fault: f}
}

// Effects returns the names of the effects the process came to, in order.
func (p *Process) Effects() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.effects...)
}

// Run runs the flow once for the world's cluster.
func (p *Process) Run(ctx context.Context, trigger string) (provision.Outcome, error) {
	return p.RunRequest(ctx, provision.Request{Trigger: trigger})
}

// RunRequest runs the flow once; cluster, owner and deadline are filled in.
func (p *Process) RunRequest(ctx context.Context, request provision.Request) (provision.Outcome, error) {
	request.Cluster, request.Owner, request.Deadline = Name, p.owner, p.world.Clock.Now().Add(InvocationTimeout)
	return p.Flow().Run(ctx, request)
}

// Flow returns the flow with the world behind its ports. One call is made at a time, so that effects have an order.
func (p *Process) Flow() *provision.Flow {
	w := p.world
	ledger := ledgerPort{w.Ledger, p}
	return &provision.Flow{
		Registry: ledger, Leases: ledger, Claims: ledger, Births: ledger, Offers: ledger,
		Decisions: storePort{w.Store, p}, Snapshots: storePort{w.Store, p}, Hints: w.Store, Connector: p,
		Now: w.Clock.Now, NewID: w.newID, Settings: provision.Settings{Build: "world", Parallel: 1},
	}
}

// Connect opens the one cluster there is.
func (p *Process) Connect(context.Context, model.Registration) (provision.Site, error) {
	if err := p.alive(); err != nil {
		return provision.Site{}, err
	}
	w := p.world
	return provision.Site{
		Cluster: clusterPort{w.Cluster, p}, Reporter: clusterPort{w.Cluster, p}, Fleet: fleetPort{w.Fleet, p}, Catalog: w.Catalog,
	}, nil
}

// alive returns an error once the process has been killed: nothing it still asks for is carried out or answered.
func (p *Process) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return fault.New(fault.Internal, "Killed", "process %s is dead", p.owner)
	}
	return nil
}

// do carries out an effect, or whatever the fault makes of it.
func (p *Process) do(name string, effect func() error) error {
	if err := p.alive(); err != nil {
		return err
	}
	p.mu.Lock()
	p.effects = append(p.effects, name)
	if p.fault.Effect == "" || p.fault.Effect == name {
		p.counted++
	}
	hit := p.counted == p.fault.At && (p.fault.Effect == "" || p.fault.Effect == name)
	p.dead = hit && p.fault.Mode == DiesBefore
	p.mu.Unlock()
	injected := fault.New(fault.Internal, "Injected", "%s %s", name, p.fault.Mode)
	if hit && (p.fault.Mode == DiesBefore || p.fault.Mode == Fails) {
		return injected
	}
	err := effect()
	if !hit {
		return err
	}
	p.mu.Lock()
	p.dead = p.fault.Mode == DiesAfter
	p.mu.Unlock()
	return fmt.Errorf("effect %d: %w", p.fault.At, injected)
}
