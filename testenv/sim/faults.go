package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// More ways in which an operation goes wrong, beside those of package world.
const (
	Slow    world.Mode = "is slow"       // it takes long
	Repeats world.Mode = "repeats"       // the client sends it twice and hears the second answer
	Late    world.Mode = "happens later" // the process hears an error at once; it happens all the same, afterwards
)

// Source is one thing that keeps going wrong in a run.
type Source struct {
	Kind   string        // one of kinds
	Target string        // what it hits: a port, such as "ledger", or a program; empty = everything
	Of     string        // the cluster whose runs' operations it hits; empty = everybody's
	Rate   float64       // how much of what it may hit it does, 0 to 1
	From   time.Duration // since the start of the run
	Until  time.Duration
}

func (s Source) String() string {
	target := s.Target
	if target == "" {
		target = "anything"
	}
	return fmt.Sprintf("%s of %s, %.1f%%, %s to %s", s.Kind, target, s.Rate*100, s.From.Round(time.Second), s.Until.Round(time.Second))
}

// The kinds of sources that hit operations.
const (
	KindCrash  = "crash"      // a process is killed before or after an operation
	KindError  = "error"      // an operation fails without having happened
	KindLost   = "lost reply" // it happens, and the process hears an error
	KindSlow   = "slow"       // it takes seconds, or longer than the process lives
	KindRepeat = "repeat"     // it happens twice
	KindLate   = "late"       // it happens after the process heard an error
	KindOutage = "outage"     // nothing reaches the target

	KindLateLease   = "late lease"       // an invocation comes to its lease seconds before its end, or its lease is written after that
	KindRefused     = "lost and refused" // the answer of a launch is lost, and what is asked next is refused for being too much
	KindUnpublished = "unpublished"      // what the watcher publishes is not stored, while its heartbeats are
	KindPlanning    = "long planning"    // what is read is ten seconds old and more when it is decided by
)

// The kinds that hit processes and what invokes them.
const (
	KindSkew     = "clock skew"  // a process's clock is up to five minutes off
	KindCold     = "cold start"  // an invocation begins seconds late
	KindThrottle = "throttle"    // an invocation is refused
	KindDouble   = "double"      // an invocation is made twice at once
	KindLeaders  = "two leaders" // a replica of the watcher believes that it leads
	KindWatch    = "watch"       // the stream of changes breaks
)

// onOperations are the kinds that hit one operation at a time.
var onOperations = map[string]bool{
	KindCrash: true, KindError: true, KindLost: true, KindSlow: true, KindRepeat: true, KindLate: true, KindOutage: true,
	KindLateLease: true, KindRefused: true, KindUnpublished: true, KindPlanning: true,
}

// aims reports whether a source hits an operation of its kind.
func (s *Source) aims(p *process, op world.Op) bool {
	switch s.Kind {
	case KindLateLease:
		return p.timeout != nil && (p.ops == 1 || op.Name == "ledger.acquire" || op.Name == "ledger.hold")
	case KindRefused:
		return op.Name == "fleet.launch"
	case KindUnpublished:
		return p.program == "watcher" && (op.Name == "store.base" || op.Name == "store.segment")
	case KindPlanning:
		return p.timeout != nil && (op.Name == "store.at" || op.Name == "cluster.list" || op.Name == "cluster.look")
	}
	return s.Target == "" || s.Target == portOf(op.Name)
}

var ports = []string{"ledger", "store", "queue", "cluster", "fleet", "catalog"}

