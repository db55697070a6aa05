package world

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// agenda is what a model has to do later, in order of time and then of being asked for. The zero value is empty. Its owner
// guards it.
type agenda struct {
	items []task
	seq   int64
}

type task struct {
	at  time.Time
	seq int64
	do  func()
}

// add puts do on the agenda.
func (a *agenda) add(at time.Time, do func()) {
	a.seq++
	heap.Push(a, task{at, a.seq, do})
}

// next returns when something is due; false where nothing is.
func (a *agenda) next() (time.Time, bool) {
	if len(a.items) == 0 {
		return time.Time{}, false
	}
	return a.items[0].at, true
}

// run does what is due at now, and what that makes due.
func (a *agenda) run(now time.Time) {
	for len(a.items) > 0 && !a.items[0].at.After(now) {
		heap.Pop(a).(task).do()
	}
}

func (a *agenda) Len() int { return len(a.items) }

func (a *agenda) Less(i, j int) bool {
	if x, y := a.items[i].at, a.items[j].at; !x.Equal(y) {
		return x.Before(y)
	}
	return a.items[i].seq < a.items[j].seq
}

func (a *agenda) Swap(i, j int) { a.items[i], a.items[j] = a.items[j], a.items[i] }
func (a *agenda) Push(x any)    { a.items = append(a.items, x.(task)) }

func (a *agenda) Pop() any {
	last := a.items[len(a.items)-1]
	a.items[len(a.items)-1] = task{}
	a.items = a.items[:len(a.items)-1]
	return last
}

// Span is a stretch of time something takes: at least Min and at most Max, evenly drawn.
type Span struct{ Min, Max time.Duration }

// draw returns how long it is this time, to the millisecond; the least where chance is nil.
func (s Span) draw(chance *rand.Rand) time.Duration {
	if chance == nil || s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(chance.Int64N(int64((s.Max-s.Min)/time.Millisecond)+1))*time.Millisecond
}
