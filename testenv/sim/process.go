package sim

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// process is one invocation of a function, or one life of a program. It is the gate of its own operations: each parks the
// strand that asks for it until the engine lets it go on.
type process struct {
	engine  *engine
	name    string // such as provision-12
	key     string // what tells it from others in runs that differ a little: what it is for
	program string
	number  int             // of the program, from 1
	skew    time.Duration   // how far its clock is ahead
	ctx     context.Context // over once it is dead
	cancel  context.CancelFunc
	draws   draws
	strands []*strand // that have not ended
	dead    bool
	ops     int      // asked for so far
	writes  []string // of those, what could change something before everything was healed
	timeout *eventqueue.Event
	ended   func(err error) // called once, when it has ended or was killed
	deaf    int             // how often it asked for something although it is dead
}

// strand is one line of execution of a process. Of all strands of all processes at most one runs at a time.
type strand struct {
	process *process
	next    func() (struct{}, bool) // runs it until it parks; false once it has ended
	park    func(struct{}) bool
	done    func() // called when it has ended

	asked  *call // what it parks for, one of these three
	rest   *rest
	spread *spread
	answer error             // of the call
	timer  *eventqueue.Event // of the rest
	over   bool
}

// call is an operation on its way to the world.
type call struct {
	op  world.Op
	act func() error
}

// rest is a strand that waits for time to pass or for a wake-up.
type rest struct {
	wake <-chan struct{}
	d    time.Duration
}

// spread is a strand that waits for others it has started.
type spread struct {
	do      func(i int)
	n       int // in all
	most    int // at once
	started int
	ended   int
}

// parallel is how many calls a process makes side by side, unless it says otherwise.
const parallel = 8

// now is the process's own clock.
func (p *process) now() time.Time { return p.engine.world.Clock.Now().Add(p.skew) }

// killed is what a killed process hears whatever it asks for.
func (p *process) killed() error {
	return fault.New(fault.Internal, "Killed", "process %s is dead", p.name)
}

// stop counts what a dead process still asks for: it must come to its end.
func (p *process) stop() {
	const most = 10_000
	if p.deaf++; p.deaf > most {
		panic(fmt.Sprintf("sim: %s is dead and goes on for ever", p.name))
	}
}

// Pass parks until the engine has carried the operation out, or has not.
func (p *process) Pass(_ context.Context, op world.Op, act func() error) error {
	if p.dead {
		p.stop()
		return p.killed()
	}
	s := p.engine.running
	if s == nil || s.process != p {
		panic(fmt.Sprintf("sim: %s asks for %s while it is not its turn", p.name, op.Name))
	}
	s.asked = &call{op, act}
	s.park(struct{}{})
	return s.answer
}

// wait parks until d has passed or something came into wake.
func (p *process) wait(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	if p.dead || ctx.Err() != nil {
		p.stop()
		return
	}
	s := p.engine.running
	s.rest = &rest{wake, d}
	s.park(struct{}{})
}

// parallel parks until do(0) … do(n-1) have run on strands of their own.
func (p *process) parallel(n int, do func(i int)) { p.spread(n, parallel, do) }

// spread is abreast with so many at once.
func (p *process) spread(n, most int, do func(i int)) {
	var missing spread
	if !p.dead && n > 0 {
		s := p.engine.running
		s.spread = &spread{do: do, n: n, most: most}
		of := s.spread
		s.park(struct{}{})
		missing = *of
	}
	for i := missing.started; i < n; i++ { // of a process that was killed: whatever they ask for fails at once
		do(i)
	}
}

// strand adds a line of execution. It does not run before it is resumed.
func (p *process) strand(body func(), done func()) *strand {
	s := &strand{process: p, done: done}
	s.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		s.park = yield
		defer func() {
			if reason := recover(); reason != nil {
				p.engine.panicked(p, reason)
			}
		}()
		body()
	})
	p.strands = append(p.strands, s)
	return s
}

// end takes a strand that has ended off its process.
func (p *process) end(s *strand) {
	for i := range p.strands {
		if p.strands[i] == s {
			p.strands = append(p.strands[:i], p.strands[i+1:]...)
			break
		}
	}
	if s.done != nil {
		s.done()
	}
}
