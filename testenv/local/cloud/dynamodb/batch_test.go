package dynamodb_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
)

func batchPut(it item) types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: it}}
}

func batchDelete(k item) types.WriteRequest {
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: k}}
}

func (w *world) batch(t testing.TB, writes ...types.WriteRequest) (*sdk.BatchWriteItemOutput, error) {
	return w.BatchWriteItem(t.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"ledger": writes}})
}

func TestBatchWritesAndReads(t *testing.T) {
	w := newWorld(t)
	w.put(t, key("p", "old"))
	out, err := w.batch(t, batchPut(with(key("p", "a"), "v", num("1"))), batchPut(key("p", "b")), batchDelete(key("p", "old")))
	if err != nil || len(out.UnprocessedItems) != 0 {
		t.Fatalf("batch: %v, %v", out, err)
	}
	got, err := w.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		"ledger": {Keys: []item{key("p", "a"), key("p", "b"), key("p", "old")}, ConsistentRead: aws.Bool(true)},
	}})
	if err != nil || len(got.Responses["ledger"]) != 2 || len(got.UnprocessedKeys) != 0 {
		t.Errorf("read back %v, %v; want a and b", got, err)
	}
}

func TestBatchLimits(t *testing.T) {
	w := newWorld(t)
	var writes []types.WriteRequest
	var wanted []item
	for i := range 101 {
		wanted = append(wanted, key("p", fmt.Sprint(i)))
		if i < 26 {
			writes = append(writes, batchPut(key("p", fmt.Sprint(i))))
		}
	}
	if _, err := w.batch(t, writes[:25]...); err != nil {
		t.Errorf("25 writes: %v", err)
	}
	_, err := w.batch(t, writes...)
	wantError(t, err, "ValidationException", "")
	_, err = w.batch(t, batchPut(key("p", "a")), batchDelete(key("p", "a")))
	wantError(t, err, "ValidationException", "Provided list of item keys contains duplicates")
	get := func(keys []item) error {
		_, err := w.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"ledger": {Keys: keys}}})
		return err
	}
	if err := get(wanted[:100]); err != nil {
		t.Errorf("100 reads: %v", err)
	}
	wantError(t, get(wanted), "ValidationException", "Too many items requested for the BatchGetItem call")
	wantError(t, get([]item{wanted[0], wanted[0]}), "ValidationException", "Provided list of item keys contains duplicates")
}

func TestBatchIsRefusedAsAWhole(t *testing.T) {
	w := newWorld(t)
	_, err := w.batch(t, batchPut(key("p", "a")), batchPut(item{"pk": str("p")}))
	wantError(t, err, "ValidationException", "One or more parameter values were invalid: Missing the key sk in the item")
	if w.get(t, "p", "a") != nil {
		t.Error("the refused batch left an item")
	}
}

func TestBatchHandsBackWhatAFaultLeavesOut(t *testing.T) {
	w := newWorld(t)
	w.model.SetFaults(dynamodb.Faults{Batch: func(n int, _ dynamodb.ItemRef) bool { return n == 2 || n == 3 }})
	out, err := w.batch(t, batchPut(key("p", "a")), batchPut(key("p", "b")))
	if err != nil || len(out.UnprocessedItems["ledger"]) != 1 {
		t.Fatalf("got %v, %v; want one write left", out, err)
	}
	got, err := w.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		"ledger": {Keys: []item{key("p", "a")}, ProjectionExpression: aws.String("pk")},
	}})
	if err != nil || len(got.UnprocessedKeys["ledger"].Keys) != 1 || aws.ToString(got.UnprocessedKeys["ledger"].ProjectionExpression) != "pk" {
		t.Fatalf("got %v, %v; want the read left, as it was asked", got, err)
	}
	if _, err := w.batch(t, out.UnprocessedItems["ledger"]...); err != nil {
		t.Fatal(err)
	}
	if w.get(t, "p", "b") == nil {
		t.Error("sending what was left did not write it")
	}
}
