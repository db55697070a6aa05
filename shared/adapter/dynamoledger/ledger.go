package dynamoledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Ledger is the table. It is safe for concurrent use and keeps nothing in memory.
type Ledger struct {
	client *dynamodb.Client
	table  string
	now    func() time.Time
}

// New returns the ledger in the named table, which must exist.
func New(client *dynamodb.Client, table string, options ...func(*Ledger)) *Ledger {
	l := &Ledger{client: client, table: table, now: time.Now}
	for _, option := range options {
		option(l)
	}
	return l
}

// Table is the definition of the table: the one the stack creates and the one tests create.
func Table(name string) *dynamodb.CreateTableInput {
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind}
	}
	text := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS}
	}
	return &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{text("PK"), text("SK"), text("instanceId")},
		KeySchema:            []types.KeySchemaElement{key("PK", types.KeyTypeHash), key("SK", types.KeyTypeRange)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(instanceIndex), KeySchema: []types.KeySchemaElement{key("instanceId", types.KeyTypeHash)},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
}

// EnsureTable creates the table with its time to live where it does not exist, and waits until it can be used. A table of an
// earlier release gets the index it lacks, which it fills in its own time.
func (l *Ledger) EnsureTable(ctx context.Context) error {
	_, err := l.client.CreateTable(ctx, Table(l.table))
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return translate(err, "create table %s", l.table)
	}
	waiter := dynamodb.NewTableExistsWaiter(l.client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &l.table}, time.Minute); err != nil {
		return fmt.Errorf("wait for table %s: %w", l.table, err)
	}
	if exists != nil {
		return l.ensureIndex(ctx)
	}
	_, err = l.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &l.table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)},
	})
	if err != nil {
		return translate(err, "set time to live of table %s", l.table)
	}
	return nil
}

// transact carries out a transaction, again for as long as it only met another one at the same items.
func (l *Ledger) transact(ctx context.Context, items []types.TransactWriteItem) error {
	const tries = 8
	var err error
	for try := range tries {
		_, err = l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		if !conflicting(err) {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
	return err
}

// pause waits before another try: full jitter, from 5 ms doubling to 320 ms, so that two writers of one item pass each other.
func pause(ctx context.Context, try int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(rand.Int64N(int64(10*time.Millisecond) << min(try, 5)))):
		return nil
	}
}

// ensureIndex adds the index of instances to a table that was made without it.
func (l *Ledger) ensureIndex(ctx context.Context) error {
	out, err := l.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &l.table})
	if err != nil {
		return translate(err, "describe table %s", l.table)
	}
	for _, index := range out.Table.GlobalSecondaryIndexes {
		if aws.ToString(index.IndexName) == instanceIndex {
			return nil
		}
	}
	whole := Table(l.table)
	index := whole.GlobalSecondaryIndexes[0]
	_, err = l.client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: &l.table, AttributeDefinitions: whole.AttributeDefinitions,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
		}}},
	})
	return translate(err, "add index %s to table %s", instanceIndex, l.table)
}
