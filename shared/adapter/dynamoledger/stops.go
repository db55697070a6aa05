package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// stopSK is the sort key of a stop of a whole cluster, or of an account and region; a pool's has the pool's name after a # too.
const stopSK = "STOP"

// Stop writes a stop: of a pool or the whole cluster into the cluster's partition, of account and region into theirs. One of the same
// scope is replaced.
func (l *Ledger) Stop(ctx context.Context, reg model.Registration, stop model.Stop) error {
	if err := stop.Validate(); err != nil {
		return fault.Wrap(fault.Invalid, "StopInvalid", err, "%s", stop.What(reg))
	}
	doc, err := encode("stop", stop)
	if err != nil {
		return err
	}
	entry := stopKey(reg, stop)
	entry["doc"] = doc
	_, err = l.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &l.table, Item: entry})
	return translate(err, "write the stop of %s", stop.What(reg))
}

// Resume removes the stop of the same scope, and of the same pool. One that is not there is no error.
func (l *Ledger) Resume(ctx context.Context, reg model.Registration, stop model.Stop) error {
	if err := stop.Validate(); err != nil {
		return fault.Wrap(fault.Invalid, "StopInvalid", err, "%s", stop.What(reg))
	}
	_, err := l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &l.table, Key: stopKey(reg, stop)})
	return translate(err, "remove the stop of %s", stop.What(reg))
}

// Stops reads every stop that holds for the cluster, consistently: its pools', its own, its account and region's, in this order.
func (l *Ledger) Stops(ctx context.Context, reg model.Registration) ([]model.Stop, error) {
	items, err := l.query(ctx, clusterPK(reg.Cluster), stopSK, true)
	if err != nil {
		return nil, err
	}
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &l.table, Key: key(regionPK(reg.Account, reg.Region), stopSK), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, translate(err, "read the stop of account %s and region %s", reg.Account, reg.Region)
	}
	if out.Item != nil {
		items = append(items, out.Item)
	}
	var seen model.Ledger
	for _, entry := range items {
		if err := place(&seen, entry, 0); err != nil {
			salvage(&seen, entry)
		}
	}
	model.SortStops(seen.Stops)
	return seen.Stops, nil
}

func stopKey(reg model.Registration, stop model.Stop) item {
	switch stop.Scope {
	case model.StopPool:
		return key(clusterPK(reg.Cluster), stopSK+"#"+stop.Pool)
	case model.StopRegion:
		return key(regionPK(reg.Account, reg.Region), stopSK)
	}
	return key(clusterPK(reg.Cluster), stopSK)
}
