package dynamodb_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestUsageIsWhatRequestsReport checks the meter against the capacity that requests report, and against AWS's rules where
// they report none.
func TestUsageIsWhatRequestsReport(t *testing.T) {
	w := newWorld(t)
	put := func(k string, sizeBytes int, condition *string) error {
		_, err := w.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("ledger"), Item: payload(key("p", k), sizeBytes), ConditionExpression: condition})
		return err
	}
	steps := []struct {
		name        string
		do          func() error
		read, write float64
	}{
		{"a put of 2 KB", func() error { return put("a", 2000, nil) }, 0, 2},
		{"a put that is refused takes what the item there is", func() error {
			if err := put("a", 100, aws.String("attribute_not_exists(pk)")); err == nil || !strings.Contains(err.Error(), "ConditionalCheckFailed") {
				t.Fatalf("got %v, want a refusal", err)
			}
			return nil
		}, 0, 2},
		{"a consistent read of 2 KB", func() error {
			_, err := w.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("ledger"), Key: key("p", "a"), ConsistentRead: aws.Bool(true)})
			return err
		}, 1, 0},
		{"a query of nothing, consistent some time or other", func() error {
			_, err := w.Query(t.Context(), &sdk.QueryInput{
				TableName: aws.String("ledger"), KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: item{":p": str("nobody")},
			})
			return err
		}, 0.5, 0},
		{"a transaction of a put and a check counts twice", func() error {
			_, err := w.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: aws.String("ledger"), Item: payload(key("p", "b"), 1000)}},
				{ConditionCheck: &types.ConditionCheck{TableName: aws.String("ledger"), Key: key("p", "a"), ConditionExpression: aws.String("attribute_exists(pk)")}},
			}})
			return err
		}, 0, 6},
		{"a batch of two reads", func() error {
			_, err := w.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				"ledger": {ConsistentRead: aws.Bool(true), Keys: []map[string]types.AttributeValue{key("p", "a"), key("p", "b")}},
			}})
			return err
		}, 2, 0},
	}
	for _, s := range steps {
		before := w.model.Usage()
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		after := w.model.Usage()
		if read, write := after.ReadUnits-before.ReadUnits, after.WriteUnits-before.WriteUnits; read != s.read || write != s.write {
			t.Errorf("%s takes %g read and %g write units, want %g and %g", s.name, read, write, s.read, s.write)
		}
	}
	if got := w.model.SizeBytes(); got != 2000+1000+2*100 {
		t.Errorf("the table is billed for %d bytes, want 3200", got)
	}
}
