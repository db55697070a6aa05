package sqs

import (
	"cmp"
	"container/heap"
	"container/list"
	"fmt"
	"maps"
	"slices"
	"time"
)

// queue is one queue and its messages. Every method needs the model's lock.
//
// A message is in exactly one place at a time: waiting (delayed or in flight),
// ready (standard queue, visible). In a FIFO queue it is in its group all the
// time, and in waiting as well while not visible.
type queue struct {
	name     string
	arn      string
	settings *settings
	tags     map[string]string
	created  time.Time
	modified time.Time
	purged   time.Time

	messages   map[string]*message // by id
	waiting    visibilityHeap
	ready      *list.List            // of *message; standard queues only
	groups     map[string]*list.List // of *message, in order of arrival; FIFO queues only
	dedup      map[string]accepted   // FIFO queues only
	dedupSweep time.Time             // when dedup was last rid of what is too old
	arrivals   uint64
	nextExpiry time.Time // no message outlives retention before; zero: none to expire

	changed chan struct{} // closed and replaced when a poll may find more
}

// accepted is a message remembered for deduplication, whatever became of it.
type accepted struct {
	id       string
	sequence string
	at       time.Time
}

func newQueue(name, arn string, s *settings, tags map[string]string, now time.Time) *queue {
	return &queue{
		name: name, arn: arn, settings: s, tags: maps.Clone(tags), created: now, modified: now,
		messages: map[string]*message{}, ready: list.New(), groups: map[string]*list.List{},
		dedup: map[string]accepted{}, changed: make(chan struct{}),
	}
}

// notify wakes every long poll.
func (q *queue) notify() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// add puts a message in at the end, visible from msg.visibleAt on.
func (q *queue) add(msg *message, now time.Time) {
	q.arrivals++
	msg.arrival = q.arrivals
	if q.settings.fifo && msg.sequence == "" {
		msg.sequence = fmt.Sprintf("188%017d", q.arrivals)
	}
	q.messages[msg.id] = msg
	msg.heapIndex = -1
	if q.settings.fifo {
		if q.groups[msg.group] == nil {
			q.groups[msg.group] = list.New()
		}
		msg.inGroup = q.groups[msg.group].PushBack(msg)
	}
	if expiry := msg.sent.Add(q.settings.retention); q.nextExpiry.IsZero() || expiry.Before(q.nextExpiry) {
		q.nextExpiry = expiry
	}
	q.place(msg, now)
}

// place puts a message where its visibleAt says and wakes polls: they may get
// it, or need to know when they will.
func (q *queue) place(msg *message, now time.Time) {
	q.lift(msg)
	if now.Before(msg.visibleAt) {
		heap.Push(&q.waiting, msg)
	} else if !q.settings.fifo {
		msg.inReady = q.ready.PushBack(msg)
	}
	q.notify()
}

// lift takes a message out of waiting or ready.
func (q *queue) lift(msg *message) {
	if msg.heapIndex >= 0 {
		heap.Remove(&q.waiting, msg.heapIndex)
	}
	if msg.inReady != nil {
		q.ready.Remove(msg.inReady)
		msg.inReady = nil
	}
}

func (q *queue) remove(msg *message) {
	q.lift(msg)
	delete(q.messages, msg.id)
	if group := q.groups[msg.group]; group != nil {
		group.Remove(msg.inGroup)
		if group.Len() == 0 {
			delete(q.groups, msg.group)
		}
	}
	q.notify() // the group may have been waiting for this one
}

// settle brings the queue up to now: what has become visible, and what has
// passed its retention.
func (q *queue) settle(now time.Time) {
	for len(q.waiting) > 0 && !now.Before(q.waiting[0].visibleAt) {
		msg := heap.Pop(&q.waiting).(*message)
		if !q.settings.fifo {
			msg.inReady = q.ready.PushBack(msg)
		}
	}
	if !q.nextExpiry.IsZero() && !now.Before(q.nextExpiry) {
		q.expire(now)
	}
}

func (q *queue) expire(now time.Time) {
	q.nextExpiry = time.Time{}
	for _, msg := range q.all() {
		expiry := msg.sent.Add(q.settings.retention)
		if !now.Before(expiry) {
			q.remove(msg)
		} else if q.nextExpiry.IsZero() || expiry.Before(q.nextExpiry) {
			q.nextExpiry = expiry
		}
	}
}

// all returns every message in order of arrival.
func (q *queue) all() []*message {
	return slices.SortedFunc(maps.Values(q.messages), func(a, b *message) int { return cmp.Compare(a.arrival, b.arrival) })
}

func (q *queue) depth(now time.Time) Depth {
	q.settle(now)
	var d Depth
	for _, msg := range q.waiting {
		if msg.receipt != "" {
			d.InFlight++
		} else {
			d.Delayed++
		}
	}
	d.Visible = len(q.messages) - len(q.waiting)
	return d
}

// visibilityHeap orders messages by when they become visible, then by arrival.
type visibilityHeap []*message

func (h visibilityHeap) Len() int { return len(h) }
func (h visibilityHeap) Less(i, j int) bool {
	if c := h[i].visibleAt.Compare(h[j].visibleAt); c != 0 {
		return c < 0
	}
	return h[i].arrival < h[j].arrival
}
func (h visibilityHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}
func (h *visibilityHeap) Push(x any) {
	msg := x.(*message)
	msg.heapIndex = len(*h)
	*h = append(*h, msg)
}
func (h *visibilityHeap) Pop() any {
	old := *h
	msg := old[len(old)-1]
	msg.heapIndex = -1
	*h = old[:len(old)-1]
	return msg
}
