package dynamodb_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
)

func putAction(it item, condition ...string) types.TransactWriteItem {
	p := &types.Put{TableName: aws.String("ledger"), Item: it}
	if len(condition) > 0 {
		p.ConditionExpression = aws.String(condition[0])
	}
	return types.TransactWriteItem{Put: p}
}

func addAction(k item, n string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String("ledger"), Key: k, UpdateExpression: aws.String("ADD v :n"), ExpressionAttributeValues: item{":n": num(n)},
	}}
}

func deleteAction(k item) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String("ledger"), Key: k}}
}

func checkAction(k item, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: aws.String("ledger"), Key: k, ConditionExpression: aws.String(condition),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

func (w *world) transact(ctx context.Context, token string, actions ...types.TransactWriteItem) error {
	_, err := w.TransactWriteItems(ctx, &sdk.TransactWriteItemsInput{TransactItems: actions, ClientRequestToken: aws.String(token)})
	return err
}

func TestTransactionDoesAllOrNothing(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("p", "counter"), "v", num("1")))
	w.put(t, key("p", "old"))
	err := w.transact(t.Context(), "t1",
		putAction(key("p", "new"), "attribute_not_exists(pk)"), addAction(key("p", "counter"), "2"),
		deleteAction(key("p", "old")), checkAction(key("p", "none"), "attribute_not_exists(pk)"))
	if err != nil {
		t.Fatal(err)
	}
	if w.get(t, "p", "new") == nil || number(w.get(t, "p", "counter"), "v") != "3" || w.get(t, "p", "old") != nil || w.get(t, "p", "none") != nil {
		t.Error("not every action took effect")
	}
	err = w.transact(t.Context(), "t2", addAction(key("p", "counter"), "10"),
		putAction(key("p", "new"), "attribute_not_exists(pk)"), checkAction(key("p", "counter"), "attribute_not_exists(v)"))
	wantError(t, err, "ValidationException", "Transaction request cannot include multiple operations on one item")
	err = w.transact(t.Context(), "t3", addAction(key("p", "counter"), "10"), putAction(key("p", "new"), "attribute_not_exists(pk)"))
	wantReasons(t, err, "None", "ConditionalCheckFailed")
	if got := number(w.get(t, "p", "counter"), "v"); got != "3" {
		t.Errorf("counter = %s after a cancelled transaction", got)
	}
}

func TestCancellationReasonsStandInOrderAndShowTheItem(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("p", "lease"), "v", num("7"), "g1sk", str("x")))
	err := w.transact(t.Context(), "t1",
		checkAction(key("p", "other"), "attribute_not_exists(pk)"),
		checkAction(key("p", "lease"), "attribute_not_exists(v)"),
		types.TransactWriteItem{Update: &types.Update{
			TableName: aws.String("ledger"), Key: key("p", "third"), UpdateExpression: aws.String("SET v = v + :n"), ExpressionAttributeValues: item{":n": num("1")},
		}},
		putAction(item{"pk": str("p")}))
	reasons := wantReasons(t, err, "None", "None", "None", "ValidationError")
	if got := aws.ToString(reasons[3].Message); got != "One or more parameter values were invalid: Missing the key sk in the item" {
		t.Errorf("message %q", got)
	}
	err = w.transact(t.Context(), "t2",
		checkAction(key("p", "other"), "attribute_not_exists(pk)"),
		checkAction(key("p", "lease"), "attribute_not_exists(v)"),
		types.TransactWriteItem{Update: &types.Update{
			TableName: aws.String("ledger"), Key: key("p", "third"), UpdateExpression: aws.String("SET v = v + :n"), ExpressionAttributeValues: item{":n": num("1")},
		}})
	reasons = wantReasons(t, err, "None", "ConditionalCheckFailed", "ValidationError")
	if number(reasons[1].Item, "v") != "7" || aws.ToString(reasons[1].Message) != "The conditional request failed" {
		t.Errorf("second reason %v, want the item with v = 7", reasons[1])
	}
	if got := aws.ToString(reasons[2].Message); got != "The provided expression refers to an attribute that does not exist in the item" {
		t.Errorf("third message %q", got)
	}
	wantError(t, err, "TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed, ValidationError]")
}

