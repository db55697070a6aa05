package sim

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Config is all that decides a run: equal configurations make equal runs.
type Config struct {
	Seed     uint64
	Scenario Scenario
	Plan     []Source        // what goes wrong
	Exact    []Exact         // what goes wrong besides, in so many words
	Only     map[string]bool // the injections of Plan that happen; nil = all

	Report   func(line string)      // the trace, as it comes; nil = nobody. It decides nothing.
	Checkers func() []audit.Checker // fresh ones; nil = all there are
	After    func(*world.World)     // sees the world once the run is over; nil = nobody. It decides nothing.

	Undigested bool // no digest is made of what happened, which takes a tenth of the time. It decides nothing.
}

// Result is what a run came to.
type Result struct {
	Config     Config
	Violations []audit.Violation // empty where all is well
	Hash       string            // digest of everything that happened; empty where Config.Undigested
	Steps      int64             // things that happened
	Stats      Stats
	Injected   []string // what of the plan happened, by the names Config.Only takes
	Effects    []Effects
	Trace      []string // the last that happened to do with the first violation
}

// Stats count what happened in one run or in many.
type Stats struct {
	Runs        int
	Simulated   time.Duration
	Steps       int64
	Operations  int64
	Invocations int64
	Launches    int64
	Facts       int64
	Again       int // runs at whose end messages were handled once more
	Faults      map[string]int64
	Ends        map[string]int64 // claims that began to end, by reason, and what was asked of their pods
}

// Add adds other to s.
func (s *Stats) Add(other Stats) {
	s.Runs += other.Runs
	s.Simulated += other.Simulated
	s.Steps += other.Steps
	s.Operations += other.Operations
	s.Invocations += other.Invocations
	s.Launches += other.Launches
	s.Facts += other.Facts
	s.Again += other.Again
	if s.Faults == nil {
		s.Faults = map[string]int64{}
	}
	for what, n := range other.Faults {
		s.Faults[what] += n
	}
	if s.Ends == nil {
		s.Ends = map[string]int64{}
	}
	for what, n := range other.Ends {
		s.Ends[what] += n
	}
}

// count takes in a fact.
func (s *Stats) count(fact world.Fact) {
	switch fact := fact.(type) {
	case world.InstanceStarted:
		s.Launches++
	case world.LedgerWritten:
		for _, change := range fact.Claims {
			if before, after := change.Before, change.After; before != nil && after != nil && before.State != after.State {
				if after.State == model.Draining || after.State == model.Terminating && before.State != model.Draining {
					s.Ends[after.FailureCode]++
				}
			}
		}
	case world.EvictionRequested:
		switch {
		case fact.Refused != "":
			s.Ends["refused"]++
		case fact.Forced:
			s.Ends["deleted"]++
		default:
			s.Ends["evicted"]++
		}
	}
}

// engine is one run.
type engine struct {
	config     Config
	world      *world.World   // of the first cluster
	worlds     []*world.World // of all clusters, that one first
	eventQueue eventqueue.Queue
	running    *strand // that runs now; nil between
	trace      *trace
	checkers   []audit.Checker
	seen       int64 // entries of the world's log that were looked at
	found      []audit.Violation
	stats      Stats
	injected   []string
	numbers    map[string]int // processes so far, by program
	counts     map[string]int // of what nobody else counts, by kind of fault
	alive      []*process
	healed     bool
	unread     bool // an item of the ledger cannot be read
	undefined  bool // somebody deleted the definitions, and they are not back
	refusals   int  // of the next launches
	people     *people
	over       bool
	functions  []*function
	watchers   []*watchers // of each cluster, in the order of worlds
	steady     draws       // of what belongs to no process
}

// Run makes one run.
func Run(config Config) Result {
	e := newEngine(config)
	e.play()
	e.close()
	if config.After != nil {
		config.After(e.world)
	}
	result := Result{
		Config: config, Violations: e.found, Hash: e.trace.sum(), Steps: e.stats.Steps, Stats: e.stats, Injected: e.injected,
	}
	for _, p := range e.alive {
		result.Effects = append(result.Effects, Effects{p.program, p.number, p.writes})
	}
	if len(e.found) > 0 {
		result.Trace = e.trace.tail(60, about(e.found[0]))
	}
	return result
}

func newEngine(config Config) *engine {
	e := &engine{
		config: config, checkers: audit.For(config.Scenario.DisruptRuns), numbers: map[string]int{}, counts: map[string]int{}, stats: Stats{Runs: 1, Faults: map[string]int64{}, Ends: map[string]int64{}},
		steady: newDraws(config.Seed, "steady"),
	}
	if config.Checkers != nil {
		e.checkers = config.Checkers()
	}
	alarms := slices.ContainsFunc(config.Plan, func(s Source) bool { return s.Kind == KindAlarms })
	if alarms {
		e.config.Scenario.Pools = alarmed(config.Scenario.Pools)
	}
	e.worlds = e.config.worlds()
	e.world = e.worlds[0]
	if alarms {
		e.world.Alarms.Set(stopAlarm, model.AlarmOK)
	}
	if e.people = (&people{engine: e}); len(e.worlds) > 1 && config.Checkers == nil {
		e.checkers = []audit.Checker{audit.NewCrossing()}
		for _, checker := range audit.For(config.Scenario.DisruptRuns) {
			e.checkers = append(e.checkers, audit.Only(world.Name, checker))
		}
	}
	e.trace = newTrace(world.Start, config.Report, !config.Undigested)
	e.check()
	return e
}

