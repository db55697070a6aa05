package dynamodb

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
)

// holdKey names an item for the time a request holds it.
type holdKey struct{ table, item string }

// hold counts the requests that hold an item: any number of plain writes, or one transaction.
type hold struct {
	writes      int
	transaction bool
}

// holdItems marks the items of writes as held; release lets them go. Both are called with the lock held.
func (m *Model) holdItems(writes []*write, transaction bool) (release func()) {
	for _, w := range writes {
		h := m.holds[w.hold]
		if h == nil {
			h = &hold{}
			m.holds[w.hold] = h
		}
		if transaction {
			h.transaction = true
		} else {
			h.writes++
		}
	}
	return func() {
		for _, w := range writes {
			h := m.holds[w.hold]
			if transaction {
				h.transaction = false
			} else {
				h.writes--
			}
			if *h == (hold{}) {
				delete(m.holds, w.hold)
			}
		}
	}
}

// writeConflicts reports whether a plain write meets a transaction, real or wished for.
func (m *Model) writeConflicts(w *write) bool {
	m.asked.writes++
	if ask := m.faults.Write; ask != nil && ask(m.asked.writes, w.ref) {
		return true
	}
	return m.heldByTransaction(w.hold)
}

func (m *Model) heldByTransaction(k holdKey) bool {
	h := m.holds[k]
	return h != nil && h.transaction
}

func (m *Model) held(k holdKey) bool { return m.holds[k] != nil }

// sleep waits on the clock of the model. A client that goes away does not undo what it asked for, so the
// wait does not end early.
func (m *Model) sleep(ctx context.Context, d time.Duration) {
	_ = clock.Sleep(context.WithoutCancel(ctx), m.clock, d) // cannot be canceled
}
