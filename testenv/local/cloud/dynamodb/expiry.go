package dynamodb

import (
	"container/heap"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// oldestExpiry is how long past its time an item may be for the service still to delete it.
const oldestExpiry = 5 * 365 * 24 * time.Hour

// settleTime is how long AWS takes no second change of the time-to-live setting.
const settleTime = time.Hour

// expiry is the time-to-live setting of a table and the items it will delete.
type expiry struct {
	enabled   bool
	attribute string
	changedAt time.Time // zero when never changed
	queue     expiryQueue
}

// due is an item that named this moment as its end when it was written.
type due struct {
	atSeconds int64
	item      attribute.Item
}

// watch remembers an item that carries an end.
func (e *expiry) watch(t *table, now time.Time, item attribute.Item) {
	at, ends := e.end(item)
	if ends && now.Sub(time.Unix(at, 0)) <= oldestExpiry {
		heap.Push(&e.queue, due{atSeconds: at, item: t.key.of(item)})
	}
}

// end returns the epoch second an item names as its end; ends is false when it names none.
func (e *expiry) end(item attribute.Item) (atSeconds int64, ends bool) {
	v := item[e.attribute]
	if !e.enabled || v.Kind != attribute.N {
		return 0, false
	}
	return v.Number.Seconds(), true
}

// expireItems deletes the items whose end lies at least the expiry lag in the past.
func (m *Model) expireItems(t *table, now time.Time) {
	e := &t.expiry
	for len(e.queue) > 0 {
		next := e.queue[0]
		goes := time.Unix(next.atSeconds, 0).Add(m.lags.Expiry)
		if now.Before(goes) {
			return
		}
		heap.Pop(&e.queue)
		item := t.items.get(next.item)
		if at, ends := e.end(item); ends && at == next.atSeconds { // else it was changed or replaced since
			t.commit(now, m.lags, item, nil)
		}
	}
}

// set changes the setting and looks at the items that are there.
func (e *expiry) set(t *table, now time.Time, enabled bool, name string) {
	e.enabled, e.attribute, e.changedAt, e.queue = enabled, name, now, nil
	t.eachItem(func(item attribute.Item) { e.watch(t, now, item) })
}

// expiryQueue is a heap with the earliest end first.
type expiryQueue []due

func (q expiryQueue) Len() int           { return len(q) }
func (q expiryQueue) Less(i, j int) bool { return q[i].atSeconds < q[j].atSeconds }
func (q expiryQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push is for container/heap.
func (q *expiryQueue) Push(x any) { *q = append(*q, x.(due)) }

// Pop is for container/heap.
func (q *expiryQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