func (e *engine) now() time.Time         { return e.world.Clock.Now() }
func (e *engine) elapsed() time.Duration { return e.now().Sub(world.Start) }

// play lets things happen until the time is over or a rule is broken.
func (e *engine) play() {
	e.begin()
	e.until(world.Start.Add(e.config.Scenario.Length))
	if len(e.found) > 0 {
		e.stats.Simulated = e.elapsed()
		return
	}
	e.heal()
	end := e.now().Add(ConvergeWithin)
	e.until(end)
	if len(e.found) == 0 {
		e.quiet()
	}
	if len(e.found) == 0 && len(e.worlds) == 1 {
		e.again()
	}
	e.stats.Simulated = e.elapsed()
}

// until lets things happen up to a time.
func (e *engine) until(end time.Time) {
	for len(e.found) == 0 {
		at, due := e.eventQueue.Next()
		by, moves := e.world.Next()
		if moves && (!due || !by.After(at)) {
			if by.After(end) {
				break
			}
			e.goTo(by)
			e.world.Run()
			e.check()
			continue
		}
		if !due || at.After(end) {
			break
		}
		e.goTo(at)
		e.stats.Steps++
		e.eventQueue.Take()()
	}
	if len(e.found) == 0 {
		e.goTo(end)
	}
}

func (e *engine) goTo(at time.Time) {
	if d := at.Sub(e.now()); d > 0 {
		e.world.Clock.Advance(d)
	}
}

// check passes what happened to the trace and the auditors.
func (e *engine) check() {
	entries := e.world.Log.Since(e.seen)
	e.seen += int64(len(entries))
	e.stats.Facts += int64(len(entries))
	for _, entry := range entries {
		e.trace.entry(entry)
		e.stats.count(entry.Fact)
	}
	if len(entries) > 0 {
		for _, checker := range e.checkers {
			e.found = append(e.found, e.audited(checker, entries)...)
		}
	}
	if e.functions != nil && !e.over {
		e.ticks()
		for _, f := range e.functions {
			f.due()
		}
		for _, w := range e.watchers {
			w.due()
		}
	}
}

// audited returns what a checker finds in entries. One that panics is a violation, so that the run is reported with its seed.
func (e *engine) audited(checker audit.Checker, entries []world.Entry) (found []audit.Violation) {
	defer func() {
		if reason := recover(); reason != nil {
			found = append(found, e.panic(fmt.Sprintf("%T", checker), reason))
		}
	}()
	return checker.Check(entries)
}

// spawn starts a process: a body on a strand of its own. ended is called once it has ended or was killed. key tells the
// process from others by what it is for; empty = by its number.
func (e *engine) spawn(program, key string, limit time.Duration, body func(ctx context.Context, p *process) error, ended func(error)) {
	e.numbers[program]++
	p := &process{engine: e, program: program, number: e.numbers[program], ended: ended}
	p.name = fmt.Sprintf("%s-%d", program, p.number)
	if p.key = key; key == "" {
		p.key = p.name
	}
	p.draws = newDraws(e.config.Seed, p.key)
	if skew := p.draws.between(-5*time.Minute, 5*time.Minute); e.hits(KindSkew, p.key, 0) {
		p.skew = skew
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	e.alive = append(e.alive, p)
	e.stats.Invocations++
	e.world.Log.Note(world.ProcessMoved{Process: p.name, Program: program, Verb: "start"})
	e.check()
	if limit > 0 {
		p.timeout = e.eventQueue.Add(e.now().Add(limit), func() { e.kill(p, "timeout") })
	}
	var err error
	s := p.strand(func() { err = body(p.ctx, p) }, func() {
		if !p.dead {
			p.dead = true
			p.cancel()
			e.finish(p, "end", err)
		}
	})
	e.resume(s, nil)
}

// panicked is a process whose own code broke.
func (e *engine) panicked(p *process, reason any) {
	e.found = append(e.found, e.panic(p.name, reason))
}

// panic returns the violation of something that panicked. It is called where the panic is recovered, whose stack it keeps.
func (e *engine) panic(object string, reason any) audit.Violation {
	return audit.Violation{Rule: "panic", At: e.now(), Seq: e.seen, Object: object, Text: fmt.Sprintf("%v\n%s", reason, debug.Stack())}
}

// quiet holds what must be true once everything was well for long enough.
func (e *engine) quiet() {
	for _, checker := range e.checkers {
		e.found = append(e.found, checker.Quiet(e.now())...)
	}
	e.mirrored()
	e.found = append(e.found, unrecorded(e.world)...)
}

// about returns which lines of a trace have to do with a violation.
func about(v audit.Violation) func(string) bool {
	return func(line string) bool { return v.Object == "" || strings.Contains(line, v.Object) }
}

// close ends every process, so that nothing is left of the run.
func (e *engine) close() {
	e.over = true
	for _, p := range e.alive {
		p.ended = nil
		e.kill(p, "kill")
	}
}
