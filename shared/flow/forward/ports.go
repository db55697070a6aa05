package forward

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Publisher stores encoded snapshots. The flow never gives two different contents for one epoch and sequence number, and
// repeats the same bytes until it succeeds.
type Publisher interface {
	// PutBase stores a base and returns its key. Repeating it with the same bytes is no error.
	PutBase(ctx context.Context, cluster string, epoch, seq int64, data []byte) (key string, err error)
	// PutSegment stores a segment. Repeating it with the same bytes is no error.
	PutSegment(ctx context.Context, cluster string, epoch, seq int64, data []byte) error
	// Kept reports whether the object of that key is still there.
	Kept(ctx context.Context, key string) (bool, error)
}

// Pointer is the ledger's record of the newest snapshot, and the watcher's sign of life.
type Pointer interface {
	// NextEpoch returns an epoch greater than any before it.
	NextEpoch(ctx context.Context, cluster, owner string) (int64, error)
	// AdvancePointer moves the pointer. Conflict where it is of a later epoch. Repeating it is no error. lost reports that somebody found an
	// object gone which the pointer named until now; of the new one nobody has said so.
	AdvancePointer(ctx context.Context, pointer model.Pointer) (lost bool, err error)
	// Heartbeat says that the watcher of the epoch lives. Conflict where the pointer is of another epoch, NotFound where
	// there is none. lost reports that somebody found an object gone which the pointer names, until the pointer moves.
	Heartbeat(ctx context.Context, cluster string, epoch, unix int64) (lost bool, err error)
}

// Former reads what was published last, by whoever led then.
type Former interface {
	// Former returns the cluster's newest snapshot. NotFound where there is none.
	Former(ctx context.Context, cluster string) (*model.Snapshot, error)
}

// Newest is a Former that reads the pointer in the ledger and the snapshot it points at. It keeps nothing of them.
type Newest struct {
	Ledger interface {
		// Pointer returns the cluster's snapshot pointer; nil where nothing was published yet.
		Pointer(ctx context.Context, cluster string) (*model.Pointer, error)
	}
	Snapshots interface {
		// At returns the snapshot that a pointer points at.
		At(ctx context.Context, pointer model.Pointer) (*model.Snapshot, error)
	}
}

// Former returns the cluster's newest snapshot.
func (n Newest) Former(ctx context.Context, cluster string) (*model.Snapshot, error) {
	pointer, err := n.Ledger.Pointer(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if pointer == nil {
		return nil, fault.New(fault.NotFound, "", "nothing of cluster %s was published yet", cluster)
	}
	return n.Snapshots.At(ctx, *pointer)
}

// Queue takes hints.
type Queue interface {
	// Send puts a hint into the queue. The same hint again, after an answer that was lost, adds nothing.
	Send(ctx context.Context, hint wire.Hint) error
}