// drawPlan draws what goes wrong in a run of the given length: nothing in a third of them, else a subset of everything
// with rates and times of its own.
func drawPlan(seed uint64, length time.Duration) []Source {
	d := newDraws(seed, "plan")
	if d.IntN(3) == 0 {
		return nil
	}
	var plan []Source
	span := func(s Source) {
		s.Until = length
		if d.IntN(2) == 0 { // for a part of the time
			s.From = d.between(0, length/2)
			s.Until = s.From + d.between(length/20, length/2)
		}
		plan = append(plan, s)
	}
	rate := func(least, most float64) float64 { return least * math.Pow(most/least, d.Float64()) }
	for _, kind := range []string{KindCrash, KindError, KindLost, KindSlow, KindRepeat, KindLate} {
		if d.IntN(2) == 0 {
			s := Source{Kind: kind, Rate: rate(0.002, 0.2)}
			if d.IntN(3) == 0 {
				s.Target = ports[d.IntN(len(ports))]
			}
			span(s)
		}
	}
	for range d.IntN(3) {
		from := d.between(0, length*3/4)
		plan = append(plan, Source{
			Kind: KindOutage, Target: ports[d.IntN(len(ports))], Rate: []float64{0.3, 1, 1}[d.IntN(3)],
			From: from, Until: min(length, from+d.skewed(time.Minute, length/2)),
		})
	}
	for _, kind := range []string{KindSkew, KindCold, KindThrottle, KindDouble, KindLeaders, KindWatch} {
		if d.IntN(3) == 0 {
			span(Source{Kind: kind, Rate: rate(0.05, 0.8)})
		}
	}
	for _, kind := range mischiefs {
		if d.IntN(4) == 0 {
			span(Source{Kind: kind, Rate: rate(0.01, 0.6)})
		}
	}
	if d := newDraws(seed, "mute"); d.IntN(6) == 0 {
		from := d.between(length/10, length*9/10)
		plan = append(plan, Source{Kind: KindMute, Rate: 1, From: from, Until: min(length, from+d.between(30*time.Second, 8*time.Minute))})
	}
	for _, kind := range []string{KindLateLease, KindRefused, KindUnpublished, KindPlanning, KindStorm, KindStuck, KindDeltas} {
		if d := newDraws(seed, kind); d.IntN(8) == 0 {
			from := d.between(0, length/2)
			plan = append(plan, Source{Kind: kind, Rate: 0.1 + 0.7*d.Float64(), From: from, Until: min(length, from+d.between(length/10, length*3/4))})
		}
	}
	// Nodes that come up otherwise than anybody could know, instances none of which joins, and definitions that vanish, for some minutes
	// each.
	for _, kind := range []string{KindSpoilt, KindBurst, KindDefinitions} {
		if d := newDraws(seed, kind); d.IntN(8) == 0 {
			from := d.between(0, length*3/4)
			plan = append(plan, Source{Kind: kind, Rate: 1, From: from, Until: min(length, from+d.between(30*time.Second, 20*time.Minute))})
		}
	}
	if d := newDraws(seed, KindShift); d.IntN(12) == 0 {
		from := d.between(0, length*3/4)
		plan = append(plan, Source{Kind: KindShift, Rate: 1, From: from, Until: min(length,
			from+d.between(2*time.Minute, 40*time.Minute))})
	}
	if d := newDraws(seed, KindAlarms); d.IntN(12) == 0 {
		from := d.between(0, length*3/4)
		plan = append(plan, Source{Kind: KindAlarms, Rate: 1, From: from, Until: length})
	}
	// What people do to the table by hand, which is rare.
	for _, kind := range []string{KindUnread, KindByHand} {
		if d := newDraws(seed, kind); d.IntN(16) == 0 {
			from := d.between(0, length/2)
			plan = append(plan, Source{Kind: kind, Rate: 1, From: from, Until: min(length, from+d.between(length/10, length*3/4))})
		}
	}
	return plan
}

// trouble is what becomes of one operation.
type trouble struct {
	mode  world.Mode
	key   string // names it for Config.Only
	err   error
	delay time.Duration // on the way there
	back  time.Duration // of the answer
	late  time.Duration // of Late
	lost  bool          // it gets lost where its process is killed while it is under way
}

// trouble draws what becomes of an operation.
func (e *engine) trouble(p *process, op world.Op) trouble {
	for _, x := range e.config.Exact {
		if !e.healed && x.Program == p.program && x.Invocation == p.number && x.Effect == len(p.writes) && op.Write {
			return trouble{mode: x.Mode, err: failure(op, nil), delay: slowness(x.Mode, nil), late: time.Second}
		}
	}
	if op.Name == "fleet.launch" && e.refusals > 0 && !e.healed {
		e.refusals--
		return trouble{mode: world.Fails, err: fault.New(fault.Throttled, "RequestLimitExceeded", "%s: slow down", op.Name)}
	}
	for i := range e.config.Plan {
		s := &e.config.Plan[i]
		if !onOperations[s.Kind] || !s.aims(p, op) || s.Of != "" && !strings.HasSuffix(op.Process, "@"+s.Of) {
			continue
		}
		if key, roll, hit := e.strikes(s, p.key, p.ops); hit {
			t := s.trouble(op, roll)
			t.key = key
			if s.Kind == KindRefused {
				e.refusals = 1 + roll.IntN(3)
			}
			return t
		}
	}
	return trouble{lost: p.draws.IntN(2) == 0}
}

// strikes draws whether a source hits the n-th of whatever somebody does. The answer does not depend on what else goes
// wrong in the run.
func (e *engine) strikes(s *Source, who string, n int) (key string, roll draws, hit bool) {
	if at := e.elapsed(); at < s.From || at >= s.Until || e.healed {
		return "", roll, false
	}
	key = fmt.Sprintf("%s/%d %s", who, n, s.Kind)
	roll = newDraws(e.config.Seed, key)
	return key, roll, roll.Float64() < s.Rate && (e.config.Only == nil || e.config.Only[key])
}

// hits reports whether something of a kind hits the n-th of whatever somebody does, and notes it.
func (e *engine) hits(kind, who string, n int) bool {
	for i := range e.config.Plan {
		if s := &e.config.Plan[i]; s.Kind == kind {
			if key, _, hit := e.strikes(s, who, n); hit {
				e.inject(who, key, kind)
				return true
			}
		}
	}
	return false
}

