package explore

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/audit"
)

// Bounds say how far to look.
type Bounds struct {
	Pods     int // that wait from the beginning, one to an instance: 3
	Limit    int // of the pool's nodes; 0 = none
	Stock    int // instances the cheapest offer has; the next has plenty. 0 = plenty everywhere
	Runs     int // of the planner in all, faults aside: 3
	Together int // of them at most at once: 2
	Faults   int // in all: 2
	Pauses   int // times that time passes: 3
	States   int // after which to stop; 0 = never
	Workers  int // 1
}

// Report is what was seen.
type Report struct {
	States     int // that differ
	Executions int
	Steps      int // in all executions, repeated ones included
	Ends       int // executions that came to where no choice is left
	All        bool
	Violations []Finding // at most ten
}

// Finding is a rule that was broken and the choices that lead there.
type Finding struct {
	audit.Violation
	Choices []int
	Trace   []string
}

// Explore looks through every choice within the bounds.
func Explore(bounds Bounds) Report {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // executions are short and leave much behind
	search := &search{bounds: bounds, seen: map[[16]byte]struct{}{}, stack: []branch{{}}}
	search.idle.L = &search.mu
	var group sync.WaitGroup
	for range max(1, bounds.Workers) {
		group.Go(search.work)
	}
	group.Wait()
	search.report.All = len(search.stack) == 0 && len(search.report.Violations) == 0
	return search.report
}

// branch is a line of choices still to be followed: the last of them is to be made where base was taken.
type branch struct {
	path []int
	base *base // nil at the beginning
}

// base is what tells a state from others, kept so that the way back to it need not be evaluated again.
type base struct {
	objects fingerprint
	heard   map[string][32]byte // by planner
}

// search is the stack of choices still to be made, and what was seen.
type search struct {
	bounds Bounds

	mu      sync.Mutex
	idle    sync.Cond
	seen    map[[16]byte]struct{}
	stack   []branch
	working int
	report  Report
}

func (s *search) work() {
	for {
		s.mu.Lock()
		for len(s.stack) == 0 && s.working > 0 {
			s.idle.Wait()
		}
		if len(s.stack) == 0 || s.full() {
			s.idle.Broadcast()
			s.mu.Unlock()
			return
		}
		next := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		s.working++
		s.mu.Unlock()

		e := newExecution(s, next)
		e.run()

		s.mu.Lock()
		s.working--
		s.report.Executions++
		s.report.Steps += e.steps
		if e.ended {
			s.report.Ends++
		}
		for _, v := range e.found {
			if len(s.report.Violations) < 10 {
				s.report.Violations = append(s.report.Violations, Finding{v, e.path, e.trace})
			}
		}
		s.idle.Broadcast()
		s.mu.Unlock()
	}
}

func (s *search) full() bool {
	return s.bounds.States > 0 && s.report.States >= s.bounds.States || len(s.report.Violations) >= 10
}

// fresh reports whether a state is seen for the first time, and has its other choices looked into later.
func (s *search) fresh(state [16]byte, path []int, choices int, keep func() *base) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.seen[state]; known {
		return false
	}
	s.seen[state] = struct{}{}
	s.report.States++
	if choices > 1 {
		kept := keep()
		for choice := choices - 1; choice > 0; choice-- {
			s.stack = append(s.stack, branch{append(path[:len(path):len(path)], choice), kept})
		}
	}
	s.idle.Broadcast()
	return true
}

func (r Report) String() string {
	return fmt.Sprintf("%d states, %d executions, %d steps, %d ends, all %v, %d violations", r.States, r.Executions, r.Steps, r.Ends, r.All, len(r.Violations))
}

// pauses are the times that may pass at once: short of everything, past a planner's death and its lease, past the time
// after which its launches are looked into.
var pauses = []time.Duration{33 * time.Second, 65 * time.Second}
