package dynamodb

import (
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// replica is a view that follows a table with a delay: each change reaches it when it is due, in order.
type replica struct {
	view    *view
	pending []lateChange
}

// lateChange is one write on its way; nil items stand for none before or after.
type lateChange struct {
	due      time.Time
	old, new attribute.Item
}

// follow hands the replica a change that happened now, to be seen after lag.
func (r *replica) follow(now time.Time, lag time.Duration, old, new attribute.Item) {
	due := now.Add(lag)
	if n := len(r.pending); n > 0 && r.pending[n-1].due.After(due) {
		due = r.pending[n-1].due // never overtake
	}
	r.pending = append(r.pending, lateChange{due: due, old: old, new: new})
	r.catchUp(now)
}

// catchUp applies what is due by now and returns the view as it then is.
func (r *replica) catchUp(now time.Time) *view {
	done := 0
	for _, c := range r.pending {
		if c.due.After(now) {
			break
		}
		if c.old != nil {
			r.view.remove(c.old)
		}
		if c.new != nil {
			r.view.put(c.new)
		}
		done++
	}
	if done == len(r.pending) {
		r.pending = nil
	} else {
		r.pending = r.pending[done:]
	}
	return r.view
}
