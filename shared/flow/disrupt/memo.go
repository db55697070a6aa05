package disrupt

import (
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// A check that found nothing to do is remembered with what it depended on, so that an idle cluster costs two reads a minute. It
// is good for some minutes at most, since what the ledger and the catalog say is not looked at meanwhile, somewhat longer where there is
// nothing that could be disrupted, and never beyond the time at which the plan may be another. Where only budgets kept something back the ledger is read each time, since what
// frees them may show there alone. While a command is open there is no such memory.

// farthest is the longest a hint can be held back.
const farthest = 15 * time.Minute

// memo is what the ledger remembers of the cluster's checks.
type memo struct {
	notes   model.DisruptNotes
	changed bool // they are not as they are stored
}

// settled reports whether nothing can have changed since a check that found nothing to do, as far as manifest and clock tell.
func (m *memo) settled(manifest *model.Manifest, settings *Settings, nowUnix int64) bool {
	n, memoFor := &m.notes, seconds(settings.MemoFor)
	if n.Empty {
		memoFor = max(model.EmptyForSeconds, memoFor)
	}
	return manifest != nil && n.Ledger != "" && !n.Constrained && n.Epoch == manifest.Epoch && n.Seq == manifest.HeadSeq &&
		n.WatcherAhead.Of(*manifest, nowUnix) <= maxClockOffset && nowUnix-n.AtUnix < memoFor && (n.DueUnix == 0 || nowUnix < n.DueUnix)
}

// hintMissing reports whether a check that is due at a time is worth a hint and none is underway that comes by then.
func (m *memo) hintMissing(dueUnix, nowUnix int64) bool {
	if dueUnix == 0 || dueUnix-nowUnix > seconds(farthest) {
		return false
	}
	return m.notes.HintUnix <= nowUnix || m.notes.HintUnix > max(dueUnix, nowUnix+1)
}
