package world

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
)

// Schedule is a rule of EventBridge Scheduler that ticks at a steady rate: a little late, at least once as a rule, and
// sometimes not at all.
type Schedule struct {
	options ScheduleOptions

	mu         sync.Mutex
	eventQueue eventqueue.Queue
	next       time.Time // the next tick to be planned
	due        []Tick
	chances    ScheduleChances
}

// ScheduleOptions say how a schedule ticks.
type ScheduleOptions struct {
	Start  time.Time     // of the first tick
	Every  time.Duration // 0 = a minute
	Jitter Span          // from the time a tick is for until it is given
	Rand   *rand.Rand    // nil: every tick is given once, after the least jitter
}

// ScheduleChances say how often a tick goes wrong, each between 0 and 1. Late ones come up to half an hour late.
type ScheduleChances struct{ Lost, Doubled, Late float64 }

// Tick is one tick of a schedule.
type Tick struct {
	For time.Time // the time it is for: what a handler is told
	At  time.Time // when it is given
}

// maxLate is how late a tick can be.
const maxLate = 30 * time.Minute

// NewSchedule returns a schedule that has not ticked yet.
func NewSchedule(options ScheduleOptions) *Schedule {
	if options.Every == 0 {
		options.Every = time.Minute
	}
	s := &Schedule{options: options, next: options.Start}
	s.plan()
	return s
}

// plan puts the next tick on the agenda, and after it the one that follows.
func (s *Schedule) plan() {
	tick := s.next
	s.next = tick.Add(s.options.Every)
	s.eventQueue.Add(tick, func() {
		s.plan()
		times := 1
		switch {
		case s.by(s.chances.Lost):
			times = 0
		case s.by(s.chances.Doubled):
			times = 2
		}
		for range times {
			late := s.draw(s.options.Jitter)
			if s.by(s.chances.Late) {
				late = s.draw(Span{Min: late, Max: maxLate})
			}
			at := tick.Add(late)
			s.eventQueue.Add(at, func() { s.due = append(s.due, Tick{For: tick, At: at}) })
		}
	})
}

// Next returns when the schedule moves next.
func (s *Schedule) Next() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.eventQueue.Next()
}

// Run lets happen what is due; Take then has it.
func (s *Schedule) Run(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eventQueue.Run(now)
}

// Take returns the ticks that were given since it was last called, in order.
func (s *Schedule) Take(now time.Time) []Tick {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eventQueue.Run(now)
	due := s.due
	s.due = nil
	return due
}

// SetChances replaces the chances.
func (s *Schedule) SetChances(c ScheduleChances) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chances = c
}

// Heal lets every tick come from now on.
func (s *Schedule) Heal() { s.SetChances(ScheduleChances{}) }

func (s *Schedule) by(chance float64) bool {
	return chance > 0 && s.options.Rand != nil && s.options.Rand.Float64() < chance
}

func (s *Schedule) draw(span Span) time.Duration { return span.draw(s.options.Rand) }
