package world

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
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

// Process is one invocation of provision, and the gate of its own operations: each is carried out at once. Its effects
// are the writes it asks for, each named by the method alone.
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
	request.Cluster, request.Owner, request.Deadline = p.world.name, p.owner, p.world.Clock.Now().Add(InvocationTimeout)
	return p.Flow().Run(ctx, request)
}

// Flow returns the flow with the world behind its ports. One call is made at a time, so that effects have an order.
func (p *Process) Flow() *provision.Flow {
	return p.world.Ports(p, p.owner).Provision(p.world.Clock.Now, provision.Settings{Build: "world", Parallel: 1})
}

// Pass carries out an operation, or whatever the fault makes of it. Nothing a killed process asks for is carried out or
// answered.
func (p *Process) Pass(_ context.Context, op Op, act func() error) error {
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return fault.New(fault.Internal, "Killed", "process %s is dead", p.owner)
	}
	_, name, _ := strings.Cut(op.Name, ".")
	hit := false
	if op.Write {
		p.effects = append(p.effects, name)
		if p.fault.Effect == "" || p.fault.Effect == name {
			p.counted++
			hit = p.counted == p.fault.At
		}
	}
	p.dead = hit && p.fault.Mode == DiesBefore
	p.mu.Unlock()
	if !hit {
		return act()
	}
	injected := fault.New(fault.Internal, "Injected", "%s %s", name, p.fault.Mode)
	if p.fault.Mode == DiesBefore || p.fault.Mode == Fails {
		return injected
	}
	_ = act() // whatever came of it, the process does not hear it
	p.mu.Lock()
	p.dead = p.fault.Mode == DiesAfter
	p.mu.Unlock()
	return fmt.Errorf("effect %d: %w", p.fault.At, injected)
}
