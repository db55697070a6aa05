package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// PutClass writes a class record on condition of its version.
func (l *Ledger) PutClass(_ context.Context, cluster string, record model.ClassRecord) (model.ClassRecord, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	stored := b.classes[record.Name]
	if stored.Version != record.Version {
		return record, fault.New(fault.Conflict, "ClassChanged", "the record of class %s is at version %d, not %d", record.Name, stored.Version, record.Version)
	}
	record.Version++
	b.classes[record.Name] = record
	written := LedgerWritten{Cluster: cluster, Op: "class"}
	if ready := len(record.Status.Problems) == 0; ready && (stored.Version == 0 || len(stored.Status.Problems) > 0) {
		written.Ready = record.Name
	}
	l.note(written)
	return record, nil
}

// DropClass removes a class record on condition of its version.
func (l *Ledger) DropClass(_ context.Context, cluster string, record model.ClassRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	stored, there := b.classes[record.Name]
	if there && stored.Version != record.Version {
		return fault.New(fault.Conflict, "ClassChanged", "the record of class %s is at version %d, not %d", record.Name, stored.Version, record.Version)
	}
	delete(b.classes, record.Name)
	l.note(LedgerWritten{Cluster: cluster, Op: "dropclass"})
	return nil
}
