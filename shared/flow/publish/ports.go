package publish

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/wire"
)

// SnapshotStore stores encoded snapshots. The flow never gives two different contents for one epoch and sequence
// number, and repeats the same bytes until it succeeds.
type SnapshotStore interface {
	// PutSnapshot stores a full snapshot and returns its key. Repeating it with the same bytes is no error.
	PutSnapshot(ctx context.Context, cluster string, epoch, seq int64, data []byte) (key string, err error)
	// PutDelta stores a delta. Repeating it with the same bytes is no error.
	PutDelta(ctx context.Context, cluster string, epoch, seq int64, data []byte) error
	// Kept reports whether the object of that key is still there.
	Kept(ctx context.Context, key string) (bool, error)
}

// Manifests is the ledger's record of the newest snapshot, and the watcher's heartbeat.
type Manifests interface {
	// NextEpoch returns an epoch greater than any before it.
	NextEpoch(ctx context.Context, cluster, owner string) (int64, error)
	// AdvanceManifest moves the manifest. Conflict where it is of a later epoch. Repeating it is no error. lost reports
	// that somebody found an object gone which the manifest named until now; of the new one nobody has said so.
	AdvanceManifest(ctx context.Context, manifest model.Manifest) (lost bool, err error)
	// Heartbeat says that the watcher of the epoch lives. Conflict where the manifest is of another epoch, NotFound
	// where there is none. lost reports that somebody found an object gone which the manifest names, until the manifest
	// moves.
	Heartbeat(ctx context.Context, cluster string, epoch, unix int64) (lost bool, err error)
}

// Previous reads what was published last, by whoever led then.
type Previous interface {
	// Previous returns the cluster's newest snapshot. NotFound where there is none.
	Previous(ctx context.Context, cluster string) (*model.Snapshot, error)
}

// NewestSnapshot is a Former that reads the manifest in the ledger and the snapshot it points at. It keeps nothing of
// them.
type NewestSnapshot struct {
	Ledger interface {
		// Manifest returns the cluster's snapshot manifest; nil where nothing was published yet.
		Manifest(ctx context.Context, cluster string) (*model.Manifest, error)
	}
	Snapshots port.Snapshots
}

// Previous returns the cluster's newest snapshot.
func (n NewestSnapshot) Previous(ctx context.Context, cluster string) (*model.Snapshot, error) {
	manifest, err := n.Ledger.Manifest(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if manifest == nil {
		return nil, fault.New(fault.NotFound, "", "nothing of cluster %s was published yet", cluster)
	}
	return n.Snapshots.SnapshotAt(ctx, *manifest)
}

// Queue takes hints.
type Queue interface {
	// Send puts a hint into the queue. The same hint again, after an answer that was lost, adds nothing.
	Send(ctx context.Context, hint wire.Hint) error
}
