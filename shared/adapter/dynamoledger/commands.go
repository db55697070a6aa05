package dynamoledger

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Commands are disruption commands with their claims, and the notes of the function that decides them.
type Commands struct{ Claims }

// keepCommand is how long a command that ended is kept.
const keepCommand = 24 * time.Hour

// Where the writes of a command stand in a transaction; those of budget versions follow the claims.
const (
	leaseAt   = 0
	commandAt = 1
	claimsAt  = 2
)

// Commit writes a new command, its id into its targets' claims and its pools' next turns in one transaction under the
// fence: with the most nodes, each of a pool of its own, 82 items of the 100 a transaction has. Where the answer of an
// earlier try was lost and the very same command is stored already, there is nothing left to do and no error.
func (c Commands) Commit(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim,
	budgetVersions []model.BudgetVersion) error {
	if err := committable(command, claims, budgetVersions); err != nil {
		return err
	}
	put, err := c.putCommand(fence.Cluster, command, nothingIsThere, nil)
	if err != nil {
		return err
	}
	put.ReturnValuesOnConditionCheckFailure = returnOld
	owned := slices.Clone(claims)
	for i := range owned {
		owned[i].Command = command.ID
	}
	writes, err := c.withClaims(fence, put, owned)
	if err != nil {
		return err
	}
	for _, turn := range budgetVersions {
		entry := key(clusterPK(fence.Cluster), budgetVersionSK+turn.Pool)
		put := c.putNext(entry, "ver", turn.Version, nothingIsThere)
		writes = append(writes, types.TransactWriteItem{Put: put})
	}
	err = c.transact(ctx, writes)
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return lostLease(fence)
	case refused(reasons, commandAt) && sameDoc(reasons[commandAt].Item, put.Item):
		return nil
	case refused(reasons, commandAt):
		return fault.New(fault.Conflict, "CommandExists", "command %s is recorded already, and differs", command.ID)
	}
	if err := claimRefused(reasons, claims); err != nil {
		return err
	}
	for i, turn := range budgetVersions {
		if refused(reasons, claimsAt+len(claims)+i) {
			return fault.New(fault.Conflict, "TurnTaken",
				"another command of NodePool %s was committed since budget version %d",
				turn.Pool, turn.Version)
		}
	}
	return translate(err, "commit command %s", command.ID)
}

// committable returns why a command cannot be committed with these claims, whatever the ledger has; nil where it can.
func committable(command model.Command, claims []model.Claim, budgetVersions []model.BudgetVersion) error {
	if err := command.CheckCommit(claims, budgetVersions); err != nil {
		return fault.Wrap(fault.Invalid, "CommandInvalid", err, "commit command %s", command.ID)
	}
	for i := range claims {
		if !claims[i].Free() {
			return fault.New(fault.Conflict, "ClaimBusy", "claim %s is %s and belongs to command %q, not to command %s",
				claims[i].Name, claims[i].State, claims[i].Command, command.ID)
		}
	}
	return nil
}

// AdvanceCommand writes an open command on condition of its version under the fence.
func (c Commands) AdvanceCommand(ctx context.Context, fence model.Fence, command model.Command) (model.Command, error) {
	if !command.State.Open() {
		return command, fault.New(fault.Invalid, "CommandEnds", "use End to move command %s to the terminal state %s",
			command.ID, command.State)
	}
	return c.moveCommand(ctx, fence, command, nil, 0)
}

// End writes the last state of a command together with its claims, each on condition of its version, under the fence.
func (c Commands) End(ctx context.Context, fence model.Fence, command model.Command,
	claims []model.Claim) (model.Command, error) {
	if err := command.CheckEnd(claims); err != nil {
		return command, fault.Wrap(fault.Invalid, "CommandInvalid", err, "end command %s", command.ID)
	}
	ended, err := c.moveCommand(ctx, fence, command.Over(), claims, command.EndedUnix+int64(keepCommand/time.Second))
	if err != nil {
		return command, err
	}
	return ended, nil
}

// moveCommand writes the next version of an open command and of claims in one transaction under the fence.
func (c Commands) moveCommand(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim,
	ttlUnix int64) (model.Command, error) {
	next := command
	next.Version++
	put, err := c.putCommand(fence.Cluster, next, "#ver = :ver AND #state <> :done AND #state <> :undone", item{
		":ver": number(command.Version), ":done": text(string(model.CommandDone)),
		":undone": text(string(model.CommandUndone)),
	})
	if err != nil {
		return command, err
	}
	if ttlUnix != 0 {
		put.Item["ttl"] = number(ttlUnix)
	}
	writes, err := c.withClaims(fence, put, claims)
	if err != nil {
		return command, err
	}
	err = c.transact(ctx, writes)
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return command, lostLease(fence)
	case refused(reasons, commandAt):
		return command, fault.New(fault.Conflict, "CommandChanged", "command %s is not open at version %d", command.ID,
			command.Version)
	}
	if err := claimRefused(reasons, claims); err != nil {
		return command, err
	}
	if err != nil {
		return command, translate(err, "write command %s at version %d", command.ID, command.Version)
	}
	return next, nil
}

// withClaims begins a transaction under the fence: the write of a command, and those of the next versions of live
// claims.
func (c Commands) withClaims(fence model.Fence, put *types.Put, claims []model.Claim) ([]types.TransactWriteItem,
	error) {
	writes := []types.TransactWriteItem{c.fenceHolds(fence), {Put: put}}
	for _, claim := range claims {
		put, err := c.putNextClaim(fence.Cluster, claim, claimIsLive)
		if err != nil {
			return nil, err
		}
		writes = append(writes, types.TransactWriteItem{Put: put})
	}
	return writes, nil
}

// claimRefused says which claim of a command was not as given; nil where all were.
func claimRefused(reasons []types.CancellationReason, claims []model.Claim) error {
	for i := range claims {
		if refused(reasons, claimsAt+i) {
			return fault.New(fault.Conflict, "ClaimChanged", "claim %s is not live at version %d", claims[i].Name,
				claims[i].Version)
		}
	}
	return nil
}

// putCommand is the write of a command's item on a condition.
func (c Commands) putCommand(cluster string, command model.Command, condition string, values item) (*types.Put, error) {
	entry := key(clusterPK(cluster), commandSK+command.ID)
	entry["state"], entry["ver"] = text(string(command.State)), number(command.Version)
	if err := encodePacked(entry, "command "+command.ID, command); err != nil {
		return nil, err
	}
	return c.put(entry, condition, values), nil
}

// Recall replaces the disruption function's notes under the fence, on condition of their version.
func (c Commands) Recall(ctx context.Context, fence model.Fence, notes model.DisruptNotes) (model.DisruptNotes, error) {
	next := notes
	next.Version++
	entry, err := withDoc(key(clusterPK(fence.Cluster), disruptNotesSK), "the disruption notes", next)
	if err != nil {
		return notes, err
	}
	put := c.putNext(entry, "ver", notes.Version, nothingIsThere)
	if err := c.writeFenced(ctx, fence, put, "write the disruption notes at version %d", notes.Version); err != nil {
		return notes, err
	}
	return next, nil
}
