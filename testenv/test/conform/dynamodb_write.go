package conform

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (l *dynamoLedger) writeCases() []Case {
	return []Case{
		{"a conditional put refuses an item that is there and shows it", func(t T) {
			p := Unique("p")
			put := func(v string) error {
				_, err := l.PutItem(t.Context(), &dynamodb.PutItemInput{
					TableName: &l.table, Item: dynamoKey(p, "a", "v", dynamoNumber(v)), ConditionExpression: aws.String("attribute_not_exists(pk)"),
					ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
				})
				return err
			}
			if err := put("1"); err != nil {
				t.Fatalf("first put: %v", err)
			}
			var failed *types.ConditionalCheckFailedException
			if err := put("2"); !errors.As(err, &failed) || dynamoText(failed.Item, "v") != "1" {
				t.Fatalf("second put: %v, want a failed condition that shows v = 1", err)
			}
			if got := dynamoText(l.get(t, p, "a"), "v"); got != "1" {
				t.Errorf("v = %s, want 1", got)
			}
		}},
		{"a lease is taken only by a higher token or after its end", func(t T) {
			p := Unique("p")
			take := func(owner, now, end string) error {
				_, err := l.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
					TableName: &l.table, Key: dynamoKey(p, "LEASE"),
					UpdateExpression:          aws.String("SET holder = :o, ends = :e ADD fence :one"),
					ConditionExpression:       aws.String("attribute_not_exists(pk) OR holder = :o OR ends < :now"),
					ExpressionAttributeValues: dynamoItem{":o": dynamoString(owner), ":e": dynamoNumber(end), ":now": dynamoNumber(now), ":one": dynamoNumber("1")},
				})
				return err
			}
			if err := take("a", "100", "130"); err != nil {
				t.Fatalf("take a free lease: %v", err)
			}
			wantCode(t, take("b", "120", "150"), "ConditionalCheckFailedException")
			if err := take("a", "120", "150"); err != nil {
				t.Errorf("renew: %v", err)
			}
			if err := take("b", "151", "180"); err != nil {
				t.Errorf("take after the end: %v", err)
			}
			if got := l.get(t, p, "LEASE"); dynamoText(got, "fence") != "3" || dynamoText(got, "holder") != "b" {
				t.Errorf("lease %v, want fence 3 held by b", got)
			}
		}},
		{"eight writers lose no compare-and-set", func(t T) {
			p := Unique("p")
			l.put(t, dynamoKey(p, "counter", "v", dynamoNumber("0")))
			const writers, raises = 8, 10
			var group sync.WaitGroup
			for range writers {
				group.Go(func() {
					for done := 0; done < raises; {
						seen := l.get(t, p, "counter")["v"]
						_, err := l.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
							TableName: &l.table, Key: dynamoKey(p, "counter"), UpdateExpression: aws.String("SET v = v + :one"), ConditionExpression: aws.String("v = :seen"),
							ExpressionAttributeValues: dynamoItem{":one": dynamoNumber("1"), ":seen": seen},
						})
						var failed *types.ConditionalCheckFailedException
						switch {
						case err == nil:
							done++
						case !errors.As(err, &failed):
							t.Errorf("raise: %v", err)
							return
						}
					}
				})
			}
			group.Wait()
			if got := dynamoText(l.get(t, p, "counter"), "v"); got != fmt.Sprint(writers*raises) {
				t.Errorf("counter = %s, want %d", got, writers*raises)
			}
		}},
		{"return values show the updated parts, before or after", func(t T) {
			p := Unique("p")
			for want, names := range map[types.ReturnValue]string{
				types.ReturnValueUpdatedOld: "v=1 w=", types.ReturnValueUpdatedNew: "v=2 w=x", types.ReturnValueAllOld: "v=1 w=", types.ReturnValueNone: "v= w=",
			} {
				l.put(t, dynamoKey(p, "a", "v", dynamoNumber("1")))
				out, err := l.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
					TableName: &l.table, Key: dynamoKey(p, "a"), UpdateExpression: aws.String("SET v = v + :one, w = :x"), ReturnValues: want,
					ExpressionAttributeValues: dynamoItem{":one": dynamoNumber("1"), ":x": dynamoString("x")},
				})
				if err != nil {
					t.Fatalf("%s: %v", want, err)
				}
				if got := "v=" + dynamoText(out.Attributes, "v") + " w=" + dynamoText(out.Attributes, "w"); got != names {
					t.Errorf("%s returns %s, want %s", want, got, names)
				}
				_, whole := out.Attributes["sk"]
				if whole != (want == types.ReturnValueAllOld) {
					t.Errorf("%s returns the key: %v", want, whole)
				}
			}
		}},
		{"an item over 400 KB is refused", func(t T) {
			_, err := l.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: &l.table, Item: dynamoKey(Unique("p"), "a", "v", dynamoString(strings.Repeat("x", 400<<10))),
			})
			wantInvalid(t, err, "Item size has exceeded the maximum allowed size")
		}},
		{"a key of the wrong shape, type or emptiness is refused", func(t T) {
			put := func(it dynamoItem) error {
				_, err := l.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.table, Item: it})
				return err
			}
			wantInvalid(t, put(dynamoItem{"pk": dynamoString("p")}), "One or more parameter values were invalid: Missing the key sk in the item")
			wantInvalid(t, put(dynamoItem{"pk": dynamoString("p"), "sk": dynamoNumber("1")}), "One or more parameter values were invalid: Type mismatch for key sk expected: S actual: N")
			wantCode(t, put(dynamoKey("p", "")), "ValidationException")
			_, err := l.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &l.table, Key: dynamoItem{"pk": dynamoString("p")}})
			wantInvalid(t, err, "The provided key element does not match the schema")
		}},
		{"an index key of the wrong type is refused", func(t T) {
			_, err := l.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.table, Item: dynamoKey(Unique("p"), "a", "g1pk", dynamoNumber("1"))})
			wantInvalid(t, err, "One or more parameter values were invalid: Type mismatch")
		}},
		{"the key cannot be updated", func(t T) {
			_, err := l.update(t, dynamoKey(Unique("p"), "a"), "SET sk = :v", dynamoItem{":v": dynamoString("b")})
			wantInvalid(t, err, "One or more parameter values were invalid: Cannot update attribute sk. This attribute is part of the key")
		}},
		{"a batch writes and reads", func(t T) {
			p := Unique("p")
			if err := l.putBatch(t, p, "a", "b"); err != nil {
				t.Fatalf("batch: %v", err)
			}
			out, err := l.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				l.table: {Keys: []dynamoItem{dynamoKey(p, "a"), dynamoKey(p, "b"), dynamoKey(p, "c")}},
			}})
			if err != nil || len(out.Responses[l.table]) != 2 {
				t.Errorf("read %v, %v; want two items", out, err)
			}
		}},
		{"a batch refuses a key twice", func(t T) {
			wantInvalid(t, l.putBatch(t, Unique("p"), "a", "a"), "Provided list of item keys contains duplicates")
		}},
		{"a batch of more than 25 writes is refused", func(t T) {
			var requests []types.WriteRequest
			for i := range 26 {
				requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: dynamoKey(Unique("p"), fmt.Sprint(i))}})
			}
			_, err := l.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{l.table: requests}})
			wantCode(t, err, "ValidationException")
		}},
	}
}

// putBatch puts items of a partition in one batch.
func (l *dynamoLedger) putBatch(t T, pk string, keys ...string) error {
	t.Helper()
	var requests []types.WriteRequest
	for _, sk := range keys {
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: dynamoKey(pk, sk)}})
	}
	_, err := l.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{l.table: requests}})
	return err
}
