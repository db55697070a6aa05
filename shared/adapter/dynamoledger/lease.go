package dynamoledger

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Acquire takes the cluster's planner lease.
func (l *Ledger) Acquire(ctx context.Context, cluster, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	return l.AcquireLease(ctx, cluster, model.LeasePlanner, owner, nowUnix, untilUnix)
}

// AcquireLease takes a lease of the cluster: where nobody holds it, where it has run out at nowUnix, or where owner holds it
// already. There is no heartbeat, because a write to the lease's item would collide with the transactions that check it;
// the lease simply outlives its holder. One that was taken after what is asked for now would end was taken by a clock that is
// ahead, and is no lease: its holder, once dead, would block everybody for as long as its clock was wrong. However long a lease
// lasts, a shorter ask does not end it. Two who hold it at once do no harm, that is the fence's doing.
func (l *Ledger) AcquireLease(ctx context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	out, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                &l.table,
		Key:                      key(clusterPK(cluster), "LEASE#"+lease),
		UpdateExpression:         aws.String("SET #owner = :owner, #exp = :until, #since = :now REMOVE #ttl ADD #tok :one"),
		ConditionExpression:      aws.String("attribute_not_exists(#exp) OR #exp < :now OR #since > :until OR #owner = :owner"),
		ExpressionAttributeNames: map[string]string{"#owner": "owner", "#exp": "exp", "#since": "since", "#tok": "tok", "#ttl": "ttl"},
		ExpressionAttributeValues: item{
			":owner": text(owner), ":until": number(untilUnix), ":now": number(nowUnix), ":one": number(1),
		},
		ReturnValues: types.ReturnValueUpdatedNew,

		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var taken *types.ConditionalCheckFailedException
	if errors.As(err, &taken) {
		held := model.Fence{
			Cluster: cluster, Lease: lease, Owner: textOf(taken.Item, "owner"), Token: numberOf(taken.Item, "tok"),
			UntilUnix: numberOf(taken.Item, "exp"), SinceUnix: numberOf(taken.Item, "since"),
		}
		return held, fault.New(fault.Conflict, "LeaseHeld", "the %s lease of cluster %s is held by %s for %d more seconds", lease, cluster, held.Owner, held.UntilUnix-nowUnix)
	}
	if err != nil {
		return model.Fence{}, translate(err, "acquire the %s lease of cluster %s", lease, cluster)
	}
	return model.Fence{Cluster: cluster, Lease: lease, Owner: owner, Token: numberOf(out.Attributes, "tok"), UntilUnix: untilUnix, SinceUnix: nowUnix}, nil
}

// Release lets the lease run out now, unless somebody else has taken it since.
func (l *Ledger) Release(ctx context.Context, fence model.Fence) error {
	_, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &l.table,
		Key:                       key(clusterPK(fence.Cluster), "LEASE#"+fence.Lease),
		UpdateExpression:          aws.String("SET #exp = :never"),
		ConditionExpression:       aws.String("#owner = :owner AND #tok = :tok"),
		ExpressionAttributeNames:  map[string]string{"#owner": "owner", "#exp": "exp", "#tok": "tok"},
		ExpressionAttributeValues: item{":owner": text(fence.Owner), ":tok": number(fence.Token), ":never": number(0)},
	})
	var lostLease *types.ConditionalCheckFailedException
	if errors.As(err, &lostLease) {
		return nil
	}
	return translate(err, "release the %s lease of cluster %s", fence.Lease, fence.Cluster)
}

// fenceHolds is the part of a transaction that lets it commit only while the fence is the newest.
func (l *Ledger) fenceHolds(fence model.Fence) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName:                 &l.table,
		Key:                       key(clusterPK(fence.Cluster), "LEASE#"+fence.Lease),
		ConditionExpression:       aws.String("#owner = :owner AND #tok = :tok"),
		ExpressionAttributeNames:  map[string]string{"#owner": "owner", "#tok": "tok"},
		ExpressionAttributeValues: item{":owner": text(fence.Owner), ":tok": number(fence.Token)},
	}}
}

func lostLease(fence model.Fence) error {
	return fault.New(fault.Conflict, "FenceLost", "the %s lease of cluster %s has passed to another since token %d", fence.Lease, fence.Cluster, fence.Token)
}

// Leases returns the cluster's leases as they were last taken, by name, whether or not they have run out.
func (l *Ledger) Leases(ctx context.Context, cluster string) ([]model.Fence, error) {
	const prefix = "LEASE#"
	items, err := l.query(ctx, clusterPK(cluster), prefix, true)
	if err != nil {
		return nil, err
	}
	fences := make([]model.Fence, len(items))
	for i, entry := range items {
		fences[i] = model.Fence{
			Cluster: cluster, Lease: textOf(entry, "SK")[len(prefix):], Owner: textOf(entry, "owner"), Token: numberOf(entry, "tok"),
			UntilUnix: numberOf(entry, "exp"), SinceUnix: numberOf(entry, "since"),
		}
	}
	return fences, nil
}
