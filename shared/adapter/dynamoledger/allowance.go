package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/model"
)

const allowanceSK = "ALLOWANCE"

// Allowance reads what all clusters of the account and region share of EC2's API; the zero value where it was never
// written.
func (l *Ledger) Allowance(ctx context.Context, reg model.Registration) (model.Allowance, error) {
	var allowance model.Allowance
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &l.table, Key: key(regionPK(reg.Account, reg.Region), allowanceSK), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return allowance, translate(err, "read the EC2 call quota of %s in %s", reg.Account, reg.Region)
	}
	if out.Item == nil {
		return allowance, nil
	}
	if err := decodeWhole(out.Item, &allowance); err != nil { // Load says so; whoever spends of it next writes it anew
		allowance = model.Allowance{Version: numberOf(out.Item, "v")}
	}
	return allowance, nil
}

// Spend writes the allowance under its next version, on condition of the one it has.
func (l *Ledger) Spend(ctx context.Context, reg model.Registration, allowance model.Allowance) error {
	was := allowance.Version
	allowance.Version++
	doc, err := encode("allowance", allowance)
	if err != nil {
		return err
	}
	entry := key(regionPK(reg.Account, reg.Region), allowanceSK)
	entry["doc"], entry["v"] = doc, number(allowance.Version)
	put := &dynamodb.PutItemInput{TableName: &l.table, Item: entry, ExpressionAttributeNames: map[string]string{"#v": "v"}}
	if was == 0 {
		put.ConditionExpression = aws.String("attribute_not_exists(#v)")
	} else {
		put.ConditionExpression = aws.String("#v = :was")
		put.ExpressionAttributeValues = item{":was": number(was)}
	}
	_, err = l.client.PutItem(ctx, put)
	return translate(err, "spend the EC2 call quota of %s in %s at version %d", reg.Account, reg.Region, was)
}

// Remember replaces the planner's notes under the fence.
func (l *Ledger) Remember(ctx context.Context, fence model.Fence, notes model.Notes) error {
	doc, err := encode("notes of cluster "+fence.Cluster, notes)
	if err != nil {
		return err
	}
	entry := key(clusterPK(fence.Cluster), "NOTES")
	entry["doc"] = doc
	err = l.transact(ctx, []types.TransactWriteItem{l.fenceHolds(fence), {Put: &types.Put{TableName: &l.table, Item: entry}}})
	if refused(canceled(err), 0) {
		return lostLease(fence)
	}
	return translate(err, "store notes of cluster %s", fence.Cluster)
}
