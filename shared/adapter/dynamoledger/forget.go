package dynamoledger

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// leaseKept is for how long a detached cluster's leases stay: whoever holds one then keeps everybody else out who has not
// heard yet, and afterwards they are nobody's.
const leaseKept = 24 * 3600

// forgetAtOnce is how many items are deleted side by side.
const forgetAtOnce = 16

// Forget deletes everything kept of a cluster but its registration: claims, intents, usage, notes, commands, stops, pointer and
// epoch. Its leases stay as they are held and go by themselves a day after nowUnix. It may be repeated. What is of account and
// region, such as offerings without capacity, is other clusters' too and stays.
func (l *Ledger) Forget(ctx context.Context, cluster string, nowUnix int64) error {
	partitions := []string{clusterPK(cluster), watchPK(cluster)}
	for shard := range shards {
		partitions = append(partitions, shardPK(cluster, shard))
	}
	for _, pk := range partitions {
		// Page by page: it is unknown how much a watcher has left in its own.
		pages := dynamodb.NewQueryPaginator(l.client, &dynamodb.QueryInput{
			TableName: &l.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("PK = :pk"), ExpressionAttributeValues: item{":pk": text(pk)},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return translate(err, "read partition %s", pk)
			}
			if err := l.forget(ctx, cluster, page.Items, nowUnix); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget deletes items of a cluster's; leases go by themselves.
func (l *Ledger) forget(ctx context.Context, cluster string, items []item, nowUnix int64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(forgetAtOnce)
	for _, entry := range items {
		pk, sk := textOf(entry, "PK"), textOf(entry, "SK")
		group.Go(func() error {
			if strings.HasPrefix(sk, "LEASE#") {
				return l.expire(ctx, pk, sk, nowUnix+leaseKept)
			}
			_, err := l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &l.table, Key: key(pk, sk)})
			return translate(err, "delete %s of cluster %s", sk, cluster)
		})
	}
	return group.Wait()
}

// expire has an item go by itself at ttlUnix or some time after.
func (l *Ledger) expire(ctx context.Context, pk, sk string, ttlUnix int64) error {
	_, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: key(pk, sk),
		UpdateExpression:          aws.String("SET #ttl = :ttl"),
		ConditionExpression:       aws.String("attribute_exists(PK)"),
		ExpressionAttributeNames:  map[string]string{"#ttl": "ttl"},
		ExpressionAttributeValues: item{":ttl": number(ttlUnix)},
	})
	var gone *types.ConditionalCheckFailedException
	if errors.As(err, &gone) {
		return nil
	}
	return translate(err, "set the expiry of %s", sk)
}

// Unregister deletes a cluster's registration. NotFound where there is none; Conflict where it is of another ARN than the one
// given, or somebody wrote it meanwhile.
func (l *Ledger) Unregister(ctx context.Context, reg model.Registration) error {
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: key(registryPK, reg.Cluster), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return translate(err, "read registration of cluster %s", reg.Cluster)
	}
	if out.Item == nil {
		return fault.New(fault.NotFound, "", "cluster %s is not attached", reg.Cluster)
	}
	var found model.Registration
	if err := decode(out.Item, &found); err != nil {
		return err
	}
	if found.ARN != reg.ARN {
		return fault.New(fault.Conflict, "AnotherCluster", "cluster %s is registered as %q and not as %q", reg.Cluster, found.ARN, reg.ARN)
	}
	_, err = l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &l.table, Key: key(registryPK, reg.Cluster),
		ConditionExpression:       aws.String("#doc = :doc"),
		ExpressionAttributeNames:  map[string]string{"#doc": "doc"},
		ExpressionAttributeValues: item{":doc": out.Item["doc"]},
	})
	return translate(err, "delete the registration of cluster %s", reg.Cluster)
}
