package conform

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/once"
)

// DynamoDB is the contract of tables as a ledger uses them: single writes, reads and
// indexes, transactions, then tables themselves.
func DynamoDB(t *testing.T, target Target) {
	l := newLedger(t, dynamodb.NewFromConfig(target.Config, func(o *dynamodb.Options) {
		if o.Retryer = (aws.NopRetryer{}); target.Config.HTTPClient == nil {
			o.HTTPClient = once.Client{}
		}
	}))
	target.Run(t, "dynamodb", slices.Concat(l.writeCases(), l.expressionCases(), l.readCases(), l.indexCases(), l.alone((*dynamoLedger).transactCases), l.tableCases()))
}

// alone gives each case a table of its own.
func (l *dynamoLedger) alone(cases func(*dynamoLedger) []Case) []Case {
	out := cases(l)
	for i := range out {
		out[i].Run = func(t T) { cases(newLedger(t, l.Client))[i].Run(t) }
	}
	return out
}

// dynamoItem is an item or a key.
type dynamoItem = map[string]types.AttributeValue

// dynamoLedger is a table keyed by pk and sk with two sparse indexes: due (g1pk, g1sk), which holds whole items, and
// node (g2pk), which holds keys only. All cases share it; each works in partitions of its own. Those of
// transactions have a table each: moto copies a whole table before one and puts the copy back after one that failed, whatever
// else was written meanwhile.
type dynamoLedger struct {
	*dynamodb.Client
	table string
}

func newLedger(t T, c *dynamodb.Client) *dynamoLedger {
	t.Helper()
	l := &dynamoLedger{Client: c, table: Unique("ledger")}
	if _, err := c.CreateTable(t.Context(), l.declaration(l.table)); err != nil {
		t.Fatalf("create table: %v", err)
	}
	waiter := dynamodb.NewTableExistsWaiter(c)
	if err := waiter.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &l.table}, time.Minute); err != nil {
		t.Fatalf("await table: %v", err)
	}
	return l
}

func (l *dynamoLedger) declaration(name string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest, KeySchema: dynamoKeys("pk", "sk")}
	for _, attribute := range []string{"pk", "sk", "g1pk", "g1sk", "g2pk"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(attribute), AttributeType: types.ScalarAttributeTypeS})
	}
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{
		{IndexName: aws.String("due"), KeySchema: dynamoKeys("g1pk", "g1sk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}},
		{IndexName: aws.String("node"), KeySchema: dynamoKeys("g2pk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
	}
	return in
}

func dynamoKeys(names ...string) []types.KeySchemaElement {
	roles := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}
	var elements []types.KeySchemaElement
	for i, name := range names {
		elements = append(elements, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: roles[i]})
	}
	return elements
}

func dynamoString(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func dynamoNumber(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

// dynamoKey makes a key, and an item of it when names and values of further attributes follow.
func dynamoKey(pk, sk string, more ...any) dynamoItem {
	it := dynamoItem{"pk": dynamoString(pk), "sk": dynamoString(sk)}
	for i := 0; i < len(more); i += 2 {
		it[more[i].(string)] = more[i+1].(types.AttributeValue)
	}
	return it
}

// dynamoText returns an S or N attribute as text, "" when it is absent or of another type.
func dynamoText(it dynamoItem, name string) string {
	switch v := it[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// dynamoSorts joins the sort keys of items in their order.
func dynamoSorts(items []dynamoItem) string {
	var sorts []string
	for _, it := range items {
		sorts = append(sorts, dynamoText(it, "sk"))
	}
	return strings.Join(sorts, " ")
}

func (l *dynamoLedger) put(t T, it dynamoItem) {
	t.Helper()
	if _, err := l.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.table, Item: it}); err != nil {
		t.Fatalf("put: %v", err)
	}
}

// get reads consistently; nil when there is no item.
func (l *dynamoLedger) get(t T, pk, sk string) dynamoItem {
	t.Helper()
	out, err := l.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &l.table, Key: dynamoKey(pk, sk), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	return out.Item
}

// update applies an expression to an item of its own, made of what is there before, and returns the result.
func (l *dynamoLedger) update(t T, before dynamoItem, expression string, values dynamoItem) (dynamoItem, error) {
	t.Helper()
	l.put(t, before)
	out, err := l.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: dynamoKey(dynamoText(before, "pk"), dynamoText(before, "sk")),
		UpdateExpression: &expression, ExpressionAttributeValues: values, ReturnValues: types.ReturnValueAllNew,
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// query asks a partition, :a, :b… standing for values.
func (l *dynamoLedger) query(condition string, values ...string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{TableName: &l.table, KeyConditionExpression: &condition, ExpressionAttributeValues: dynamoItem{}}
	for i, v := range values {
		in.ExpressionAttributeValues[":"+string(rune('a'+i))] = dynamoString(v)
	}
	return in
}

// wantInvalid fails the case unless err is a ValidationException with a message that begins so.
func wantInvalid(t T, err error, message string) {
	t.Helper()
	wantCode(t, err, "ValidationException")
	if err != nil && !strings.Contains(err.Error(), "ValidationException: "+message) {
		t.Errorf("got %v, want message %s", err, message)
	}
}

// wantReasons fails the case unless err is a canceled transaction with these codes; it returns the reasons.
func wantReasons(t T, err error, codes ...string) []types.CancellationReason {
	t.Helper()
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		t.Fatalf("got %v, want a cancelled transaction", err)
	}
	var got []string
	for _, reason := range canceled.CancellationReasons {
		got = append(got, aws.ToString(reason.Code))
	}
	if !slices.Equal(got, codes) {
		t.Fatalf("reasons %v, want %v", got, codes)
	}
	return canceled.CancellationReasons
}
