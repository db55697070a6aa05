package world

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// keptCommand is how long the ledger keeps a command that has ended.
const keptCommand = 24 * time.Hour

// keptCommands returns the commands that are kept at a time, by id.
func keptCommands(commands map[string]model.Command, nowUnix int64) []model.Command {
	var out []model.Command
	for _, id := range slices.Sorted(maps.Keys(commands)) {
		if c := commands[id]; c.State.Open() || nowUnix < c.EndedUnix+int64(keptCommand.Seconds()) {
			out = append(out, c)
		}
	}
	return out
}

// setCommand stores a command.
func (b *clusterItems) setCommand(command model.Command) {
	change := CommandChange{After: &command}
	if before, known := b.commands[command.ID]; known {
		change.Before = &before
	}
	b.undo.commands = remember(b.undo.commands, b.commands, command.ID)
	b.commands[command.ID] = command
	delete(b.spoilt, spoiltItem{model.UnreadCommand, command.ID})
	b.written.Commands = append(b.written.Commands, change)
}

// Commit writes a new command, its id into its targets' claims, and its pools' next turns.
func (l *Ledger) Commit(_ context.Context, fence model.Fence, command model.Command, claims []model.Claim, budgetVersions []model.BudgetVersion) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.commit(fence.Cluster, "commit", &fence)
	if err := command.CheckCommit(claims, budgetVersions); err != nil {
		return fault.Wrap(fault.Invalid, "CommandInvalid", err, "commit command %s", command.ID)
	}
	for i := range claims {
		if !claims[i].Free() {
			return fault.New(fault.Conflict, "ClaimBusy", "claim %s is %s and of command %q", claims[i].Name, claims[i].State, claims[i].Command)
		}
	}
	if !l.holds(fence) {
		return lostLease(fence)
	}
	b := l.items(fence.Cluster)
	if before, known := b.commands[command.ID]; known {
		if reflect.DeepEqual(before, command) {
			return nil
		}
		return fault.New(fault.Conflict, "CommandExists", "command %s is recorded already, and differs", command.ID)
	}
	if err := b.asGiven(claims); err != nil {
		return err
	}
	for _, budgetVersion := range budgetVersions {
		if stored := b.budgetVersions[budgetVersion.Pool]; stored.Version != budgetVersion.Version {
			return fault.New(fault.Conflict, "TurnTaken", "the turn of nodepool %s is %d, not %d", budgetVersion.Pool, stored.Version, budgetVersion.Version)
		}
	}
	b.setCommand(command)
	for _, claim := range claims {
		claim.Command = command.ID
		b.put(claim)
	}
	for _, budgetVersion := range budgetVersions {
		budgetVersion.Version++
		b.undo.budgetVersions = remember(b.undo.budgetVersions, b.budgetVersions, budgetVersion.Pool)
		b.budgetVersions[budgetVersion.Pool] = budgetVersion
		b.written.Turns = append(b.written.Turns, budgetVersion)
	}
	return nil
}

// asGiven returns a Conflict where a claim is not live at the version given.
func (b *clusterItems) asGiven(claims []model.Claim) error {
	for _, claim := range claims {
		if stored, known := b.claims[claim.Name]; !known || stored.Version != claim.Version || !stored.Live() {
			return fault.New(fault.Conflict, "ClaimChanged", "claim %s is not live at version %d", claim.Name, claim.Version)
		}
	}
	return nil
}

// AdvanceCommand writes an open command on condition of its version.
func (l *Ledger) AdvanceCommand(_ context.Context, fence model.Fence, command model.Command) (model.Command, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.commit(fence.Cluster, "step", &fence)
	if !command.State.Open() {
		return command, fault.New(fault.Invalid, "CommandEnds", "command %s is to be stepped on to state %s, which ends it", command.ID, command.State)
	}
	return l.moveCommand(fence, command, nil)
}

// End writes the last state of a command together with its claims, each on condition of its version.
func (l *Ledger) End(_ context.Context, fence model.Fence, command model.Command, claims []model.Claim) (model.Command, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.commit(fence.Cluster, "end", &fence)
	if err := command.CheckEnd(claims); err != nil {
		return command, fault.Wrap(fault.Invalid, "CommandInvalid", err, "end command %s", command.ID)
	}
	ended, err := l.moveCommand(fence, command.Over(), claims)
	if err != nil {
		return command, err
	}
	return ended, nil
}

func (l *Ledger) moveCommand(fence model.Fence, command model.Command, claims []model.Claim) (model.Command, error) {
	if !l.holds(fence) {
		return command, lostLease(fence)
	}
	b := l.items(fence.Cluster)
	if stored, known := b.commands[command.ID]; !known || stored.Version != command.Version || !stored.State.Open() {
		return command, fault.New(fault.Conflict, "CommandChanged", "command %s is not open at version %d", command.ID, command.Version)
	}
	if err := b.asGiven(claims); err != nil {
		return command, err
	}
	command.Version++
	b.setCommand(command)
	for _, claim := range claims {
		b.put(claim)
	}
	return command, nil
}

// Peek returns the watcher's manifest, the disruption function's notes and the time.
func (l *Ledger) Peek(_ context.Context, cluster string) (*model.Manifest, model.DisruptNotes, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	return b.manifest, b.disrupt, l.now().Unix(), nil
}

// Recall replaces the disruption function's notes on condition of their version.
func (l *Ledger) Recall(_ context.Context, fence model.Fence, notes model.DisruptNotes) (model.DisruptNotes, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.holds(fence) {
		return notes, lostLease(fence)
	}
	b := l.items(fence.Cluster)
	if b.disrupt.Version != notes.Version {
		return notes, fault.New(fault.Conflict, "NotesChanged", "the judge's notes are at version %d, not %d", b.disrupt.Version, notes.Version)
	}
	notes.Version++
	b.disrupt = notes
	l.note(LedgerWritten{Cluster: fence.Cluster, Op: "recall", Fence: &fence})
	return notes, nil
}

// Stop writes a stop. One of the same scope is replaced.
func (l *Ledger) Stop(_ context.Context, reg model.Registration, stop model.Stop) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := stop.Validate(); err != nil {
		return fault.Wrap(fault.Invalid, "StopInvalid", err, "%s", stop.What(reg))
	}
	if stop.Scope == model.StopRegion {
		l.stops[scope(reg)] = stop
	} else {
		l.items(reg.Cluster).stops[stop.Pool] = stop
	}
	l.note(StopMoved{Cluster: reg.Cluster, Stop: stop})
	return nil
}

// Resume removes the stop of the same scope, and of the same pool.
func (l *Ledger) Resume(_ context.Context, reg model.Registration, stop model.Stop) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := stop.Validate(); err != nil {
		return fault.Wrap(fault.Invalid, "StopInvalid", err, "%s", stop.What(reg))
	}
	if stop.Scope == model.StopRegion {
		delete(l.stops, scope(reg))
	} else {
		delete(l.items(reg.Cluster).stops, stop.Pool)
	}
	l.note(StopMoved{Cluster: reg.Cluster, Stop: stop, Over: true})
	return nil
}

// Stops returns every stop that holds for the cluster: its pools', its own, its account and region's.
func (l *Ledger) Stops(_ context.Context, reg model.Registration) ([]model.Stop, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopsOf(reg), nil
}

func (l *Ledger) stopsOf(reg model.Registration) []model.Stop {
	stops := slices.Collect(maps.Values(l.items(reg.Cluster).stops))
	if stop, known := l.stops[scope(reg)]; known {
		stops = append(stops, stop)
	}
	model.SortStops(stops)
	return stops
}
