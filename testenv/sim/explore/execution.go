package explore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// execution makes one line of choices in a world of its own.
type execution struct {
	search *search
	base   *base // where the last choice given is to be made
	path   []int // choices given
	at     int   // of them made
	world  *world.World
	audit  []audit.Checker
	seen   int64 // entries of the log
	state  fingerprint

	planners []*planner
	runs     int
	faults   int
	pauses   int

	evaluated bool // from here on states are told from each other
	steps     int
	ended     bool
	found     []audit.Violation
	trace     []string
}

// planner is one invocation of provision, parked at an operation.
type planner struct {
	execution *execution
	name      string
	deadline  time.Time
	ids       int
	next      func() (struct{}, bool)
	park      func(struct{}) bool
	op        world.Op
	act       func() error
	answer    error
	heard     [32]byte // digest of everything it was told
	dead      bool
	over      bool
}

// action is one choice.
type action struct {
	name string
	do   func()
}

func newExecution(s *search, b branch) *execution {
	e := &execution{search: s, base: b.base, path: b.path, audit: audit.All(), state: newFingerprint(), evaluated: b.base == nil}
	options := world.Options{Types: []string{"m5.large", "m6i.large"}, Visibility: 10 * time.Second}
	e.world = world.New(options)
	e.world.Cluster.AddClass(world.Class("default"))
	pool := world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand))
	if s.bounds.Limit > 0 {
		pool.Limits = model.Resources{model.Nodes: int64(s.bounds.Limit)}
	}
	e.world.Cluster.AddPool(pool)
	e.world.Cluster.AddPods("web", s.bounds.Pods, world.Shape(1500, 1<<30))
	e.world.Tick(time.Second)
	if s.bounds.Stock > 0 {
		for _, zone := range []string{"us-west-2a", "us-west-2b", "us-west-2c"} {
			e.world.Fleet.SetCapacity(model.OfferingKey{InstanceType: "m5.large", Zone: zone, CapacityType: model.OnDemand}, s.bounds.Stock)
		}
	}
	e.check()
	return e
}

// run makes the given choices and then the first of each new state, until nothing is left or a state is known.
func (e *execution) run() {
	defer e.close()
	for len(e.found) == 0 {
		actions := e.actions()
		if len(actions) == 0 {
			e.ended = true
			if e.at >= len(e.path) && e.search.fresh(e.fingerprint(), e.path, 0, nil) {
				e.heal()
			}
			return
		}
		choice := 0
		switch {
		case e.at < len(e.path):
			choice = e.path[e.at]
		case !e.search.fresh(e.fingerprint(), e.path, len(actions), e.keep):
			return
		default:
			e.path = append(e.path[:len(e.path):len(e.path)], 0)
		}
		e.at++
		if e.base != nil && e.at == len(e.path) && e.replayed() {
			e.restore()
		}
		e.steps++
		e.trace = append(e.trace, actions[choice].name)
		actions[choice].do()
		e.check()
	}
}

// replayed reports whether the choices made so far but the last were only the way to a state that is known.
func (e *execution) replayed() bool { return !e.evaluated }

// keep returns what tells this state from others.
func (e *execution) keep() *base {
	kept := &base{objects: e.state.clone(), heard: map[string][32]byte{}}
	for _, p := range e.planners {
		kept.heard[p.name] = p.heard
	}
	return kept
}

// restore goes on from a state that was come to before.
func (e *execution) restore() {
	e.evaluated = true
	e.state = e.base.objects.clone()
	for _, p := range e.planners {
		p.heard = e.base.heard[p.name]
	}
}

// actions lists what can happen now, what goes well first.
func (e *execution) actions() []action {
	b := e.search.bounds
	var out []action
	for _, p := range e.planners {
		if p.over {
			continue
		}
		out = append(out, action{p.name + " " + p.op.Name, func() { e.step(p, p.act()) }})
	}
	if e.runs < b.Runs && e.alive() < max(1, b.Together) {
		out = append(out, action{"start", e.start})
	}
	if e.pauses < b.Pauses && e.runs > 0 {
		for _, d := range pauses {
			out = append(out, action{fmt.Sprintf("%s pass", d), func() { e.pause(d, false) }})
			if e.underWay() {
				out = append(out, action{fmt.Sprintf("%s pass, what is under way arrives", d), func() { e.pause(d, true) }})
			}
		}
	}
	if e.faults == b.Faults {
		return out
	}
	for _, p := range e.planners {
		if p.over {
			continue
		}
		if p.op.Write { // to die before a read is to die before the write after it
			out = append(out,
				action{p.name + " dies before " + p.op.Name, func() { e.faults++; e.kill(p) }},
				action{p.name + " " + p.op.Name + " fails", func() { e.faults++; e.injected(p); e.step(p, lost(p)) }},
				action{p.name + " " + p.op.Name + " loses its answer", func() { e.faults++; e.injected(p); _ = p.act(); e.step(p, lost(p)) }},
				action{p.name + " dies after " + p.op.Name, func() { e.faults++; _ = p.act(); e.kill(p) }})
		}
	}
	return out
}

func lost(p *planner) error {
	return fault.New(fault.Internal, "", "%s: connection reset by peer", p.op.Name)
}

func (e *execution) injected(p *planner) {
	e.world.Log.Note(world.FaultInjected{Process: p.name, What: p.op.Name})
}

