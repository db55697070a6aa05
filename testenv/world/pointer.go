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
	b := l.book(cluster)
	b.epoch++
	return b.epoch, nil
}

// AdvancePointer moves the snapshot pointer. Conflict where it is of a later epoch, or of the same and further on. It
// reports whether the one there was had been flagged, and leaves no flag.
func (l *Ledger) AdvancePointer(_ context.Context, pointer model.Pointer) (lost bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.book(pointer.Cluster)
	if at := b.pointer; at != nil && (at.Epoch > pointer.Epoch || at.Epoch == pointer.Epoch && at.HeadSeq > pointer.HeadSeq) {
		return false, fault.New(fault.Conflict, "", "the snapshot pointer of cluster %s is at %d/%d", pointer.Cluster, at.Epoch, at.HeadSeq)
	}
	lost, pointer.Lost = b.pointer != nil && b.pointer.Lost, false
	b.pointer = &pointer
	l.note(PointerMoved{Cluster: pointer.Cluster, Epoch: pointer.Epoch, Seq: pointer.HeadSeq})
	return lost, nil
}

// Heartbeat says that the watcher of the epoch lived at unix, and reports whether the pointer is flagged.
func (l *Ledger) Heartbeat(_ context.Context, cluster string, epoch, unix int64) (lost bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.book(cluster)
	switch {
	case b.pointer == nil:
		return false, fault.New(fault.NotFound, "", "cluster %s has no snapshot yet", cluster)
	case b.pointer.Epoch != epoch:
		return false, fault.New(fault.Conflict, "", "the snapshot of cluster %s is of epoch %d", cluster, b.pointer.Epoch)
	}
	moved := *b.pointer
	moved.HeartbeatAt = unix
	b.pointer = &moved
	l.note(PointerMoved{Cluster: cluster, Epoch: moved.Epoch, Seq: moved.HeadSeq})
	return moved.Lost, nil
}

// Losses is a ledger in memory as whoever reads snapshots sees it.
type Losses struct{ Ledger *Ledger }

// Lost flags the pointer as one that names an object which is gone, once, and where it has not moved on.
func (o Losses) Lost(_ context.Context, pointer model.Pointer) error {
	l := o.Ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.book(pointer.Cluster)
	if b.pointer != nil && b.pointer.Epoch == pointer.Epoch && b.pointer.HeadSeq == pointer.HeadSeq {
		flagged := *b.pointer
		flagged.Lost = true
		b.pointer = &flagged
	}
	return nil
}

// lossPort passes the process's gate.
type lossPort struct{ *Ports }

func (p lossPort) Lost(ctx context.Context, pointer model.Pointer) error {
	return do(ctx, p.Ports, "ledger.lost", func() error { return Losses{p.world.Ledger}.Lost(ctx, pointer) })
}

// Pointer returns the cluster's snapshot pointer; nil where nothing was published yet.
func (l *Ledger) Pointer(_ context.Context, cluster string) (*model.Pointer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book(cluster).pointer, nil
}
