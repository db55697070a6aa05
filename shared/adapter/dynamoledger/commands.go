package dynamoledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// The sort keys of commands and of pools' turns begin with these; the command's id, or the pool's name, follows.
const (
	commandSK       = "COMMAND#"
	budgetVersionSK = "TURN#"
)

// keepCommand is how long a command that ended is kept.
const keepCommand = 24 * time.Hour

// Commit writes a new command, its id into its targets' claims and its pools' next turns in one transaction under the fence: with
// the most nodes, each of a pool of its own, 82 items of the 100 a transaction has. Where the answer of an earlier try was lost and
// the very same command is stored already, there is nothing left to do and no error.
func (l *Ledger) Commit(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim, budgetVersions []model.BudgetVersion) error {
	if err := committable(command, claims, budgetVersions); err != nil {
		return err
	}
	put, err := l.putCommand(fence.Cluster, command, "attribute_not_exists(PK)", nil)
	if err != nil {
		return err
	}
	put.Put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	const leaseAt, commandAt, claimsAt = 0, 1, 2
	writes := []types.TransactWriteItem{l.fenceHolds(fence), put}
	for _, claim := range claims {
		claim.Command = command.ID
		if writes, err = l.claimOfCommand(writes, fence.Cluster, claim); err != nil {
			return err
		}
	}
	for _, budgetVersion := range budgetVersions {
		writes = append(writes, l.nextBudgetVersion(fence.Cluster, budgetVersion))
	}
	err = l.transact(ctx, writes)
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return lostLease(fence)
	case refused(reasons, commandAt) && sameDoc(reasons[commandAt].Item, put.Put.Item):
		return nil
	case refused(reasons, commandAt):
		return fault.New(fault.Conflict, "CommandExists", "command %s is recorded already, and differs", command.ID)
	}
	if err := claimRefused(reasons, claimsAt, claims); err != nil {
		return err
	}
	for i := range budgetVersions {
		if refused(reasons, claimsAt+len(claims)+i) {
			return fault.New(fault.Conflict, "TurnTaken", "another command of NodePool %s was committed since budget version %d", budgetVersions[i].Pool, budgetVersions[i].Version)
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
func (l *Ledger) AdvanceCommand(ctx context.Context, fence model.Fence, command model.Command) (model.Command, error) {
	if !command.State.Open() {
		return command, fault.New(fault.Invalid, "CommandEnds", "use End to move command %s to the terminal state %s", command.ID, command.State)
	}
	return l.moveCommand(ctx, fence, command, nil, 0)
}

// End writes the last state of a command together with its claims, each on condition of its version, under the fence.
func (l *Ledger) End(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim) (model.Command, error) {
	if err := command.CheckEnd(claims); err != nil {
		return command, fault.Wrap(fault.Invalid, "CommandInvalid", err, "end command %s", command.ID)
	}
	ended, err := l.moveCommand(ctx, fence, command.Over(), claims, command.EndedUnix+int64(keepCommand/time.Second))
	if err != nil {
		return command, err
	}
	return ended, nil
}

// moveCommand writes the next version of an open command and of claims in one transaction under the fence.
func (l *Ledger) moveCommand(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim, ttlUnix int64) (model.Command, error) {
	next := command
	next.Version++
	put, err := l.putCommand(fence.Cluster, next, "#ver = :ver AND #state <> :done AND #state <> :undone", item{
		":ver": number(command.Version), ":done": text(string(model.CommandDone)), ":undone": text(string(model.CommandUndone)),
	})
	if err != nil {
		return command, err
	}
	if ttlUnix != 0 {
		put.Put.Item["ttl"] = number(ttlUnix)
	}
	const leaseAt, commandAt, claimsAt = 0, 1, 2
	writes := []types.TransactWriteItem{l.fenceHolds(fence), put}
	for _, claim := range claims {
		if writes, err = l.claimOfCommand(writes, fence.Cluster, claim); err != nil {
			return command, err
		}
	}
	err = l.transact(ctx, writes)
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return command, lostLease(fence)
	case refused(reasons, commandAt):
		return command, fault.New(fault.Conflict, "CommandChanged", "command %s is not open at version %d", command.ID, command.Version)
	}
	if err := claimRefused(reasons, claimsAt, claims); err != nil {
		return command, err
	}
	if err != nil {
		return command, translate(err, "write command %s at version %d", command.ID, command.Version)
	}
	return next, nil
}

// claimOfCommand adds the write of a live claim's next version.
func (l *Ledger) claimOfCommand(writes []types.TransactWriteItem, cluster string, claim model.Claim) ([]types.TransactWriteItem, error) {
	was := claim.Version
	claim.Version++
	put, err := l.putClaim(cluster, claim, "#ver = :ver AND #state <> :gone", item{":ver": number(was), ":gone": text(string(model.Gone))})
	return append(writes, put), err
}

// claimRefused says which claim, of those whose writes begin at an index, was not as given; nil where all were.
func claimRefused(reasons []types.CancellationReason, from int, claims []model.Claim) error {
	for i := range claims {
		if refused(reasons, from+i) {
			return fault.New(fault.Conflict, "ClaimChanged", "claim %s is not live at version %d", claims[i].Name, claims[i].Version)
		}
	}
	return nil
}

// putCommand is the write of a command's item on a condition that may name #ver and #state.
func (l *Ledger) putCommand(cluster string, command model.Command, condition string, values item) (types.TransactWriteItem, error) {
	entry := key(clusterPK(cluster), commandSK+command.ID)
	entry["state"], entry["ver"] = text(string(command.State)), number(command.Version)
	if err := encodePacked(entry, "command "+command.ID, command); err != nil {
		return types.TransactWriteItem{}, err
	}
	put := &types.Put{TableName: &l.table, Item: entry, ConditionExpression: aws.String(condition), ExpressionAttributeValues: values}
	if values != nil {
		put.ExpressionAttributeNames = map[string]string{"#ver": "ver", "#state": "state"}
	}
	return types.TransactWriteItem{Put: put}, nil
}

// nextBudgetVersion counts a pool's turns up by one on condition that there were as many as given.
func (l *Ledger) nextBudgetVersion(cluster string, budgetVersion model.BudgetVersion) types.TransactWriteItem {
	entry := key(clusterPK(cluster), budgetVersionSK+budgetVersion.Pool)
	entry["ver"] = number(budgetVersion.Version + 1)
	put := &types.Put{TableName: &l.table, Item: entry, ConditionExpression: aws.String("attribute_not_exists(PK)")}
	if budgetVersion.Version != 0 {
		put.ConditionExpression = aws.String("#ver = :ver")
		put.ExpressionAttributeNames, put.ExpressionAttributeValues = versionNamed, item{":ver": number(budgetVersion.Version)}
	}
	return types.TransactWriteItem{Put: put}
}

// placeCommand adds a command, as its item has it.
func placeCommand(commands *[]model.Command, entry item) error {
	var command model.Command
	if err := decodePacked(entry, &command); err != nil {
		return err
	}
	if err := named(entry, strings.TrimPrefix(textOf(entry, "SK"), commandSK), command.ID); err != nil {
		return err
	}
	if command.Version != numberOf(entry, "ver") {
		return fmt.Errorf("item %s %s has version %d in its doc and %d beside it", textOf(entry, "PK"), textOf(entry, "SK"), command.Version, numberOf(entry, "ver"))
	}
	*commands = append(*commands, command)
	return nil
}
