package dynamoledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Ledger is the table in its parts, by who uses them. It is safe for concurrent use and keeps nothing in memory.
type Ledger struct {
	Claims
	Registry
	Leases
	Launches
	Commands
	Classes
	Collector
	Manifests
	Regions
	Hints
	Zones

	table *table
}

// New returns the ledger in the named table, which must exist.
func New(client *dynamodb.Client, name string, options ...func(*Ledger)) *Ledger {
	t := &table{client: client, name: name, now: time.Now}
	claims := Claims{t}
	l := &Ledger{
		Claims: claims, Registry: Registry{t}, Leases: Leases{t}, Launches: Launches{claims},
		Commands: Commands{claims},
		Classes:  Classes{claims}, Collector: Collector{t}, Manifests: Manifests{t}, Regions: Regions{t},
		Hints: Hints{t}, Zones: Zones{t},
		table: t,
	}
	for _, option := range options {
		option(l)
	}
	return l
}

// Clock has a ledger tell by now which instances ended lately enough to be read; the system's clock does without it.
func Clock(now func() time.Time) func(*Ledger) { return func(l *Ledger) { l.table.now = now } }

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
			IndexName: aws.String(instanceIndex), KeySchema: []types.KeySchemaElement{key("instanceId",
				types.KeyTypeHash)},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
}

// EnsureTable creates the table with its time to live where it does not exist, and waits until it can be used. A table
// of an earlier release gets the index it lacks, which it fills in its own time.
func (l *Ledger) EnsureTable(ctx context.Context) error {
	_, err := l.table.client.CreateTable(ctx, Table(l.table.name))
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return translate(err, "create table %s", l.table.name)
	}
	waiter := dynamodb.NewTableExistsWaiter(l.table.client,
		func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &l.table.name}, time.Minute); err != nil {
		return fmt.Errorf("wait for table %s: %w", l.table.name, err)
	}
	if exists != nil {
		return l.ensureIndex(ctx)
	}
	_, err = l.table.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &l.table.name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"),
			Enabled: aws.Bool(true)},
	})
	if err != nil {
		return translate(err, "set time to live of table %s", l.table.name)
	}
	return nil
}

// ensureIndex adds the index of instances to a table that was made without it.
func (l *Ledger) ensureIndex(ctx context.Context) error {
	out, err := l.table.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &l.table.name})
	if err != nil {
		return translate(err, "describe table %s", l.table.name)
	}
	for _, index := range out.Table.GlobalSecondaryIndexes {
		if aws.ToString(index.IndexName) == instanceIndex {
			return nil
		}
	}
	whole := Table(l.table.name)
	index := whole.GlobalSecondaryIndexes[0]
	create := &types.CreateGlobalSecondaryIndexAction{
		IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
	}
	_, err = l.table.client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: &l.table.name, AttributeDefinitions: whole.AttributeDefinitions,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: create}},
	})
	return translate(err, "add index %s to table %s", instanceIndex, l.table.name)
}
