package disrupt

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// Ledger is the ledger, as far as the disruption function reads it.
type Ledger interface {
	port.Ledger // with commands, turns, stops and the failed replacements of open commands (Spent)
	// Peek reads the watcher's manifest (nil = no watcher was ever here) and the disruption function's notes, consistently, and the ledger's
	// own time: what it takes to know that there is nothing to do.
	Peek(ctx context.Context, cluster string) (manifest *model.Manifest, notes model.DisruptNotes, nowUnix int64, err error)
	// Recall replaces the disruption function's notes, on condition that the fence is the newest of its lease and that the stored ones have the
	// Version given, and returns them with the next one. Conflict otherwise, and nothing was written.
	Recall(ctx context.Context, fence model.Fence, notes model.DisruptNotes) (model.DisruptNotes, error)
}

// Commands moves commands on. Every write carries a fence and commits only while that is the newest of its lease: otherwise
// Conflict, and nothing was written.
type Commands interface {
	// Commit writes the command (state Committed, Version 1), its id into Claim.Command of each of its targets' claims (given at
	// the versions they were evaluated at: live, in no command, not ending), and each pool's next turn, in one transaction, on
	// condition that every claim and turn has the version given and that no command of that id is there. At most
	// MaxCommandNodes claims. Conflict otherwise: with code ClaimBusy where a claim is given that is not free, ClaimChanged,
	// TurnTaken, CommandExists, FenceLost. Invalid where claims or turns are not those of its targets. Committing the very same
	// command again changes nothing and is no error.
	Commit(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim, budgetVersions []model.BudgetVersion) error
	// AdvanceCommand writes an open command on condition of its Version and returns it with the next. Conflict where it is not the stored
	// one, Invalid where it is not open.
	AdvanceCommand(ctx context.Context, fence model.Fence, command model.Command) (model.Command, error)
	// End writes the command (state Done or Undone) on condition of its Version, together with its claims, as given, each on
	// condition of its Version, in one transaction: Draining for its reason, or without Command. Conflict otherwise, and nothing
	// was written. EndedUnix is set; a target that is gone, or is another's end, is not among the claims. It returns the command with
	// its next version, and as it is kept, for a day from EndedUnix on: its replacements without what launching them takes.
	End(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim) (model.Command, error)
}

// Decisions keeps decision records.
type Decisions interface {
	// PutDisruption stores a decision under its id. Putting it again replaces it.
	PutDisruption(ctx context.Context, decision model.Disrupted) error
}

// Clients is an open cluster.
type Clients struct {
	Objects  Objects
	Reporter port.Reporter
	Alarms   Alarms
}

// Alarms is CloudWatch in the account and region of the cluster.
type Alarms interface {
	// AlarmStates returns the states of alarms by name, without those that do not exist. Denied where the function may
	// not read them.
	AlarmStates(ctx context.Context, names []string) (map[string]model.AlarmState, error)
}

// Objects is the API server, as far as the disruption function reads and writes it.
type Objects interface {
	port.NodePatcher
	// ReadNode reads a node live, with every pod on it. NotFound where the node of that UID is gone.
	ReadNode(ctx context.Context, node model.Object) (model.Occupied, error)
	// PDBs reads every PodDisruptionBudget live.
	PDBs(ctx context.Context) ([]model.PDB, error)
}