func (e *execution) alive() int {
	n := 0
	for _, p := range e.planners {
		if !p.over {
			n++
		}
	}
	return n
}

func (e *execution) underWay() bool {
	return slices.ContainsFunc(e.planners, func(p *planner) bool { return !p.over && p.op.Write })
}

// start begins another run of the planner.
func (e *execution) start() {
	e.runs++
	e.invoke(fmt.Sprintf("p%d", e.runs))
}

func (e *execution) invoke(name string) *planner {
	p := &planner{execution: e, name: name, deadline: e.world.Clock.Now().Add(world.InvocationTimeout)}
	e.planners = append(e.planners, p)
	p.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		p.park = yield
		flow := e.world.Ports(p, p.name).Provision(e.world.Clock.Now, provision.Settings{Build: "explore", Parallel: 1})
		flow.NewID = func() string {
			p.ids++
			return fmt.Sprintf("01%s%04d", p.name, p.ids)
		}
		_, _ = flow.Run(context.Background(), provision.Request{
			Cluster: world.Name, Trigger: provision.TriggerResync, Owner: p.name, Deadline: p.deadline,
		})
	})
	e.resume(p)
	return p
}

// Pass parks until it is chosen that the operation goes on.
func (p *planner) Pass(_ context.Context, op world.Op, act func() error) error {
	if p.dead {
		return fault.New(fault.Internal, "Killed", "process %s is dead", p.name)
	}
	p.op, p.act = op, act
	p.park(struct{}{})
	return p.answer
}

// step answers a planner and lets it go on to its next operation.
func (e *execution) step(p *planner, answer error) {
	e.check()
	p.answer = answer
	if e.evaluated {
		p.hear(answer)
	}
	e.resume(p)
}

// hear takes an answer into the digest of everything a planner was told.
func (p *planner) hear(answer error) {
	e := p.execution
	digest := sha256.New()
	digest.Write(p.heard[:])
	fmt.Fprintf(digest, "%s %v", p.op.Name, answer)
	if !p.op.Write { // what it read is what there is
		now := e.state.sum()
		digest.Write(now[:])
		_ = binary.Write(digest, binary.LittleEndian, e.world.Clock.Now().Unix())
	}
	digest.Sum(p.heard[:0])
}

func (e *execution) resume(p *planner) {
	_, parked := p.next()
	for parked && !p.dead && apart[p.op.Name] {
		p.answer = p.act()
		_, parked = p.next()
	}
	p.over = !parked
}

// apart are operations that nobody else's change and that change nothing anybody reads: when they happen makes no
// difference to what can follow.
var apart = map[string]bool{
	"ledger.cluster": true, "site.connect": true, "catalog.types": true, "catalog.resolve": true, "fleet.template": true,
	"store.decision": true, "cluster.tell": true,
}

// kill ends a planner: whatever it still asks for fails at once.
func (e *execution) kill(p *planner) {
	e.injected(p)
	p.dead, p.answer = true, fault.New(fault.Internal, "Killed", "process %s is dead", p.name)
	for !p.over {
		e.resume(p)
	}
}

// pause lets time pass. Planners whose time is over die; what they had under way arrives before, or never.
func (e *execution) pause(d time.Duration, arrives bool) {
	e.pauses++
	end := e.world.Clock.Now().Add(d)
	for _, p := range e.planners {
		if p.over || end.Before(p.deadline) {
			continue
		}
		e.world.Tick(max(0, p.deadline.Sub(e.world.Clock.Now())))
		e.check()
		if arrives && p.op.Write {
			_ = p.act()
		}
		e.kill(p)
		e.check()
	}
	e.world.Tick(max(0, end.Sub(e.world.Clock.Now())))
}

// heal lets resyncs go on without faults until the world must be in order.
func (e *execution) heal() {
	for i := range 12 {
		e.world.Tick(time.Minute)
		p := e.invoke(fmt.Sprintf("h%d", i+1))
		for !p.over && len(e.found) == 0 {
			e.step(p, p.act())
		}
		e.check()
	}
	for _, checker := range e.audit {
		e.found = append(e.found, checker.Quiet(e.world.Clock.Now())...)
	}
}

// check passes what happened to the auditors and into the fingerprint.
func (e *execution) check() {
	entries := e.world.Log.Since(e.seen)
	e.seen += int64(len(entries))
	if e.evaluated {
		for _, entry := range entries {
			e.state.enter(entry.Fact)
		}
	}
	for _, checker := range e.audit {
		e.found = append(e.found, checker.Check(entries)...)
	}
}

// close ends what still runs.
func (e *execution) close() {
	for _, p := range e.planners {
		if !p.over {
			p.dead, p.answer = true, fault.New(fault.Internal, "Killed", "the execution is over")
			for !p.over {
				e.resume(p)
			}
		}
	}
}

// fingerprint is the state's: objects, clock, what planners heard, and what may still go wrong.
func (e *execution) fingerprint() [16]byte {
	digest := sha256.New()
	objects := e.state.sum()
	digest.Write(objects[:])
	fmt.Fprintf(digest, "%d %d %d %d", e.world.Clock.Now().UnixNano(), e.runs, e.faults, e.pauses)
	for _, p := range e.planners {
		if !p.over {
			digest.Write(p.heard[:])
			fmt.Fprintf(digest, "%s %s %d", p.name, p.op.Name, p.deadline.Unix())
		}
	}
	var out [16]byte
	copy(out[:], digest.Sum(nil))
	return out
}
