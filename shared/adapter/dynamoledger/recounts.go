package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// UsageRecounts is the ledger as whoever corrects usage sees it.
type UsageRecounts struct{ Ledger *Ledger }

// Recount writes a pool's usage anew under the fence, on condition of its version. A row that cannot be read has none, and stays as it is.
func (t UsageRecounts) Recount(ctx context.Context, fence model.Fence, usage model.Usage) error {
	entry := key(clusterPK(fence.Cluster), "USE#"+usage.Pool)
	entry["v"] = number(usage.Version + 1)
	for name, amount := range usage.Reserved {
		entry[resourcePrefix+name] = number(amount)
	}
	put := &types.Put{TableName: &t.Ledger.table, Item: entry, ConditionExpression: aws.String("attribute_not_exists(PK)")}
	if usage.Version != 0 {
		put.ConditionExpression = aws.String("#v = :v")
		put.ExpressionAttributeNames, put.ExpressionAttributeValues = map[string]string{"#v": "v"}, item{":v": number(usage.Version)}
	}
	err := t.Ledger.transact(ctx, []types.TransactWriteItem{t.Ledger.fenceHolds(fence), {Put: put}})
	switch reasons := canceled(err); {
	case refused(reasons, 0):
		return lostLease(fence)
	case refused(reasons, 1):
		return fault.New(fault.Conflict, "UsageChanged", "the usage of NodePool %s is not at version %d any more", usage.Pool, usage.Version)
	}
	return translate(err, "recount the usage of NodePool %s", usage.Pool)
}
