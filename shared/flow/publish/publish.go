package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

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
	f.arrived(p, f.config.Now())
	note := Note{What: "delta", Seq: p.seq, Bytes: len(p.data), Waiting: f.PendingPods()}
	if p.full {
		note.What = "snapshot"
	}
	f.log(note)
	return nil
}

// abandon takes back a publication that cannot be encoded. What it took of the changes is known to nobody any more, so
// the next one is a full snapshot.
func (f *Publisher) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publishing, f.whole, f.dirtySince = nil, true, f.config.Now()
}

func (f *Publisher) store(ctx context.Context, p *publication) error {
	return f.call(ctx, func(ctx context.Context) (err error) {
		if p.full {
			p.key, err = f.config.Publisher.PutSnapshot(ctx, f.config.Cluster, f.epoch, p.seq, p.data)
			return err
		}
		return f.config.Publisher.PutDelta(ctx, f.config.Cluster, f.epoch, p.seq, p.data)
	})
}

// point moves the manifest to a state that was so at a time, which is a heartbeat of that time: where storing it took
// minutes, whoever goes by it must know that it is as old as that.
func (f *Publisher) point(ctx context.Context, manifest model.Manifest, asOf time.Time) (err error) {
	now, lost := f.config.Now(), false
	manifest.WrittenUnix, manifest.HeartbeatAt = now.Unix(), asOf.Unix()
	err = f.call(ctx, func(ctx context.Context) error {
		lost, err = f.config.Manifests.AdvanceManifest(ctx, manifest)
		return err
	})
	if err != nil {
		return err
	}
	lost = lost && manifest.Epoch == f.manifest.Epoch && manifest.SnapshotSeq == f.manifest.SnapshotSeq // else it is of another full snapshot than this one
	f.manifest, f.heartbeatAt = manifest, now
	f.renew(lost)
	return nil
}

// keep publishes a full snapshot anew where the one that is published is gone: nobody could read the cluster's state
// until the next one is due, and nothing would be disrupted.
func (f *Publisher) keep(ctx context.Context) {
	if f.publishing != nil || f.manifest.SnapshotKey == "" || f.config.Now().Before(f.keptAt.Add(f.every((*gathered).keepEvery))) {
		return
	}
	kept := false
	err := f.call(ctx, func(ctx context.Context) (err error) {
		kept, err = f.config.Publisher.Kept(ctx, f.manifest.SnapshotKey)
		return err
	})
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

// every is how often something is done for what was observed.
func (f *Publisher) every(of func(*gathered) time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return of(&f.gathered)
}

// heartbeat says that the watcher lives. It is left out while publishing fails: a watcher whose state reaches nobody is
// as good as dead, and the functions then list the cluster themselves.
func (f *Publisher) heartbeat(ctx context.Context) (err error) {
	now, lost := f.config.Now(), false
	err = f.call(ctx, func(ctx context.Context) error {
		lost, err = f.config.Manifests.Heartbeat(ctx, f.config.Cluster, f.epoch, now.Unix())
		return err
	})
	if err != nil {
		return err
	}
	f.heartbeatAt = now
	f.renew(lost)
	return nil
}

// renew has the state published whole where somebody found that an object of what is published is gone: at most once in
// a while, whatever is said. Who is not heard for that is heard with the next heartbeat, or says so again of the next
// manifest.
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

// inherit takes over what an earlier leader has published of when pods came to nodes and left them. Where that cannot
// be read, what it has seen itself has to do.
func (f *Publisher) inherit(ctx context.Context) {
	if f.config.Previous == nil {
		return
	}
	var former *model.Snapshot
	err := f.call(ctx, func(ctx context.Context) (err error) {
		former, err = f.config.Previous.Previous(ctx, f.config.Cluster)
		return err
	})
	switch {
	case fault.Is(err, fault.NotFound):
	case err != nil:
		f.problem("read what was published before", fmt.Errorf("the times at which pods were bound to nodes and left them are known from now on only: %w", err))
	default:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.state.inherit(former)
	}
}
