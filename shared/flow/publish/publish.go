package publish

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
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

// publishDue reports whether the state is to be published now, though nothing is on its way.
func (f *Publisher) publishDue(now time.Time) bool {
	switch {
	case f.manifest.SnapshotKey == "":
		return true
	case f.pending != nil && f.pending.seq > f.head:
		return true
	case f.pending == nil && f.old(now):
		return true
	}
	return !f.dirtySince.IsZero() && !now.Before(f.dirtySince.Add(f.settings.IdleWindow))
}

// old reports whether the full snapshot has been there for long.
func (f *Publisher) old(now time.Time) bool { return !now.Before(f.snapshotAt.Add(f.settings.MaxAge)) }

// begin fixes what is published next: a full snapshot where there is none, or where deltas are many or it is old and nobody waits.
func (f *Publisher) begin(now time.Time) {
	p := &publication{seq: f.head + 1, began: now}
	many := f.deltas >= f.settings.MaxDeltas || f.deltaBytes >= f.settings.MaxDeltaBytes || f.old(now)
	hurry := f.pending != nil && f.deltas < 10*f.settings.MaxDeltas
	if p.full = f.manifest.SnapshotKey == "" || f.whole || many && !hurry; p.full {
		s := f.state.snapshot()
		s.Cluster, s.Epoch, s.Seq, s.AtUnix = f.config.Cluster, f.epoch, p.seq, now.Unix()
		p.what = s
	} else {
		d := f.state.delta()
		d.Cluster, d.Epoch, d.Seq, d.AtUnix = f.config.Cluster, f.epoch, p.seq, now.Unix()
		p.what = d
	}
	f.dirtySince, f.whole = time.Time{}, false
	f.publishing = p
}

// publish carries what is on its way on from where it came to. Conflict where another replica leads.
func (f *Publisher) publish(ctx context.Context) error {
	p := f.publishing
	if err := p.encode(&f.compressor); err != nil {
		f.abandon()
		return err
	}
	if !p.stored {
		if err := f.store(ctx, p); err != nil {
			return err
		}
		p.stored = true
	}
	manifest := f.manifest
	manifest.HeadSeq = p.seq
	if p.full {
		manifest.SnapshotKey, manifest.SnapshotSeq = p.key, p.seq
	}
	if err := f.point(ctx, manifest, p.began); err != nil {
		return err
	}
	f.arrived(p)
	return nil
}

// abandon takes back a publication that cannot be encoded. What it took of the changes is known to nobody any more, so the
// next one is a full snapshot.
func (f *Publisher) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publishing, f.whole, f.dirtySince = nil, true, f.config.Now()
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

func (f *Publisher) store(ctx context.Context, p *publication) (err error) {
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	if p.full {
		p.key, err = f.config.Publisher.PutSnapshot(ctx, f.config.Cluster, f.epoch, p.seq, p.data)
		return err
	}
	return f.config.Publisher.PutDelta(ctx, f.config.Cluster, f.epoch, p.seq, p.data)
}

// point moves the manifest to a state that was so at a time, which is a heartbeat of that time: where storing it took minutes, whoever goes
// by it must know that it is as old as that.
func (f *Publisher) point(ctx context.Context, manifest model.Manifest, asOf time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	now := f.config.Now()
	manifest.WrittenUnix, manifest.HeartbeatAt = now.Unix(), asOf.Unix()
	lost, err := f.config.Manifests.AdvanceManifest(ctx, manifest)
	if err != nil {
		return err
	}
	lost = lost && manifest.Epoch == f.manifest.Epoch && manifest.SnapshotSeq == f.manifest.SnapshotSeq // else it is of another full snapshot than this one
	f.manifest, f.heartbeatAt = manifest, now
	f.renew(lost)
	return nil
}

func (f *Publisher) arrived(p *publication) {
	f.head, f.publishing = p.seq, nil
	note := Note{What: "delta", Epoch: f.epoch, Seq: p.seq, Bytes: len(p.data), Waiting: f.PendingPods()}
	if p.full {
		note.What = "snapshot"
		f.deltas, f.deltaBytes, f.snapshotAt = 0, 0, f.config.Now()
		f.keptAt = f.snapshotAt
	} else {
		f.deltas++
		f.deltaBytes += len(p.data)
	}
	f.log(note)
}

// keep publishes a full snapshot anew where the one that is published is gone: nobody could read the cluster's state until the next one is due, and
// nothing would be disrupted.
func (f *Publisher) keep(ctx context.Context) {
	if f.publishing != nil || f.manifest.SnapshotKey == "" || f.config.Now().Before(f.nextKeep()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	kept, err := f.config.Publisher.Kept(ctx, f.manifest.SnapshotKey)
	f.mu.Lock()
	f.keptAt = f.config.Now()
	if err == nil && !kept {
		f.whole, f.dirtySince = true, f.keptAt
		err = fault.New(fault.NotFound, "", "%s is missing, and is published again", f.manifest.SnapshotKey)
	}
	f.mu.Unlock()
	if err != nil {
		f.problem("check what was published", err)
	}
}

// nextKeep is when the full snapshot is looked for next.
func (f *Publisher) nextKeep() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keptAt.Add(f.keepEvery())
}

// keepEvery is how often the full snapshot is looked for: each eighth heartbeat. It is called with the lock held.
func (f *Publisher) keepEvery() time.Duration { return 8 * f.heartbeatEvery() }

// heartbeat says that the watcher lives. It is left out while publishing fails: a watcher whose state reaches nobody is as
// good as dead, and the functions then list the cluster themselves.
func (f *Publisher) heartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	now := f.config.Now()
	lost, err := f.config.Manifests.Heartbeat(ctx, f.config.Cluster, f.epoch, now.Unix())
	if err != nil {
		return err
	}
	f.heartbeatAt = now
	f.renew(lost)
	return nil
}

// renew has the state published whole where somebody found that an object of what is published is gone: at most once in a while, whatever
// is said. Who is not heard for that is heard with the next heartbeat, or says so again of the next manifest.
func (f *Publisher) renew(lost bool) {
	f.mu.Lock()
	now := f.config.Now()
	lost = lost && (f.renewedAt.IsZero() || !now.Before(f.renewedAt.Add(f.settings.RenewEvery)))
	if lost {
		f.renewedAt, f.whole, f.dirtySince = now, true, now
	}
	f.mu.Unlock()
	if lost {
		f.problem("check what was published", fault.New(fault.NotFound, "", "an object of snapshot %d/%d is missing, and a full snapshot is published",
			f.manifest.Epoch, f.manifest.HeadSeq))
	}
}