func TestTransactionLimits(t *testing.T) {
	w := newWorld(t)
	var actions []types.TransactWriteItem
	for i := range 101 {
		actions = append(actions, putAction(key("p", fmt.Sprint(i))))
	}
	if err := w.transact(t.Context(), "hundred", actions[:100]...); err != nil {
		t.Errorf("100 actions: %v", err)
	}
	wantError(t, w.transact(t.Context(), "more", actions...), "ValidationException",
		"1 validation error detected: Value '101' at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100")
	payload := str(strings.Repeat("x", 390<<10))
	actions = nil
	for i := range 11 {
		actions = append(actions, putAction(with(key("big", fmt.Sprint(i)), "v", payload)))
	}
	if err := w.transact(t.Context(), "4mb", actions[:10]...); err != nil {
		t.Errorf("3.9 MB: %v", err)
	}
	wantError(t, w.transact(t.Context(), "4.2mb", actions...), "ValidationException", "")
	if w.get(t, "big", "10") != nil {
		t.Error("a refused transaction left an item")
	}
	wantError(t, w.transact(t.Context(), "nowhere", types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String("nowhere"), Key: key("a", "b")}}),
		"ResourceNotFoundException", "Requested resource not found")
	wantError(t, w.transact(t.Context(), "both", types.TransactWriteItem{Put: actions[0].Put, Delete: &types.Delete{TableName: aws.String("ledger"), Key: key("a", "b")}}),
		"ValidationException", "TransactItems can only contain one of Check, Put, Update or Delete")
}

func TestTokenMakesATransactionHappenOnceForTenMinutes(t *testing.T) {
	w := newWorld(t)
	add := func(token, n string) error { return w.transact(t.Context(), token, addAction(key("p", "v"), n)) }
	for range 3 {
		if err := add("token", "1"); err != nil {
			t.Fatal(err)
		}
	}
	if got := number(w.get(t, "p", "v"), "v"); got != "1" {
		t.Fatalf("v = %s after one transaction sent three times", got)
	}
	wantError(t, add("token", "2"), "IdempotentParameterMismatchException", "")
	w.clock.Advance(10*time.Minute - time.Second)
	if err := add("token", "1"); err != nil {
		t.Fatal(err)
	}
	if got := number(w.get(t, "p", "v"), "v"); got != "1" {
		t.Errorf("v = %s, the token was forgotten too early", got)
	}
	w.clock.Advance(time.Second)
	if err := add("token", "2"); err != nil {
		t.Fatal(err)
	}
	if got := number(w.get(t, "p", "v"), "v"); got != "3" {
		t.Errorf("v = %s, the token is still remembered", got)
	}
}

func TestTokenOfACanceledTransactionIsFree(t *testing.T) {
	w := newWorld(t)
	check := checkAction(key("p", "gate"), "attribute_exists(pk)")
	wantReasons(t, w.transact(t.Context(), "token", check, addAction(key("p", "v"), "1")), "ConditionalCheckFailed", "None")
	w.put(t, key("p", "gate"))
	if err := w.transact(t.Context(), "token", check, addAction(key("p", "v"), "1")); err != nil {
		t.Errorf("second try: %v", err)
	}
	if got := number(w.get(t, "p", "v"), "v"); got != "1" {
		t.Errorf("v = %s", got)
	}
}

func TestChosenTransactionConflicts(t *testing.T) {
	w := newWorld(t)
	w.model.SetFaults(dynamodb.ConflictOnTransaction(2, 1))
	for n := 1; n <= 3; n++ {
		err := w.transact(t.Context(), fmt.Sprint("t", n), addAction(key("p", "a"), "1"), addAction(key("p", "b"), "1"))
		if n != 2 {
			if err != nil {
				t.Errorf("transaction %d: %v", n, err)
			}
			continue
		}
		reasons := wantReasons(t, err, "None", "TransactionConflict")
		if got := aws.ToString(reasons[1].Message); got != "Transaction is ongoing for the item" {
			t.Errorf("message %q", got)
		}
	}
	if got := number(w.get(t, "p", "a"), "v"); got != "2" {
		t.Errorf("a = %s, want 2: the conflicting transaction did nothing", got)
	}
	w.model.SetFaults(dynamodb.Faults{Write: func(n int, it dynamodb.ItemRef) bool { return n == 1 && it.Key["sk"].Text == "a" }})
	_, err := w.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("ledger"), Item: key("p", "a")})
	wantError(t, err, "TransactionConflictException", "Transaction is ongoing for the item")
	w.put(t, key("p", "a"))
}

