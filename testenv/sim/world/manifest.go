package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// NextEpoch counts the cluster's epoch up and returns it.
func (l *Ledger) NextEpoch(_ context.Context, cluster, _ string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	b.epoch++
	return b.epoch, nil
}

// AdvanceManifest moves the snapshot manifest. Conflict where it is of a later epoch, or of the same and further on. It
// reports whether the one there was had been flagged, and leaves no flag.
func (l *Ledger) AdvanceManifest(_ context.Context, manifest model.Manifest) (lost bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(manifest.Cluster)
	if at := b.manifest; at != nil && (at.Epoch > manifest.Epoch || at.Epoch == manifest.Epoch && at.HeadSeq > manifest.HeadSeq) {
		return false, fault.New(fault.Conflict, "", "the snapshot pointer of cluster %s is at %d/%d", manifest.Cluster, at.Epoch, at.HeadSeq)
	}
	lost, manifest.Lost = b.manifest != nil && b.manifest.Lost, false
	b.manifest = &manifest
	l.note(ManifestMoved{Cluster: manifest.Cluster, Epoch: manifest.Epoch, Seq: manifest.HeadSeq})
	return lost, nil
}

// Heartbeat says that the watcher of the epoch lived at unix, and reports whether the manifest is flagged.
func (l *Ledger) Heartbeat(_ context.Context, cluster string, epoch, unix int64) (lost bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	switch {
	case b.manifest == nil:
		return false, fault.New(fault.NotFound, "", "cluster %s has no snapshot yet", cluster)
	case b.manifest.Epoch != epoch:
		return false, fault.New(fault.Conflict, "", "the snapshot of cluster %s is of epoch %d", cluster, b.manifest.Epoch)
	}
	moved := *b.manifest
	moved.HeartbeatAt = unix
	b.manifest = &moved
	l.note(ManifestMoved{Cluster: cluster, Epoch: moved.Epoch, Seq: moved.HeadSeq})
	return moved.Lost, nil
}

// Losses is a ledger in memory as whoever reads snapshots sees it.
type Losses struct{ Ledger *Ledger }

// Lost flags the manifest as one that names an object which is gone, once, and where it has not moved on.
func (o Losses) Lost(_ context.Context, manifest model.Manifest) error {
	l := o.Ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(manifest.Cluster)
	if b.manifest != nil && b.manifest.Epoch == manifest.Epoch && b.manifest.HeadSeq == manifest.HeadSeq {
		flagged := *b.manifest
		flagged.Lost = true
		b.manifest = &flagged
	}
	return nil
}

// lossPort passes the process's gate.
type lossPort struct{ *Ports }

func (p lossPort) Lost(ctx context.Context, manifest model.Manifest) error {
	return do(ctx, p.Ports, "ledger.lost", func() error { return Losses{p.world.Ledger}.Lost(ctx, manifest) })
}

// Manifest returns the cluster's snapshot manifest; nil where nothing was published yet.
func (l *Ledger) Manifest(_ context.Context, cluster string) (*model.Manifest, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items(cluster).manifest, nil
}
