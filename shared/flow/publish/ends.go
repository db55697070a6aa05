package publish

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// ends gathers Nodes and NodeClaims of ours that somebody deletes, so that whoever empties them learns of it once for all of a
// moment. What is reported needs no published state: it is looked at live.
type ends struct {
	going map[string]string // UIDs of what is being deleted, by kind and name
	batch batch             // open where somebody is to learn of it
	hint  *wire.Hint        // as sent last and not taken, kept so that a repetition is the same; nil = to be made
	pause pause
}

// ending returns the key under which an object that is being deleted is reported, and its UID; an empty UID where it is not
// being deleted, or nobody is to learn of it. Empty where the change is of another kind.
//
// A node that carries the taint of a drain is known to those who would learn of it: it is they who deleted it.
func ending(c *wire.Change) (key, uid string) {
	switch {
	case c.Node != nil:
		key = "Node/" + c.Node.Name
		if !c.Deleted && c.Node.DeletedUnix != 0 && (c.Node.Pool() != "" || c.Node.Finalizer) && !drained(c.Node) {
			uid = c.Node.UID
		}
	case c.Claim != nil:
		key = "NodeClaim/" + c.Claim.Name
		if !c.Deleted && c.Claim.DeletedUnix != 0 {
			uid = c.Claim.UID
		}
	}
	return key, uid
}

func drained(node *model.Node) bool {
	for _, t := range node.Taints {
		if t.Key == model.TaintDisrupted {
			return true
		}
	}
	return false
}

// noteEnds takes note of a change, and opens the batch where something is being deleted that was not before.
func (f *Publisher) noteEnds(c *wire.Change, now time.Time) {
	key, uid := ending(c)
	switch {
	case key == "" || f.config.Ends == nil:
	case uid == "":
		delete(f.ends.going, key)
	case f.ends.going[key] != uid:
		if f.ends.going == nil {
			f.ends.going = make(map[string]string)
		}
		f.ends.going[key] = uid
		f.ends.batch.add(now, wire.ReasonEnd, "", "")
	}
}

// assumeEnds begins a leadership: whatever is being deleted is new.
func (f *Publisher) assumeEnds(now time.Time) {
	f.ends.batch, f.ends.hint, f.ends.pause = batch{}, nil, pause{}
	if len(f.ends.going) > 0 {
		f.ends.batch.add(now, wire.ReasonEnd, "", "")
	}
}

// endDue returns when somebody is to learn of it next; zero where nobody is.
func (f *Publisher) endDue() time.Time {
	switch e := &f.ends; {
	case e.hint != nil:
		return e.pause.until
	case e.batch.open():
		due := e.batch.closesAt(&f.settings)
		if due.Before(e.pause.until) {
			due = e.pause.until
		}
		return due
	}
	return time.Time{}
}

// sendEnd reports what is being deleted once its moment is over. A failure is tried again after a pause; nobody else waits
// for it.
func (f *Publisher) sendEnd(ctx context.Context) {
	now := f.config.Now()
	f.mu.Lock()
	due := f.endDue()
	if due.IsZero() || now.Before(due) {
		f.mu.Unlock()
		return
	}
	e := &f.ends
	if e.hint == nil {
		f.number++
		e.hint = &wire.Hint{
			Cluster: f.config.Cluster, Epoch: f.epoch, Seq: f.head, Number: f.number, Reason: wire.ReasonEnd,
			SentAtMillis: now.UnixMilli(), FirstSeenMillis: e.batch.first.UnixMilli(), ClosedMillis: now.UnixMilli(),
		}
		e.batch = batch{}
	}
	hint := *e.hint
	f.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	err := f.config.Ends.Send(ctx, hint)

	f.mu.Lock()
	if err == nil {
		e.hint, e.pause = nil, pause{}
	} else {
		e.pause.failed(f.config.Now(), &f.settings)
	}
	waiting := len(f.pods)
	f.mu.Unlock()
	if err != nil {
		f.problem("send a hint about deleted objects", err)
		return
	}
	f.log(Note{What: "hint", Epoch: f.epoch, Seq: hint.Seq, Reason: string(hint.Reason), Waiting: waiting})
}
