package disrupt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// A check that found nothing to do is remembered with what it depended on, so that an idle cluster costs two reads a minute. It
// is good for some minutes at most, since what the ledger and the catalog say is not looked at meanwhile, somewhat longer where there is
// nothing that could be disrupted, and never beyond the time at which the plan may be another. Where only budgets kept something back the ledger is read each time, since what
// frees them may show there alone. While a command is open there is no such memory.

// farthest is the longest a hint can be held back.
const farthest = 15 * time.Minute

// settled reports whether nothing can have changed since a check that found nothing to do, as far as manifest and clock tell.
func (r *pass) settled(manifest *model.Manifest) bool {
	n := &r.notes
	return !r.request.Changed && manifest != nil && n.Ledger != "" && !n.Constrained && n.Epoch == manifest.Epoch && n.Seq == manifest.HeadSeq &&
		n.WatcherAhead.Of(*manifest, r.now()) <= maxClockOffset && r.now()-n.AtUnix < r.memoFor() && (n.DueUnix == 0 || r.now() < n.DueUnix)
}

// memoFor is for how many seconds a check that found nothing is good.
func (r *pass) memoFor() int64 {
	if r.notes.Empty {
		return max(model.EmptyForSeconds, seconds(r.settings.MemoFor))
	}
	return seconds(r.settings.MemoFor)
}

// unchanged reports whether the last check that found nothing depended on the very same.
func (r *pass) unchanged(catalog string) bool {
	n := &r.notes
	return n.Ledger != "" && n.Ledger == r.digest() && n.Catalog == catalog && n.Epoch == r.snapshot.Epoch && n.Seq == r.snapshot.Seq &&
		r.now() < n.DueUnix
}

// replanAfter is after how many seconds it is planned again although nothing seems to have changed.
const replanAfter = 1800

// found remembers a check that found nothing to do before againUnix (0 = whenever), or before this run has asked for another.
func (r *pass) found(catalog string, againUnix int64, constrained bool) {
	if r.next != 0 && (againUnix == 0 || r.next < againUnix) {
		againUnix = r.next
	}
	for _, unavailable := range r.unavailableOfferings() {
		if until := unavailable.UntilUnix; until >= r.now() && (againUnix == 0 || until < againUnix) {
			againUnix = until + 1 // there is an offering more to replace nodes with
		}
	}
	if latest := r.now() + replanAfter; againUnix == 0 || againUnix > latest {
		againUnix = latest
	}
	r.notes.AtUnix, r.notes.Epoch, r.notes.Seq = r.now(), r.snapshot.Epoch, r.snapshot.Seq
	r.notes.Ledger, r.notes.Catalog, r.notes.DueUnix, r.notes.Constrained = r.digest(), catalog, againUnix, constrained
	r.notes.Empty = r.empty()
	r.renoted = true
}

// empty reports whether there is nothing of ours in the cluster and nobody asks for anything, so that resyncs may come less often.
func (r *pass) empty() bool {
	s, l := r.snapshot, &r.ledger
	if len(l.Claims)+len(l.Ended)+len(l.Intents)+len(l.Unread)+len(s.Claims)+len(s.Buffers) > 0 || len(l.Classes) != len(s.Classes) || len(r.openIDs()) > 0 {
		return false
	}
	return !slices.ContainsFunc(l.Classes, func(c model.ClassRecord) bool { return len(c.Status.Problems) > 0 }) &&
		!slices.ContainsFunc(s.Classes, func(c model.Class) bool { return c.DeletedUnix != 0 }) &&
		!slices.ContainsFunc(s.Pools, func(p model.Pool) bool { return p.DeletedUnix != 0 || p.Replicas != nil }) &&
		!slices.ContainsFunc(s.Nodes, func(n model.Node) bool { return n.Finalizer }) && len(pack.Pending(s)) == 0
}

// forget takes a look's memory back. It is written before the first command of a run, so that none is left alone for the sake
// of what was found before it.
func (r *pass) forget(ctx context.Context) error {
	if r.notes.Ledger == "" {
		return nil
	}
	next := r.notes
	next.Ledger, next.Catalog, next.DueUnix, next.Constrained, next.Empty = "", "", 0, false, false
	err := r.effect(ctx, EffectForget, func() (err error) {
		next, err = r.Ledger.Recall(ctx, r.fence, next)
		return err
	})
	if err == nil {
		r.notes = next
	}
	return err
}

// digest stands for what the ledger says beyond the snapshot.
func (r *pass) digest() string {
	h := sha256.New()
	l := &r.ledger
	fmt.Fprint(h, r.settings.Build, r.settings.Disruption, l.Stops, l.UnavailableOfferings, l.Usage, l.BudgetVersions, l.Notes.ClassSuspensions, l.Notes.Refusals)
	for i := range l.Claims {
		fmt.Fprintln(h, l.Claims[i].Name, l.Claims[i].Version)
	}
	for i := range l.Commands {
		fmt.Fprintln(h, l.Commands[i].ID, l.Commands[i].Version)
	}
	for i := range l.Classes {
		fmt.Fprintln(h, l.Classes[i].Name, l.Classes[i].Version, l.Classes[i].Status.ResolvedUnix)
	}
	if len(l.Unread) > 0 {
		fmt.Fprintln(h, l.Unread)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// hintMissing reports whether the next check is worth a hint and none is underway that comes by then.
func (r *pass) hintMissing() bool {
	now := r.now()
	if r.next == 0 || r.next-now > seconds(farthest) {
		return false
	}
	underway := r.notes.HintUnix > now && r.notes.HintUnix <= max(r.next, now+1)
	return !underway
}

// remember asks for the next check, unless a hint for it is underway, and writes the notes where they have changed.
func (r *pass) remember(ctx context.Context) {
	if r.hintMissing() {
		due := max(r.next, r.now()+1)
		after := time.Duration(due-r.now()+1) * time.Second // late rather than early: an early one would find nothing due
		err := r.effect(ctx, EffectHint, func() error {
			return r.Hints.RequestDisruption(ctx, r.reg.Cluster, fmt.Sprintf("%s%d", ownKey, due), min(after, farthest))
		})
		if err != nil {
			r.problem("send a hint to check again in %s; the next scheduled run does anyway: %v", after, err)
		} else {
			r.notes.HintUnix, r.renoted = due, true
		}
	}
	if !r.renoted {
		return
	}
	err := r.effect(ctx, EffectNote, func() (err error) {
		_, err = r.Ledger.Recall(ctx, r.fence, r.notes)
		return err
	})
	if err != nil && !fault.Is(err, fault.Conflict) {
		r.problem("write the disruption notes: %v", err)
	}
}
