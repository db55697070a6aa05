package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// disruptNotesSK is the sort key of what the disruption function remembers of a cluster.
const disruptNotesSK = "JUDGE"

// Peek reads the watcher's manifest and the disruption function's notes in one consistent read of two items. The time is DynamoDB's own.
func (l *Ledger) Peek(ctx context.Context, cluster string) (*model.Manifest, model.DisruptNotes, int64, error) {
	items, at, err := l.batchGet(ctx, []item{key(watchPK(cluster), manifestSK), key(clusterPK(cluster), disruptNotesSK)})
	if err != nil {
		return nil, model.DisruptNotes{}, 0, err
	}
	var seen model.Ledger
	for _, entry := range items {
		if textOf(entry, "SK") == manifestSK {
			setManifest(&seen, cluster, entry)
			continue
		}
		if err := place(&seen, entry, at.Unix()); err != nil { // Load says so
			salvage(&seen, entry)
		}
	}
	return seen.Manifest, seen.Disrupt, at.Unix(), nil
}

// Recall replaces the disruption function's notes under the fence, on condition of their version.
func (l *Ledger) Recall(ctx context.Context, fence model.Fence, notes model.DisruptNotes) (model.DisruptNotes, error) {
	next := notes
	next.Version++
	doc, err := encode("the disruption notes", next)
	if err != nil {
		return notes, err
	}
	entry := key(clusterPK(fence.Cluster), disruptNotesSK)
	entry["doc"], entry["ver"] = doc, number(next.Version)
	put := &types.Put{TableName: &l.table, Item: entry, ConditionExpression: aws.String("attribute_not_exists(PK)")}
	if notes.Version != 0 {
		put.ConditionExpression = aws.String("#ver = :ver")
		put.ExpressionAttributeNames, put.ExpressionAttributeValues = versionNamed, item{":ver": number(notes.Version)}
	}
	err = l.transact(ctx, []types.TransactWriteItem{l.fenceHolds(fence), {Put: put}})
	if refused(canceled(err), 0) {
		return notes, lostLease(fence)
	}
	if err != nil {
		return notes, translate(err, "write the disruption notes at version %d", notes.Version)
	}
	return next, nil
}