func TestTransactionInProgressKeepsOthersOff(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("p", "a"), "v", num("1")))
	w.model.SetDurations(dynamodb.Durations{Transaction: time.Second})
	err := w.within(t, time.Second, func(ctx context.Context) error {
		return w.transact(ctx, "first", addAction(key("p", "a"), "1"), checkAction(key("p", "b"), "attribute_not_exists(pk)"))
	}, func() {
		_, err := w.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("ledger"), Item: key("p", "a")})
		wantError(t, err, "TransactionConflictException", "Transaction is ongoing for the item")
		wantReasons(t, w.transact(t.Context(), "second", addAction(key("p", "c"), "1"), addAction(key("p", "b"), "1")), "None", "TransactionConflict")
		_, err = w.TransactGetItems(t.Context(), &sdk.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
			{Get: &types.Get{TableName: aws.String("ledger"), Key: key("p", "a")}},
		}})
		wantReasons(t, err, "TransactionConflict")
		batch, err := w.BatchWriteItem(t.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
			"ledger": {{PutRequest: &types.PutRequest{Item: key("p", "a")}}, {PutRequest: &types.PutRequest{Item: key("p", "d")}}},
		}})
		if err != nil || len(batch.UnprocessedItems["ledger"]) != 1 {
			t.Errorf("batch: %v, %v; want one unprocessed item", batch, err)
		}
		wantError(t, w.transact(t.Context(), "first", addAction(key("p", "a"), "1"), checkAction(key("p", "b"), "attribute_not_exists(pk)")),
			"TransactionInProgressException", "")
		if got := number(w.get(t, "p", "a"), "v"); got != "1" {
			t.Errorf("a read meanwhile shows %s, want the value before", got)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := number(w.get(t, "p", "a"), "v"); got != "2" {
		t.Errorf("a = %s after the transaction", got)
	}
	w.put(t, key("p", "a")) // nothing is held any more
}

func TestWriteInProgressCancelsATransactionButNotAnotherWrite(t *testing.T) {
	w := newWorld(t)
	w.model.SetDurations(dynamodb.Durations{Write: time.Second})
	put := func(v string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := w.PutItem(ctx, &sdk.PutItemInput{TableName: aws.String("ledger"), Item: with(key("p", "a"), "v", num(v))})
			return err
		}
	}
	var second error
	first := w.within(t, time.Second, put("1"), func() {
		wantReasons(t, w.transact(t.Context(), "t", addAction(key("p", "a"), "1")), "TransactionConflict")
		second = w.within(t, time.Second, put("2"), func() {})
	})
	if first != nil || second != nil {
		t.Errorf("writes: %v, %v", first, second)
	}
	w.model.SetDurations(dynamodb.Durations{})
	if err := w.transact(t.Context(), "t", addAction(key("p", "a"), "1")); err != nil {
		t.Errorf("after the writes: %v", err)
	}
}

func TestTransactGetReadsInOrder(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("p", "a"), "v", num("1"), "x", str("y")))
	out, err := w.TransactGetItems(t.Context(), &sdk.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: aws.String("ledger"), Key: key("p", "none")}},
		{Get: &types.Get{TableName: aws.String("ledger"), Key: key("p", "a"), ProjectionExpression: aws.String("v")}},
	}})
	if err != nil || len(out.Responses) != 2 || out.Responses[0].Item != nil || len(out.Responses[1].Item) != 1 {
		t.Errorf("got %v, %v", out, err)
	}
}
