package conform

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (l *dynamoLedger) putAction(it dynamoItem) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: &l.table, Item: it, ConditionExpression: aws.String("attribute_not_exists(pk)")}}
}

func (l *dynamoLedger) addAction(k dynamoItem, n string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &l.table, Key: k, UpdateExpression: aws.String("ADD v :n"), ExpressionAttributeValues: dynamoItem{":n": dynamoNumber(n)},
	}}
}

func (l *dynamoLedger) checkAction(k dynamoItem, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &l.table, Key: k, ConditionExpression: &condition,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

func (l *dynamoLedger) transact(t T, token string, actions ...types.TransactWriteItem) error {
	t.Helper()
	_, err := l.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: actions, ClientRequestToken: &token})
	return err
}

func (l *dynamoLedger) transactCases() []Case {
	return []Case{
		{"a transaction does all its actions", func(t T) {
			p := Unique("p")
			l.put(t, dynamoKey(p, "old"))
			l.put(t, dynamoKey(p, "counter", "v", dynamoNumber("1")))
			err := l.transact(t, Unique("t"), l.putAction(dynamoKey(p, "new")), l.addAction(dynamoKey(p, "counter"), "2"),
				types.TransactWriteItem{Delete: &types.Delete{TableName: &l.table, Key: dynamoKey(p, "old")}},
				l.checkAction(dynamoKey(p, "none"), "attribute_not_exists(pk)"))
			if err != nil {
				t.Fatalf("transact: %v", err)
			}
			if l.get(t, p, "new") == nil || l.get(t, p, "old") != nil || dynamoText(l.get(t, p, "counter"), "v") != "3" {
				t.Errorf("not every action took effect")
			}
		}},
		{"a cancelled transaction does nothing and gives its reasons in order", func(t T) {
			p := Unique("p")
			l.put(t, dynamoKey(p, "lease", "v", dynamoNumber("7")))
			err := l.transact(t, Unique("t"), l.addAction(dynamoKey(p, "counter"), "1"), l.checkAction(dynamoKey(p, "lease"), "attribute_not_exists(v)"), l.putAction(dynamoKey(p, "new")))
			reasons := wantReasons(t, err, "None", "ConditionalCheckFailed", "None")
			if dynamoText(reasons[1].Item, "v") != "7" {
				t.Errorf("the reason shows %v, want v = 7", reasons[1].Item)
			}
			if l.get(t, p, "counter") != nil || l.get(t, p, "new") != nil {
				t.Errorf("an action took effect")
			}
		}},
		{"every failed condition of a transaction is listed", func(t T) {
			p := Unique("p")
			l.put(t, dynamoKey(p, "a"))
			l.put(t, dynamoKey(p, "b"))
			err := l.transact(t, Unique("t"), l.putAction(dynamoKey(p, "a")), l.putAction(dynamoKey(p, "c")), l.putAction(dynamoKey(p, "b")))
			wantReasons(t, err, "ConditionalCheckFailed", "None", "ConditionalCheckFailed")
		}},
		{"an action that does not fit its item cancels with a validation error", func(t T) {
			p := Unique("p")
			l.put(t, dynamoKey(p, "a", "v", dynamoString("text")))
			wantReasons(t, l.transact(t, Unique("t"), l.putAction(dynamoKey(p, "b")), l.addAction(dynamoKey(p, "a"), "1")), "None", "ValidationError")
		}},
		{"a transaction touches an item once", func(t T) {
			p := Unique("p")
			err := l.transact(t, Unique("t"), l.addAction(dynamoKey(p, "a"), "1"), l.checkAction(dynamoKey(p, "a"), "attribute_exists(pk)"))
			wantInvalid(t, err, "Transaction request cannot include multiple operations on one item")
		}},
		{"a transaction has at most 100 actions", func(t T) {
			p := Unique("p")
			var actions []types.TransactWriteItem
			for i := range 101 {
				actions = append(actions, l.putAction(dynamoKey(p, fmt.Sprint(i))))
			}
			if err := l.transact(t, Unique("t"), actions[:100]...); err != nil {
				t.Errorf("100 actions: %v", err)
			}
			wantCode(t, l.transact(t, Unique("t"), actions...), "ValidationException")
		}},
		{"a token makes a transaction happen once", func(t T) {
			p, token := Unique("p"), Unique("t")
			for range 2 {
				if err := l.transact(t, token, l.addAction(dynamoKey(p, "a"), "1")); err != nil {
					t.Fatalf("transact: %v", err)
				}
			}
			if got := dynamoText(l.get(t, p, "a"), "v"); got != "1" {
				t.Errorf("v = %s, want 1", got)
			}
		}},
		{"a token with other parameters is refused", func(t T) {
			p, token := Unique("p"), Unique("t")
			if err := l.transact(t, token, l.addAction(dynamoKey(p, "a"), "1")); err != nil {
				t.Fatalf("transact: %v", err)
			}
			wantCode(t, l.transact(t, token, l.addAction(dynamoKey(p, "a"), "2")), "IdempotentParameterMismatchException")
		}},
		{"a transactional read answers in order", func(t T) {
			p := Unique("p")
			l.put(t, dynamoKey(p, "a", "v", dynamoNumber("1")))
			out, err := l.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
				{Get: &types.Get{TableName: &l.table, Key: dynamoKey(p, "none")}}, {Get: &types.Get{TableName: &l.table, Key: dynamoKey(p, "a")}},
			}})
			if err != nil || len(out.Responses) != 2 || len(out.Responses[0].Item) != 0 || dynamoText(out.Responses[1].Item, "v") != "1" {
				t.Errorf("got %v, %v", out, err)
			}
		}},
		{"a transaction costs twice its writes", func(t T) {
			out, err := l.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
				TransactItems: []types.TransactWriteItem{l.putAction(dynamoKey(Unique("p"), "a"))}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
			})
			if err != nil || len(out.ConsumedCapacity) != 1 || aws.ToFloat64(out.ConsumedCapacity[0].CapacityUnits) != 2 {
				t.Errorf("got %v, %v; want 2 units", out, err)
			}
		}},
	}
}
