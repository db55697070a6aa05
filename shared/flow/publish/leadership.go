package publish

import (
	"maps"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// publication is a state on its way out. Its bytes are fixed: an attempt whose answer was lost may have stored them.
type publication struct {
	full   bool
	seq    int64
	data   []byte // nil until encoded
	what   any    // *model.Snapshot or *wire.Delta
	stored bool
	key    string    // of a full snapshot
	began  time.Time // when the state was as it says
}

func (p *publication) encode(with *wire.Compressor) (err error) {
	if p.data != nil {
		return nil
	}
	switch what := p.what.(type) {
	case *model.Snapshot:
		p.data, err = wire.EncodeSnapshot(what)
	case *wire.Delta:
		p.data, err = with.EncodeDelta(what)
	}
	if err == nil {
		p.what = nil // the rows need not be kept twice
	}
	return err
}

// leadership is how far one replica has come while it leads.
type leadership struct {
	epoch        int64
	head         int64 // sequence number published last
	number       int64 // of the last hint
	manifest     model.Manifest
	snapshotAt   time.Time // when the full snapshot was published
	deltas       int       // since then
	deltaBytes   int
	publishing   *publication
	whole        bool      // the next publication must be a full snapshot: what was taken for the last one is known to nobody, or the full snapshot is gone
	keptAt       time.Time // when the full snapshot was last seen to be there
	renewedAt    time.Time // when a full snapshot was last called for because others found an object gone; zero = never
	heartbeatAt  time.Time
	publishPause pause
	hintPause    pause
}

// seqOfNow returns the sequence number that the state of this moment has or will have.
func (l *leadership) seqOfNow(g *gathered) int64 {
	seq := l.head
	if l.publishing != nil {
		seq = l.publishing.seq
	}
	if !g.dirtySince.IsZero() || seq == 0 {
		seq++
	}
	return seq
}

// publishDue reports whether the state is to be published now, though nothing is on its way.
func (l *leadership) publishDue(g *gathered, now time.Time) bool {
	switch {
	case l.manifest.SnapshotKey == "":
		return true
	case g.pending != nil && g.pending.seq > l.head:
		return true
	case g.pending == nil && l.old(g.settings, now):
		return true
	}
	return !g.dirtySince.IsZero() && !now.Before(g.dirtySince.Add(g.settings.IdleWindow))
}

// old reports whether the full snapshot has been there for long.
func (l *leadership) old(s *Settings, now time.Time) bool {
	return !now.Before(l.snapshotAt.Add(s.MaxAge))
}

// begin fixes what is published next: a full snapshot where there is none, or where deltas are many or it is old and
// nobody waits.
func (l *leadership) begin(g *gathered, cluster string, now time.Time) {
	p := &publication{seq: l.head + 1, began: now}
	many := l.deltas >= g.settings.MaxDeltas || l.deltaBytes >= g.settings.MaxDeltaBytes || l.old(g.settings, now)
	hurry := g.pending != nil && l.deltas < 10*g.settings.MaxDeltas
	if p.full = l.manifest.SnapshotKey == "" || l.whole || many && !hurry; p.full {
		s := g.state.snapshot()
		s.Cluster, s.Epoch, s.Seq, s.AtUnix = cluster, l.epoch, p.seq, now.Unix()
		p.what = s
	} else {
		d := g.state.delta()
		d.Cluster, d.Epoch, d.Seq, d.AtUnix = cluster, l.epoch, p.seq, now.Unix()
		p.what = d
	}
	g.dirtySince, l.whole = time.Time{}, false
	l.publishing = p
}

// arrived notes that what was on its way is published.
func (l *leadership) arrived(p *publication, now time.Time) {
	l.head, l.publishing = p.seq, nil
	if p.full {
		l.deltas, l.deltaBytes, l.snapshotAt, l.keptAt = 0, 0, now, now
		return
	}
	l.deltas++
	l.deltaBytes += len(p.data)
}

// nextHint returns a hint over the published state that asks for something since first and is closed now.
func (l *leadership) nextHint(cluster string, reason wire.HintReason, first, now time.Time) wire.Hint {
	l.number++
	return wire.Hint{
		Cluster: cluster, Epoch: l.epoch, Seq: l.head, Number: l.number, Reason: reason,
		SentAtMillis: now.UnixMilli(), FirstSeenMillis: first.UnixMilli(), ClosedMillis: now.UnixMilli(),
	}
}

// batchHint returns the pending hint, over the published state; nil where nothing of it waits any more.
func (l *leadership) batchHint(g *gathered, cluster string, now time.Time) *wire.Hint {
	o := g.pending
	if o.hint != nil && o.hint.Seq == l.head {
		return o.hint
	}
	reason, pods := o.reason, []model.PodRef(nil)
	for _, key := range slices.Sorted(maps.Keys(o.pods)) {
		if w := g.pods[key]; w != nil {
			pods = append(pods, w.ref)
		}
	}
	if reason == wire.ReasonBatch && len(pods) == 0 && len(o.nodes) == 0 {
		if !o.headroom { // which the pods may have taken
			return nil
		}
		reason = wire.ReasonHeadroom
	}
	hint := l.nextHint(cluster, reason, o.first, now)
	hint.ClosedMillis, hint.Pods = o.closed.UnixMilli(), pods
	o.hint = &hint
	return o.hint
}
