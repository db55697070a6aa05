package dynamoledger

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// table is the DynamoDB table that all parts of a ledger are in.
type table struct {
	client *dynamodb.Client
	name   string
	now    func() time.Time
}

// maxPages is how much is read of a partition: a page is 1 MB, and a claim takes some KB. Source: Amazon DynamoDB
// developer guide, "Query", "Paginating the results".
const maxPages = 128

// returnOld has DynamoDB return what a write met whose condition does not hold.
const returnOld = types.ReturnValuesOnConditionCheckFailureAllOld

var (
	// errNoServerTime is an answer of DynamoDB that does not say when it was given.
	errNoServerTime = fault.New(fault.Internal, "NoServerTime", "DynamoDB's answer has no Date, so ages are unknown")

	// errPutOff is a read that DynamoDB put off again and again.
	errPutOff = fault.New(fault.Throttled, "UnprocessedKeys",
		"DynamoDB did not process the read of items, several times")
)

// serverTime returns when DynamoDB gave an answer, by its own clock.
func serverTime(metadata middleware.Metadata) (time.Time, error) {
	at, reported := awsmiddleware.GetServerTime(metadata)
	if !reported {
		return at, errNoServerTime
	}
	return at, nil
}

// sideBySide does all at once and returns what failed of them, in their order.
func sideBySide(todo ...func() error) error {
	failures := make([]error, len(todo))
	var group sync.WaitGroup
	for i, do := range todo {
		group.Go(func() { failures[i] = do() })
	}
	group.Wait()
	return errors.Join(failures...)
}

// getItem reads an item consistently.
func (t *table) getItem(ctx context.Context, key item) (*dynamodb.GetItemOutput, error) {
	return t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key, ConsistentRead: aws.Bool(true)})
}

// get is getItem, and nil where there is no such item.
func (t *table) get(ctx context.Context, pk, sk string) (item, error) {
	out, err := t.getItem(ctx, key(pk, sk))
	if err != nil {
		return nil, translate(err, "read item %s %s", pk, sk)
	}
	return out.Item, nil
}

// batchGet reads items consistently, whatever of them DynamoDB leaves for another call included. Items that are gone
// are left out.
func (t *table) batchGet(ctx context.Context, keys []item) (items []item, at time.Time, err error) {
	const tries = 8
	for try := 0; len(keys) > 0; try++ {
		out, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{t.name: {Keys: keys, ConsistentRead: aws.Bool(true)}},
		})
		if err != nil {
			return nil, at, translate(err, "read %d items", len(keys))
		}
		if at.IsZero() {
			if at, err = serverTime(out.ResultMetadata); err != nil {
				return nil, at, err
			}
		}
		items = append(items, out.Responses[t.name]...)
		left := out.UnprocessedKeys[t.name].Keys
		if len(left) == len(keys) && try >= tries {
			return nil, at, errPutOff
		}
		if keys = left; len(keys) > 0 {
			if err := pause(ctx, try); err != nil {
				return nil, at, err
			}
		}
	}
	return items, at, nil
}

// query returns the items of a partition whose sort key begins with prefix, in its order.
func (t *table) query(ctx context.Context, pk, prefix string, consistent bool) ([]item, error) {
	input := &dynamodb.QueryInput{
		TableName: &t.name, ConsistentRead: aws.Bool(consistent),
		KeyConditionExpression:    aws.String("PK = :pk"),
		ExpressionAttributeValues: item{":pk": text(pk)},
	}
	if prefix != "" {
		input.KeyConditionExpression = aws.String(sortKeyBegins)
		input.ExpressionAttributeValues[":sk"] = text(prefix)
	}
	items, _, err := t.queryPages(ctx, "partition "+pk, input)
	return items, err
}

// part is some of a partition: the items whose sort key meets a condition with another one.
type part struct{ pk, condition, sk string }

// Conditions of parts.
const (
	sortKeyBelow  = "PK = :pk AND SK < :sk"
	sortKeyBegins = "PK = :pk AND begins_with(SK, :sk)"
	sortKeyIs     = "PK = :pk AND SK = :sk"
)

// queryAt returns the items of a part in the order of their sort keys, read consistently, and when the first page was
// read, by DynamoDB's clock.
func (t *table) queryAt(ctx context.Context, p part) ([]item, time.Time, error) {
	return t.queryPages(ctx, "partition "+p.pk, &dynamodb.QueryInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true), KeyConditionExpression: &p.condition,
		ExpressionAttributeValues: item{":pk": text(p.pk), ":sk": text(p.sk)},
	})
}

// queryParts is queryAt of several parts side by side.
func (t *table) queryParts(ctx context.Context, parts []part) (pages [][]item, times []time.Time, err error) {
	pages, times = make([][]item, len(parts)), make([]time.Time, len(parts))
	todo := make([]func() error, len(parts))
	for i, p := range parts {
		todo[i] = func() (err error) { pages[i], times[i], err = t.queryAt(ctx, p); return err }
	}
	return pages, times, sideBySide(todo...)
}

