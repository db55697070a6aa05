package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// story tells what happens as it happens, and keeps the times the result is made of. What it knows of pods it sees by a
// watch of its own, independent of the watcher.
type story struct {
	out   io.Writer
	began time.Time

	mutex   sync.Mutex
	pods    map[string]*podTimes // by name
	nodes   map[string]*seenNode // by name
	deleted map[string]int       // NodePools that are being deleted, with their nodes when that began
	folds   []*fold
	batches []batchTimes
	waiting waiting // what the last run said that launched nothing
	changed chan struct{}
}

// podTimes are the moments of one pod's life as seen here.
type podTimes struct {
	unschedulable, bound, running time.Time
	node                          string
}

// seenNode is what the story knows of a node, also when that is gone.
type seenNode struct {
	pool          string
	drained, gone bool // it began to be drained; it does not exist any more
}

// batchTimes are the moments of one batch, as the watcher wrote them on its hint.
type batchTimes struct{ firstSeen, closed time.Time }

// waiting are the pods of a run that launched nothing. Runs that find the same are told once.
type waiting struct{ pending, unschedulable int }

// result is the last line of a run with -once.
type result struct {
	Pods                 int     `json:"pods"`
	Nodes                int     `json:"nodes"`
	PricePerHour         float64 `json:"pricePerHour"`
	PendingToFleetMillis int64   `json:"pendingToFleetMillis"` // median over the pods, batching window left out
	PendingToBoundMillis int64   `json:"pendingToBoundMillis"` // median over the pods
}

func newStory(out io.Writer) *story {
	return &story{
		out: out, began: time.Now(), pods: map[string]*podTimes{}, nodes: map[string]*seenNode{},
		deleted: map[string]int{}, changed: make(chan struct{}, 1),
	}
}

func (s *story) say(format string, args ...any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.line(format, args...)
}

func (s *story) line(format string, args ...any) {
	fmt.Fprintf(s.out, "%7.2fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

func (s *story) count(is func(*podTimes) bool) (n int) {
	for _, p := range s.pods {
		if is(p) {
			n++
		}
	}
	return n
}

// gather prints a thing in one line with all others of its kind that come within a moment. The caller holds the
// mutex.
func (s *story) gather(kind, name string, line func(names []string) string) {
	for _, f := range s.folds {
		if f.kind == kind {
			f.names = append(f.names, name)
			return
		}
	}
	f := &fold{kind: kind, names: []string{name}, line: line}
	s.folds = append(s.folds, f)
	time.AfterFunc(foldFor, func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		for i := range s.folds {
			if s.folds[i] == f {
				s.folds = append(s.folds[:i], s.folds[i+1:]...)
				s.line("%s", f.line(f.names))
				return
			}
		}
	})
}

// flush tells what is being gathered.
func (s *story) flush() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, f := range s.folds {
		s.line("%s", f.line(f.names))
	}
	s.folds = nil
}

// awaitRunning returns when n pods run.
func (s *story) awaitRunning(ctx context.Context, n int) error {
	for {
		s.mutex.Lock()
		running := s.count(func(p *podTimes) bool { return !p.running.IsZero() })
		s.mutex.Unlock()
		if running >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods run: %w", running, n, ctx.Err())
		case <-s.changed:
		}
	}
}

// result takes the medians. A pod's way to the fleet is from when it was seen unschedulable to the launch of the
// machine that was made for its batch, less the batch's own window.
func (s *story) result(st *stack.Stack) result {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	nodes := map[string]bool{}
	var toFleet, toBound []int64
	launches := st.EC2.Launches()
	for _, p := range s.pods {
		if p.bound.IsZero() || p.unschedulable.IsZero() {
			continue
		}
		nodes[p.node] = true
		toBound = append(toBound, p.bound.Sub(p.unschedulable).Milliseconds())
		for _, launch := range launches {
			if launch.PrivateDNSName == p.node {
				toFleet = append(toFleet, (launch.LaunchTime.Sub(p.unschedulable) - s.window(p.unschedulable, launch.LaunchTime)).Milliseconds())
			}
		}
	}
	return result{
		Pods: s.count(func(p *podTimes) bool { return !p.running.IsZero() }), Nodes: len(nodes),
		PricePerHour:         float64(st.EC2.PricePerHour()) / 1e6,
		PendingToFleetMillis: median(toFleet), PendingToBoundMillis: median(toBound),
	}
}

// window is the part of the time between a pod's being pending and a launch in which the watcher waited for more pods.
func (s *story) window(pending, launch time.Time) time.Duration {
	for i := len(s.batches) - 1; i >= 0; i-- {
		b := s.batches[i]
		if b.closed.Before(launch) {
			from := b.firstSeen
			if pending.After(from) {
				from = pending
			}
			return max(0, b.closed.Sub(from))
		}
	}
	return 0
}

func median(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	return values[len(values)/2]
}

func (s *story) summary(r result) {
	run := "run"
	if r.Pods == 1 {
		run = "runs"
	}
	s.say("%s %s on %s at $%.4f per hour; pending to CreateFleet %d ms (batching window left out), pending to bound %d ms (medians)",
		many(r.Pods, "pod"), run, many(r.Nodes, "node"), r.PricePerHour, r.PendingToFleetMillis, r.PendingToBoundMillis)
}

// diagnosis is what somebody would look at first.
func (s *story) diagnosis(st *stack.Stack) string {
	return fmt.Sprintf("logs are in %s and %s", filepath.Join(st.Dir(), "logs"), st.Kube.LogDir())
}