// hitsNext is hits for what nobody counts.
func (e *engine) hitsNext(kind, who string) bool {
	e.counts[kind]++
	return e.hits(kind, who, e.counts[kind])
}

// down reports whether nothing reaches a port.
func (e *engine) down(port string) bool {
	for _, s := range e.config.Plan {
		if at := e.elapsed(); s.Kind == KindOutage && s.Target == port && s.Rate == 1 && at >= s.From && at < s.Until && !e.healed {
			return true
		}
	}
	return false
}

// trouble is what a source makes of an operation it hits.
func (s *Source) trouble(op world.Op, roll draws) trouble {
	switch s.Kind {
	case KindCrash:
		return trouble{mode: []world.Mode{world.DiesBefore, world.DiesAfter}[roll.IntN(2)]}
	case KindError:
		return trouble{mode: world.Fails, err: failure(op, roll.Rand)}
	case KindOutage:
		return trouble{mode: world.Fails, err: failure(op, nil), delay: roll.between(time.Second, 5*time.Second)}
	case KindLost:
		return trouble{mode: world.LosesReply, err: failure(op, nil)}
	case KindRepeat:
		return trouble{mode: Repeats}
	case KindLate:
		return trouble{mode: Late, err: failure(op, nil), late: roll.skewed(100*time.Millisecond, 20*time.Second)}
	case KindRefused:
		return trouble{mode: world.LosesReply, err: failure(op, nil)}
	case KindUnpublished:
		return trouble{mode: world.Fails, err: failure(op, nil)}
	case KindLateLease:
		return trouble{mode: Slow, delay: roll.between(12*time.Second, 31*time.Second)}
	case KindPlanning:
		return trouble{mode: Slow, back: roll.between(9*time.Second, 25*time.Second)}
	}
	return trouble{mode: Slow, delay: slowness(Slow, roll.Rand), lost: roll.IntN(2) == 0}
}

// failure is what a process hears of an operation that was not carried out, or whose answer was lost. Without draws it is
// an error that says nothing of whether it happened.
func failure(op world.Op, draws *rand.Rand) error {
	unknown := fault.New(fault.Internal, "", "%s: connection reset by peer", op.Name)
	if draws == nil {
		return unknown
	}
	refusals := refusalsOf[portOf(op.Name)]
	if i := draws.IntN(2 + len(refusals)); i < len(refusals) && (op.Write || refusals[i].Kind != fault.Conflict) {
		r := refusals[i]
		return fault.New(r.Kind, r.Code, "%s: %s", op.Name, r.Message)
	}
	return unknown
}

// refusalsOf lists by port what says that an operation did not happen. Source: error codes of EC2, DynamoDB and the
// Kubernetes API.
var refusalsOf = map[string][]fault.Error{
	"fleet": {
		{Kind: fault.Throttled, Code: "RequestLimitExceeded", Message: "slow down"}, {Kind: fault.Denied, Code: "UnauthorizedOperation", Message: "not authorized"},
	},
	"ledger": {
		{Kind: fault.Throttled, Code: "ProvisionedThroughputExceededException", Message: "slow down"},
		{Kind: fault.Conflict, Code: "TransactionConflict", Message: "another transaction is under way"},
	},
	"cluster": {
		{Kind: fault.Throttled, Code: "TooManyRequests", Message: "slow down"}, {Kind: fault.Denied, Code: "Unauthorized", Message: "the token has expired"},
		{Kind: fault.Conflict, Code: "Conflict", Message: "the object has been modified"},
	},
	"store": {{Kind: fault.Throttled, Code: "SlowDown", Message: "slow down"}},
	"queue": {{Kind: fault.Throttled, Code: "RequestThrottled", Message: "slow down"}},
}

// slowness is how long a slow operation takes beyond the usual.
func slowness(mode world.Mode, draws *rand.Rand) time.Duration {
	switch {
	case mode != Slow:
		return 0
	case draws == nil:
		return 20 * time.Second
	}
	return time.Second + time.Duration(draws.Int64N(int64(35*time.Second)))
}

// Exact is something that goes wrong with one effect of one invocation.
type Exact struct {
	Program    string
	Invocation int // of the program, counted from 1
	Effect     int // of the invocation, counted from 1
	Mode       world.Mode
}

func (x Exact) String() string {
	return fmt.Sprintf("%s-%d effect %d %s", x.Program, x.Invocation, x.Effect, x.Mode)
}

// inject notes what was made to go wrong. key names it for Config.Only.
func (e *engine) inject(who, key, what string) {
	e.stats.Faults[what]++
	if key != "" {
		e.injected = append(e.injected, key)
	}
	e.world.Log.Note(world.FaultInjected{Process: who, What: what})
}
