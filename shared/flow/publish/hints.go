package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/wire"
)

// send sends the hint that next makes, if it makes one, and has sent note what came of it, both with the lock held.
// what names the hint in problems.
func (f *Publisher) send(ctx context.Context, to Queue, what string, next func(now time.Time) *wire.Hint, sent func(err error, now time.Time)) {
	f.mu.Lock()
	made := next(f.config.Now())
	if made == nil {
		f.mu.Unlock()
		return
	}
	hint := *made
	f.mu.Unlock()
	err := f.call(ctx, func(ctx context.Context) error { return to.Send(ctx, hint) })
	f.mu.Lock()
	sent(err, f.config.Now())
	waiting := len(f.pods)
	f.mu.Unlock()
	if err != nil {
		f.problem(what, err)
		return
	}
	f.log(Note{What: "hint", Seq: hint.Seq, Reason: string(hint.Reason), Pods: len(hint.Pods), Waiting: waiting})
}

// sendHint sends the pending hint once the state it names is published. A failure is tried again after a pause;
// meanwhile the state goes on being published.
func (f *Publisher) sendHint(ctx context.Context) {
	var o *pendingHint
	f.send(ctx, f.config.Queue, "send a hint", func(now time.Time) *wire.Hint {
		if o = f.pending; o == nil || o.seq > f.head || !f.hintPause.over(now) {
			return nil
		}
		hint := f.batchHint(&f.gathered, f.config.Cluster, now)
		if hint == nil {
			f.pending = nil
		}
		return hint
	}, func(err error, now time.Time) {
		if err != nil {
			f.hintPause.failed(now, &f.settings)
			return
		}
		f.hinted(o, now)
		f.pending, f.hintPause = nil, pause{}
	})
}

// sendEnd reports what is being deleted once its moment is over. A failure is tried again after a pause; nobody else
// waits for it.
func (f *Publisher) sendEnd(ctx context.Context) {
	e := &f.ends
	f.send(ctx, f.config.Ends, "send a hint about deleted objects", func(now time.Time) *wire.Hint {
		if due := f.endDue(); due.IsZero() || now.Before(due) {
			return nil
		}
		if e.hint == nil {
			hint := f.nextHint(f.config.Cluster, wire.ReasonEnd, e.batch.first, now)
			e.hint, e.batch = &hint, batch{}
		}
		return e.hint
	}, func(err error, now time.Time) {
		if err != nil {
			e.pause.failed(now, &f.settings)
			return
		}
		e.hint, e.pause = nil, pause{}
	})
}

// sendEmpty sends the hint that nodes have become empty, or that so many pods have left that others may become so. A
// hint that is lost is made up for by the disruption function's next tick.
func (f *Publisher) sendEmpty(ctx context.Context) {
	const what = "send a hint about nodes that have become empty or lost pods; the next scheduled run finds them"
	f.send(ctx, f.config.EmptyNodes, what, func(now time.Time) *wire.Hint {
		if due := f.disruptionDue(); due.IsZero() || now.Before(due) {
			return nil
		}
		first := f.emptied.first
		if first.IsZero() {
			first = f.freed.first
		}
		f.emptied, f.freed = emptiedNodes{sentAt: now}, freedCapacity{}
		hint := f.nextHint(f.config.Cluster, wire.ReasonDisrupt, first, now)
		hint.Tick = fmt.Sprintf("empty/%d-%d", f.epoch, f.number)
		return &hint
	}, func(error, time.Time) {})
}
