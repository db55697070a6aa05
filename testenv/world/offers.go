package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Mark notes offers without capacity.
func (l *Ledger) Mark(_ context.Context, reg model.Registration, marks []model.Mark) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.marks[scope(reg)]
	if kept == nil {
		kept = map[model.Mark]model.Mark{}
		l.marks[scope(reg)] = kept
	}
	var stored []model.Mark
	for _, m := range marks {
		before, known := kept[m.About()]
		if known && !before.Forgotten(m.AtUnix) &&
			(before.Failures > m.Failures || before.Failures == m.Failures && before.UntilUnix >= m.UntilUnix) {
			continue
		}
		kept[m.About()] = m
		stored = append(stored, m)
	}
	l.note(LedgerWritten{Op: "mark", Marks: stored})
	return nil
}

// Probe takes the probe of a mark.
func (l *Ledger) Probe(_ context.Context, reg model.Registration, mark model.Mark, untilUnix int64) (model.Mark, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stored, ok := l.marks[scope(reg)][mark.About()]
	if !ok || stored.UntilUnix != mark.UntilUnix || stored.Failures != mark.Failures {
		return mark, fault.New(fault.Conflict, "ProbeTaken", "the mark of %v has changed", mark.About())
	}
	stored.UntilUnix, stored.ForgetUnix = untilUnix, max(stored.ForgetUnix, untilUnix)
	l.marks[scope(reg)][mark.About()] = stored
	l.note(LedgerWritten{Op: "probe", Marks: []model.Mark{stored}})
	return stored, nil
}

// Clear removes a mark that is still as given.
func (l *Ledger) Clear(_ context.Context, reg model.Registration, mark model.Mark) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if stored, ok := l.marks[scope(reg)][mark.About()]; ok && stored.UntilUnix == mark.UntilUnix && stored.Failures == mark.Failures {
		delete(l.marks[scope(reg)], mark.About())
		l.note(LedgerWritten{Op: "clear", Cleared: []model.Mark{stored}})
	}
	return nil
}

// Allowance returns what is left of EC2's API for the account and region.
func (l *Ledger) Allowance(_ context.Context, reg model.Registration) (model.Allowance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.allowances[scope(reg)], nil
}

// Spend writes the allowance on condition of its version.
func (l *Ledger) Spend(_ context.Context, reg model.Registration, allowance model.Allowance) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if stored := l.allowances[scope(reg)].Version; stored != allowance.Version {
		return fault.New(fault.Conflict, "AllowanceChanged", "the allowance is at version %d, not %d", stored, allowance.Version)
	}
	allowance.Version++
	l.allowances[scope(reg)] = allowance
	l.note(LedgerWritten{Op: "spend"})
	return nil
}

// Remember replaces the planner's notes under the fence.
func (l *Ledger) Remember(_ context.Context, fence model.Fence, notes model.Notes) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.holds(fence) {
		return deposed(fence)
	}
	l.book(fence.Cluster).notes = notes
	l.note(LedgerWritten{Cluster: fence.Cluster, Op: "remember", Fence: &fence, Replaced: notes.Replaced})
	return nil
}
