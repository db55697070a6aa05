package sim

import (
	"container/heap"
	"time"
)

// agenda holds what is due and when. Of what is due at the same time the one added first comes first.
type agenda struct {
	heap appointments
	seq  uint64
}

// appointment is one thing on the agenda.
type appointment struct {
	at    time.Time
	seq   uint64
	do    func()
	index int // position in the heap; -1 once it was taken off
}

// add puts something on the agenda.
func (a *agenda) add(at time.Time, do func()) *appointment {
	a.seq++
	item := &appointment{at: at, seq: a.seq, do: do}
	heap.Push(&a.heap, item)
	return item
}

// drop takes something off the agenda; nothing happens where it is not on it any more.
func (a *agenda) drop(item *appointment) {
	if item != nil && item.index >= 0 {
		heap.Remove(&a.heap, item.index)
	}
}

// next returns when something is due; false for an empty agenda.
func (a *agenda) next() (time.Time, bool) {
	if len(a.heap) == 0 {
		return time.Time{}, false
	}
	return a.heap[0].at, true
}

// take takes off what is due first.
func (a *agenda) take() *appointment { return heap.Pop(&a.heap).(*appointment) }

type appointments []*appointment

func (h appointments) Len() int { return len(h) }

func (h appointments) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}

func (h appointments) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *appointments) Push(x any) {
	item := x.(*appointment)
	item.index = len(*h)
	*h = append(*h, item)
}

func (h *appointments) Pop() any {
	old := *h
	item := old[len(old)-1]
	old[len(old)-1], item.index = nil, -1
	*h = old[:len(old)-1]
	return item
}
