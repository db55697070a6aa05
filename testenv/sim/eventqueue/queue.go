// Package eventqueue is a list of what is due when: what simulated time is made of. Of what is due at the same time the one
// added first comes first, so that a run is the same every time.
package eventqueue

import (
	"container/heap"
	"time"
)

// Queue holds what is due and when. The zero value is empty. Its owner guards it.
type Queue struct {
	heap eventHeap
	seq  uint64
}

// Event is one thing on the agenda.
type Event struct {
	at    time.Time
	seq   uint64
	do    func()
	index int // position in the heap; -1 once it was taken off
}

// Add puts something on the agenda.
func (a *Queue) Add(at time.Time, do func()) *Event {
	a.seq++
	item := &Event{at: at, seq: a.seq, do: do}
	heap.Push(&a.heap, item)
	return item
}

// Drop takes something off the agenda; nothing happens where it is not on it any more.
func (a *Queue) Drop(item *Event) {
	if item != nil && item.index >= 0 {
		heap.Remove(&a.heap, item.index)
	}
}

// Next returns when something is due; false for an empty agenda.
func (a *Queue) Next() (time.Time, bool) {
	if len(a.heap) == 0 {
		return time.Time{}, false
	}
	return a.heap[0].at, true
}

// Take takes off what is due first and returns what to do then.
func (a *Queue) Take() func() { return heap.Pop(&a.heap).(*Event).do }

// Run does what is due at now, and what that makes due.
func (a *Queue) Run(now time.Time) {
	for at, due := a.Next(); due && !at.After(now); at, due = a.Next() {
		a.Take()()
	}
}

type eventHeap []*Event

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}

func (h eventHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *eventHeap) Push(x any) {
	item := x.(*Event)
	item.index = len(*h)
	*h = append(*h, item)
}

func (h *eventHeap) Pop() any {
	old := *h
	item := old[len(old)-1]
	old[len(old)-1], item.index = nil, -1
	*h = old[:len(old)-1]
	return item
}
