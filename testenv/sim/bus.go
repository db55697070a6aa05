package sim

import (
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// latency is how long an operation takes, there and back, from usual to slow.
type latency struct{ usual, slow time.Duration }

// latencies by port; that of a whole operation's name goes before.
var latencies = map[string]latency{
	"ledger":          {3 * time.Millisecond, 40 * time.Millisecond},
	"store":           {10 * time.Millisecond, 120 * time.Millisecond},
	"queue":           {8 * time.Millisecond, 100 * time.Millisecond},
	"cluster":         {4 * time.Millisecond, 200 * time.Millisecond},
	"fleet":           {50 * time.Millisecond, 500 * time.Millisecond},
	"fleet.launch":    {400 * time.Millisecond, 4 * time.Second},
	"fleet.template":  {0, 300 * time.Millisecond}, // mostly known already
	"catalog.types":   {0, 3 * time.Second},        // the same
	"catalog.resolve": {50 * time.Millisecond, time.Second},
	"catalog.examine": {50 * time.Millisecond, time.Second},
	"profiles":        {50 * time.Millisecond, 500 * time.Millisecond},
	"site.connect":    {0, 300 * time.Millisecond},
}

// dispatch sends what a strand parked for on its way.
func (e *engine) dispatch(s *strand) {
	if s.rest != nil {
		e.lay(s)
		return
	}
	if s.spread != nil {
		e.fan(s)
		return
	}
	p, c := s.process, s.asked
	p.ops++
	if c.op.Write && !e.healed {
		p.writes = append(p.writes, c.op.Name)
	}
	l, known := latencies[c.op.Name]
	if !known {
		l = latencies[portOf(c.op.Name)]
	}
	there, back := p.draws.skewed(l.usual/2, l.slow/2), p.draws.skewed(l.usual/2, l.slow/2)
	trouble := e.trouble(p, c.op)
	there = max(there, c.op.Least) + trouble.delay
	back += trouble.back
	e.eventQueue.Add(e.now().Add(there), func() { e.arrive(s, c, trouble, back) })
}

// arrive carries an operation out, or what the trouble makes of it, and sends its answer back.
func (e *engine) arrive(s *strand, c *call, t trouble, back time.Duration) {
	p := s.process
	if p.dead {
		// It was under way when its process was killed: the world gets it, and nobody hears the answer.
		if !t.lost {
			e.carryOut(p, c)
		}
		return
	}
	if t.mode != "" {
		e.inject(p.name, t.key, string(t.mode)+" "+c.op.Name)
	}
	e.people.before(p, c.op)
	var err error
	switch t.mode {
	case "", Slow:
		err = e.carryOut(p, c)
	case world.DiesBefore:
		e.kill(p, "kill")
		return
	case world.DiesAfter:
		e.carryOut(p, c)
		e.kill(p, "kill")
		return
	case world.Fails:
		err = t.err
	case world.LosesReply:
		e.carryOut(p, c)
		err = t.err
	case Repeats:
		e.carryOut(p, c)
		err = e.carryOut(p, c)
	case Late:
		err = t.err
		e.eventQueue.Add(e.now().Add(t.late), func() { e.carryOut(p, c) })
	}
	e.eventQueue.Add(e.now().Add(back), func() { e.resume(s, err) })
}

// carryOut does an operation in the world and lets the auditors look.
func (e *engine) carryOut(p *process, c *call) error {
	e.stats.Operations++
	err := c.act()
	e.trace.operation(e.now(), p.name, c.op.Name, err)
	e.check()
	return err
}

// lay lets a strand rest.
func (e *engine) lay(s *strand) {
	r := s.rest
	if len(r.wake) > 0 {
		<-r.wake
		r.d = 0
	}
	s.timer = e.eventQueue.Add(e.now().Add(max(0, r.d)), func() { e.resume(s, nil) })
}

// fan starts what a strand wants done side by side, as much of it at once as is allowed.
func (e *engine) fan(parent *strand) {
	f, p := parent.spread, parent.process
	for f.started < f.n && f.started-f.ended < f.most && !p.dead {
		i := f.started
		f.started++
		child := p.strand(func() { f.do(i) }, func() {
			f.ended++
			if p.dead {
				return
			}
			if f.ended == f.n {
				e.eventQueue.Add(e.now(), func() { e.resume(parent, nil) })
			} else if f.started < f.n {
				e.eventQueue.Add(e.now(), func() {
					if !parent.over {
						e.fan(parent)
					}
				})
			}
		})
		e.resume(child, nil)
	}
}

// nudge resumes a strand that rests and was woken.
func (e *engine) nudge(s *strand) {
	if s.rest == nil || len(s.rest.wake) == 0 {
		return
	}
	<-s.rest.wake
	e.eventQueue.Drop(s.timer)
	s.timer = e.eventQueue.Add(e.now(), func() { e.resume(s, nil) })
	s.rest.wake = nil // once is enough
}

// resume lets a strand run until it parks again or ends.
func (e *engine) resume(s *strand, answer error) {
	if s.over {
		return // killed meanwhile
	}
	s.asked, s.rest, s.spread, s.answer = nil, nil, nil, answer
	before := e.running
	e.running = s
	_, parked := s.next()
	e.running = before
	if parked && !s.process.dead {
		e.dispatch(s)
		return
	}
	s.over = true
	s.process.end(s)
}

// kill ends a process: nothing it asks for from now on is carried out, and what is under way is answered to nobody.
func (e *engine) kill(p *process, verb string) {
	if p.dead {
		return
	}
	p.dead = true
	p.cancel()
	for len(p.strands) > 0 { // whatever they still ask for fails at once, so that they run to their ends
		e.resume(p.strands[len(p.strands)-1], p.killed())
	}
	e.finish(p, verb, p.killed())
}

// finish notes the end of a process and tells whoever waits for it.
func (e *engine) finish(p *process, verb string, err error) {
	e.eventQueue.Drop(p.timeout)
	text := ""
	if err != nil {
		text = err.Error()
	}
	e.world.Log.Note(world.ProcessMoved{Process: p.name, Program: p.program, Verb: verb, Error: text})
	e.check()
	if p.ended != nil {
		p.ended(err)
	}
}

func portOf(op string) string {
	for i := range len(op) {
		if op[i] == '.' {
			return op[:i]
		}
	}
	return op
}