// queryPages returns all that a query finds, and when the first page was read, by DynamoDB's clock. Errors say what is
// read.
func (t *table) queryPages(ctx context.Context, what string, input *dynamodb.QueryInput) ([]item, time.Time, error) {
	var items []item
	var at time.Time
	pages := dynamodb.NewQueryPaginator(t.client, input)
	for read := 0; pages.HasMorePages(); read++ {
		if read == maxPages {
			return nil, at, fault.New(fault.Invalid, "TooLarge",
				"%s has more than %d pages of 1 MB, %d items so far; at most so many are read",
				what, maxPages, len(items))
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, at, translate(err, "read %s", what)
		}
		if at.IsZero() {
			if at, err = serverTime(page.ResultMetadata); err != nil {
				return nil, at, err
			}
		}
		items = append(items, page.Items...)
	}
	return items, at, nil
}

// attribute is how expressions name one.
var attribute = regexp.MustCompile(`#\w+`)

// attributes are those that an expression names: #ver is ver.
func attributes(expression string) map[string]string {
	var names map[string]string
	for _, name := range attribute.FindAllString(expression, -1) {
		if names == nil {
			names = map[string]string{}
		}
		names[name] = name[1:]
	}
	return names
}

// put is the write of an item on a condition, "" for none, with the values that it needs. What follows a # in the
// condition is the name of an attribute.
func (t *table) put(entry item, condition string, values item) *types.Put {
	put := &types.Put{TableName: &t.name, Item: entry}
	if condition != "" {
		put.ConditionExpression, put.ExpressionAttributeNames = &condition, attributes(condition)
		put.ExpressionAttributeValues = values
	}
	return put
}

// putNext is the write of an item's next version, which an attribute has, on condition that it is at the one given. 0
// is none: then the condition is none, which is nothingIsThere but for items that are written anew where they have no
// version.
func (t *table) putNext(entry item, attribute string, was int64, none string) *types.Put {
	entry[attribute] = number(was + 1)
	if was == 0 {
		return t.put(entry, none, nil)
	}
	return t.put(entry, "#"+attribute+" = :was", item{":was": number(was)})
}

// deletion is the removal of an item on the condition of a write, which returns what it meets where that does not hold.
func deletion(key item, as *types.Put) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: as.TableName, Key: key, ConditionExpression: as.ConditionExpression,
		ExpressionAttributeNames: as.ExpressionAttributeNames, ExpressionAttributeValues: as.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: returnOld,
	}}
}

// unused is the part of a transaction that lets it commit only where there is no such item.
func (t *table) unused(pk, sk string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &t.name, Key: key(pk, sk), ConditionExpression: aws.String("attribute_not_exists(PK)"),
	}}
}

// alone is a write outside of transactions.
func alone(put *types.Put) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames:  put.ExpressionAttributeNames,
		ExpressionAttributeValues: put.ExpressionAttributeValues,
	}
}

// write carries out a write by itself.
func (t *table) write(ctx context.Context, put *types.Put) error {
	_, err := t.client.PutItem(ctx, alone(put))
	return err
}

// update is the change of an item on a condition, "" for none.
func (t *table) update(key item, change, condition string, values item) *dynamodb.UpdateItemInput {
	input := &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: key, UpdateExpression: &change,
		ExpressionAttributeNames: attributes(change + condition), ExpressionAttributeValues: values,
	}
	if condition != "" {
		input.ConditionExpression = &condition
	}
	return input
}

// remove deletes an item on a condition, "" for none.
func (t *table) remove(ctx context.Context, key item, condition string, values item) error {
	input := &dynamodb.DeleteItemInput{TableName: &t.name, Key: key}
	if condition != "" {
		input.ConditionExpression, input.ExpressionAttributeNames = &condition, attributes(condition)
		input.ExpressionAttributeValues = values
	}
	_, err := t.client.DeleteItem(ctx, input)
	return err
}

// transact carries out a transaction, again for as long as it only met another one at the same items.
func (t *table) transact(ctx context.Context, items []types.TransactWriteItem) error {
	const tries = 8
	var err error
	for try := range tries {
		_, err = t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		if !conflicting(err) {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
	return err
}

// pause waits before another try: full jitter, from 5 ms doubling to 320 ms, so that two writers of one item pass each
// other.
func pause(ctx context.Context, try int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(rand.Int64N(int64(10*time.Millisecond) << min(try, 5)))):
		return nil
	}
}

// leaseKey is the key of a lease.
func leaseKey(fence model.Fence) item { return key(clusterPK(fence.Cluster), leaseSK+fence.Lease) }

// holds is the condition that a fence is the newest of its lease.
const holds = "#owner = :owner AND #tok = :tok"

// fenceHolds is the part of a transaction that lets it commit only while the fence is the newest.
func (t *table) fenceHolds(fence model.Fence) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &t.name, Key: leaseKey(fence), ConditionExpression: aws.String(holds),
		ExpressionAttributeNames:  attributes(holds),
		ExpressionAttributeValues: item{":owner": text(fence.Owner), ":tok": number(fence.Token)},
	}}
}

func lostLease(fence model.Fence) error {
	return fault.New(fault.Conflict, "FenceLost", "the %s lease of cluster %s has passed to another since token %d",
		fence.Lease, fence.Cluster, fence.Token)
}

// writeFenced carries out a write while the fence holds. The format says what is done.
func (t *table) writeFenced(ctx context.Context, fence model.Fence, put *types.Put, format string, args ...any) error {
	err := t.transact(ctx, []types.TransactWriteItem{t.fenceHolds(fence), {Put: put}})
	if refused(canceled(err), 0) {
		return lostLease(fence)
	}
	return translate(err, format, args...)
}
