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

// AdvancePointer moves the snapshot pointer. Conflict where it is of a later epoch, or of the same and further on.
func (l *Ledger) AdvancePointer(_ context.Context, pointer model.Pointer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.book(pointer.Cluster)
	if at := b.pointer; at != nil && (at.Epoch > pointer.Epoch || at.Epoch == pointer.Epoch && at.HeadSeq > pointer.HeadSeq) {
		return fault.New(fault.Conflict, "", "the snapshot pointer of cluster %s is at %d/%d", pointer.Cluster, at.Epoch, at.HeadSeq)
	}
	b.pointer = &pointer
	l.note(PointerMoved{Cluster: pointer.Cluster, Epoch: pointer.Epoch, Seq: pointer.HeadSeq})
	return nil
}

// Heartbeat says that the watcher of the epoch lived at unix.
func (l *Ledger) Heartbeat(_ context.Context, cluster string, epoch, unix int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.book(cluster)
	switch {
	case b.pointer == nil:
		return fault.New(fault.NotFound, "", "cluster %s has no snapshot yet", cluster)
	case b.pointer.Epoch != epoch:
		return fault.New(fault.Conflict, "", "the snapshot of cluster %s is of epoch %d", cluster, b.pointer.Epoch)
	}
	moved := *b.pointer
	moved.HeartbeatAt = unix
	b.pointer = &moved
	l.note(PointerMoved{Cluster: cluster, Epoch: moved.Epoch, Seq: moved.HeadSeq})
	return nil
}

// Pointer returns the cluster's snapshot pointer; nil where nothing was published yet.
func (l *Ledger) Pointer(_ context.Context, cluster string) (*model.Pointer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book(cluster).pointer, nil
}
