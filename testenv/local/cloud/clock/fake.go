package clock

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Fake is a clock that stands still until it is advanced.
type Fake struct {
	mu      sync.Mutex
	now     time.Time
	timers  timerHeap
	seq     uint64
	changed chan struct{} // closed and replaced whenever a timer is added
}

// NewFake returns a clock that shows start.
func NewFake(start time.Time) *Fake {
	return &Fake{now: start, changed: make(chan struct{})}
}

// Now returns the time the clock was last advanced to.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// AfterFunc schedules fn for d from now. It never runs fn itself, not even for
// d of zero or less: Advance does, so Advance(0) runs what is due already.
func (f *Fake) AfterFunc(d time.Duration, fn func()) func() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	t := &timer{at: f.now.Add(max(d, 0)), seq: f.seq, fn: fn}
	heap.Push(&f.timers, t)
	close(f.changed)
	f.changed = make(chan struct{})
	return func() bool { return f.stop(t) }
}

func (f *Fake) stop(t *timer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.index < 0 {
		return false
	}
	heap.Remove(&f.timers, t.index)
	return true
}

// Advance moves the clock forward by d and runs everything that becomes due on
// the calling goroutine, in order of due time and then of scheduling. While a
// function runs the clock shows the time it was due; what it schedules within
// the span runs in the same call. A negative d panics.
func (f *Fake) Advance(d time.Duration) {
	if d < 0 {
		panic("clock: advance by a negative duration")
	}
	f.mu.Lock()
	target := f.now.Add(d)
	for len(f.timers) > 0 && !f.timers[0].at.After(target) {
		t := heap.Pop(&f.timers).(*timer)
		if t.at.After(f.now) {
			f.now = t.at
		}
		f.mu.Unlock()
		t.fn()
		f.mu.Lock()
	}
	if target.After(f.now) {
		f.now = target
	}
	f.mu.Unlock()
}

// Pending returns how many functions wait to be run.
func (f *Fake) Pending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.timers)
}

// AwaitPending blocks until at least n functions wait to be run, so that a test
// can advance only once the goroutine under test has gone to sleep. It returns
// ctx.Err() when ctx is done first.
func (f *Fake) AwaitPending(ctx context.Context, n int) error {
	for {
		f.mu.Lock()
		enough, changed := len(f.timers) >= n, f.changed
		f.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

type timer struct {
	at    time.Time
	seq   uint64
	fn    func()
	index int // position in the heap; -1 once removed
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	t.index = -1
	*h = old[:len(old)-1]
	return t
}
