package dynamoledger

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"
)

// leaseKept is for how many seconds a detached cluster's leases stay: whoever holds one then keeps everybody else out
// who has not heard yet, and afterwards they are nobody's.
const leaseKept = 24 * 3600

// forgetAtOnce is how many items are deleted side by side.
const forgetAtOnce = 16

// Forget deletes everything kept of a cluster but its registration: claims, intents, usage, notes, commands, stops,
// pointer and epoch. Its leases stay as they are held and go by themselves a day after nowUnix. It may be repeated.
// What is of account and region, such as offerings without capacity, is other clusters' too and stays.
func (c Collector) Forget(ctx context.Context, cluster string, nowUnix int64) error {
	partitions := []string{clusterPK(cluster), watchPK(cluster)}
	for shard := range shards {
		partitions = append(partitions, shardPK(cluster, shard))
	}
	for _, pk := range partitions {
		// Page by page: it is unknown how much a watcher has left in its own.
		pages := dynamodb.NewQueryPaginator(c.client, &dynamodb.QueryInput{
			TableName: &c.name, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("PK = :pk"),
			ExpressionAttributeValues: item{":pk": text(pk)},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return translate(err, "read partition %s", pk)
			}
			if err := c.forget(ctx, cluster, page.Items, nowUnix); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget deletes items of a cluster's; leases go by themselves.
func (c Collector) forget(ctx context.Context, cluster string, items []item, nowUnix int64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(forgetAtOnce)
	for _, entry := range items {
		pk, sk := textOf(entry, "PK"), textOf(entry, "SK")
		group.Go(func() error {
			if strings.HasPrefix(sk, leaseSK) {
				return c.expire(ctx, pk, sk, nowUnix+leaseKept)
			}
			return translate(c.remove(ctx, key(pk, sk), "", nil), "delete %s of cluster %s", sk, cluster)
		})
	}
	return group.Wait()
}

// expire has an item go by itself at ttlUnix or some time after.
func (c Collector) expire(ctx context.Context, pk, sk string, ttlUnix int64) error {
	_, err := c.client.UpdateItem(ctx,
		c.update(key(pk, sk), "SET #ttl = :ttl", "attribute_exists(PK)", item{":ttl": number(ttlUnix)}))
	if _, gone := unmet(err); gone {
		return nil
	}
	return translate(err, "set the expiry of %s", sk)
}
