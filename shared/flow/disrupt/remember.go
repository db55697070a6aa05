package disrupt

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// unchanged reports whether the last check that found nothing depended on the very same.
func (r *session) unchanged(snapshot *model.Snapshot, catalog string) bool {
	n := &r.memo.notes
	return n.Ledger != "" && n.Ledger == r.state.digest(&r.settings) && n.Catalog == catalog && n.Epoch == snapshot.Epoch &&
		n.Seq == snapshot.Seq && r.NowUnix() < n.DueUnix
}

// replanAfter is after how many seconds it is planned again although nothing seems to have changed.
const replanAfter = 1800

// found remembers a check that found nothing to do before againUnix (0 = whenever), or before this run has asked for another.
func (r *session) found(snapshot *model.Snapshot, catalog string, againUnix int64, constrained bool) {
	now := r.NowUnix()
	if r.next != 0 && (againUnix == 0 || r.next < againUnix) {
		againUnix = r.next
	}
	for _, unavailable := range r.state.unavailableOfferings() {
		if until := unavailable.UntilUnix; until >= now && (againUnix == 0 || until < againUnix) {
			againUnix = until + 1 // there is an offering more to replace nodes with
		}
	}
	if latest := now + replanAfter; againUnix == 0 || againUnix > latest {
		againUnix = latest
	}
	n := &r.memo.notes
	n.AtUnix, n.Epoch, n.Seq = now, snapshot.Epoch, snapshot.Seq
	n.Ledger, n.Catalog, n.DueUnix, n.Constrained = r.state.digest(&r.settings), catalog, againUnix, constrained
	n.Empty, r.memo.changed = r.state.empty(snapshot), true
}

// forget takes a look's memory back. It is written before the first command of a run, so that none is left alone for the sake
// of what was found before it.
func (r *session) forget(ctx context.Context) error {
	if r.memo.notes.Ledger == "" {
		return nil
	}
	next := r.memo.notes
	next.Ledger, next.Catalog, next.DueUnix, next.Constrained, next.Empty = "", "", 0, false, false
	err := r.Effect(ctx, EffectForget, func() (err error) {
		next, err = r.flow.Ledger.Recall(ctx, r.fence, next)
		return err
	})
	if err == nil {
		r.memo.notes = next
	}
	return err
}

// remember asks for the next check, unless a hint for it is underway, and writes the notes where they have changed.
func (r *session) remember(ctx context.Context) {
	if now := r.NowUnix(); r.memo.hintMissing(r.next, now) {
		due := max(r.next, now+1)
		after := time.Duration(due-now+1) * time.Second // late rather than early: an early one would find nothing due
		text := fmt.Sprintf("send a hint to check again in %s; the next scheduled run does anyway", after)
		if r.Try(ctx, EffectHint, text, func() error {
			return r.flow.RequestDisruption(ctx, r.reg.Cluster, fmt.Sprintf("%s%d", ownKey, due), min(after, farthest))
		}) {
			r.memo.notes.HintUnix, r.memo.changed = due, true
		}
	}
	if !r.memo.changed {
		return
	}
	err := r.Effect(ctx, EffectNote, func() (err error) {
		_, err = r.flow.Ledger.Recall(ctx, r.fence, r.memo.notes)
		return err
	})
	if err != nil && !fault.Is(err, fault.Conflict) {
		r.Problem("write the disruption notes: %v", err)
	}
}
