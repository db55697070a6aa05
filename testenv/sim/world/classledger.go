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
	if stored := b.classes[record.Name]; stored.Version != record.Version {
		return record, fault.New(fault.Conflict, "ClassChanged", "the record of class %s is at version %d, not %d", record.Name, stored.Version, record.Version)
	}
	record.Version++
	b.classes[record.Name] = record
	l.note(LedgerWritten{Cluster: cluster, Op: "class"})
	return record, nil
}

// DeleteClass removes a class record on condition of its version.
func (l *Ledger) DeleteClass(_ context.Context, cluster string, record model.ClassRecord) error {
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

// ZonesLedger is the part of a ledger that has zonal shifts.
type ZonesLedger struct{ *Ledger }

// Shifts returns the zonal shifts that were recorded last.
func (l ZonesLedger) Shifts(_ context.Context, cluster string) (model.ZonalShifts, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items(cluster).shifts, nil
}

// PutShifts writes them on condition of their version.
func (l ZonesLedger) PutShifts(_ context.Context, cluster string, shifts model.ZonalShifts) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	if b.shifts.Version != shifts.Version {
		return fault.New(fault.Conflict, "ShiftsChanged", "the zonal shifts are at version %d, not %d",
			b.shifts.Version, shifts.Version)
	}
	shifts.Version++
	b.shifts = shifts
	l.note(LedgerWritten{Cluster: cluster, Op: "shifts"})
	return nil
}
