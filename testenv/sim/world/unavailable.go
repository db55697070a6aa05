package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// MarkUnavailable notes offers without capacity.
func (l *Ledger) MarkUnavailable(_ context.Context, reg model.Registration, unavailableOfferings []model.UnavailableOffering) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.unavailableOfferings[scope(reg)]
	if kept == nil {
		kept = map[model.UnavailableOffering]model.UnavailableOffering{}
		l.unavailableOfferings[scope(reg)] = kept
	}
	var stored []model.UnavailableOffering
	for _, m := range unavailableOfferings {
		before, known := kept[m.About()]
		if known && !before.Forgotten(m.AtUnix) &&
			(before.Failures > m.Failures || before.Failures == m.Failures && before.UntilUnix >= m.UntilUnix) {
			continue
		}
		kept[m.About()] = m
		stored = append(stored, m)
	}
	l.note(LedgerWritten{Op: "mark", Unavailable: stored})
	return nil
}

// TakeProbe takes the probe of a mark.
func (l *Ledger) TakeProbe(_ context.Context, reg model.Registration, unavailable model.UnavailableOffering, untilUnix int64) (model.UnavailableOffering, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stored, ok := l.unavailableOfferings[scope(reg)][unavailable.About()]
	if !ok || stored.UntilUnix != unavailable.UntilUnix || stored.Failures != unavailable.Failures {
		return unavailable, fault.New(fault.Conflict, "ProbeTaken", "the mark of %v has changed", unavailable.About())
	}
	stored.UntilUnix, stored.ForgetUnix = untilUnix, max(stored.ForgetUnix, untilUnix)
	l.unavailableOfferings[scope(reg)][unavailable.About()] = stored
	l.note(LedgerWritten{Op: "probe", Unavailable: []model.UnavailableOffering{stored}})
	return stored, nil
}

// Clear removes a mark that is still as given.
func (l *Ledger) Clear(_ context.Context, reg model.Registration, unavailable model.UnavailableOffering) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if stored, ok := l.unavailableOfferings[scope(reg)][unavailable.About()]; ok && stored.UntilUnix == unavailable.UntilUnix && stored.Failures == unavailable.Failures {
		delete(l.unavailableOfferings[scope(reg)], unavailable.About())
		l.note(LedgerWritten{Op: "clear", Cleared: []model.UnavailableOffering{stored}})
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
		return lostLease(fence)
	}
	l.items(fence.Cluster).notes = notes
	l.note(LedgerWritten{Cluster: fence.Cluster, Op: "remember", Fence: &fence, Replaced: notes.Replaced})
	return nil
}
