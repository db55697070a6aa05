package probes

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

// as returns an error of a type.
func as[E error](err error) (E, bool) {
	var e E
	return e, errors.As(err, &e)
}

func capacity(c *types.ConsumedCapacity) string {
	if c == nil {
		return "none"
	}
	return strconv.FormatFloat(aws.ToFloat64(c.CapacityUnits), 'g', -1, 64)
}

func transactions() []proof.Probe {
	check := table("dynamodb-condition-check-cost", "a ConditionCheck costs as much as a write of its item", "TransactWriteItems of a ConditionCheck and a Put",
		proof.Seen{"units": "6"}, conditionCheckCost)
	check.Readings = []proof.Reading{
		{Name: "write", Says: "a ConditionCheck costs two write units per KB, as a write in a transaction does", Want: proof.Seen{"units": "6"}},
		{Name: "free", Says: "a ConditionCheck costs no write units", Want: proof.Seen{"units": "4"}},
	}
	cheap := table("dynamodb-token-repeat-cost", "a repeated transaction costs reads of what was written, and no writes", "TransactWriteItems twice with one token",
		proof.Seen{"second": "2"}, tokenRepeatCost)
	cheap.Readings = []proof.Reading{
		{Name: "reads", Says: "a repetition costs read units", Want: proof.Seen{"second": "2", "written": "0"}},
		{Name: "writes", Says: "a repetition costs what the first time did", Want: proof.Seen{"second": "4"}},
	}
	parts := table("dynamodb-transaction-asks-each-part", "TransactWriteItems asks for the action of each part", "a Put and a Delete by a session that may put only",
		proof.Seen{"put": "ok", "put and delete": "AccessDeniedException"}, transactionParts)
	parts.Rights = append(append([]string{}, roleRights...), tableRights...)
	conflict := table("dynamodb-batch-conflict", "the error of a batch with items that are in a transaction", "TransactWriteItems of 25 items again and again, BatchWriteItem of the same meanwhile", nil, batchConflict)
	conflict.Readings = []proof.Reading{
		{Name: "items", Says: "such items come back as unprocessed", Want: proof.Seen{"batch": "unprocessed"}},
		{Name: "whole", Says: "the batch is refused as a whole", Want: proof.Seen{"batch": "TransactionConflictException"}},
	}
	conflict.Rights, conflict.Cost = append([]string{"dynamodb:BatchWriteItem"}, tableRights...), 0.05
	return []proof.Probe{
		table("dynamodb-transaction-reasons", "a canceled transaction gives a reason for each part in order, and shows the items that were asked for",
			"TransactWriteItems of which the second of three conditions fails", proof.Seen{"code": "TransactionCanceledException", "reasons": "None ConditionalCheckFailed None", "item": "old"}, transactionReasons),
		table("dynamodb-token-happens-once", "a transaction with a token happens once; with other parameters it is IdempotentParameterMismatchException",
			"TransactWriteItems that adds 1, twice with one token; another one with it", proof.Seen{"second": "ok", "n": "1", "others": "IdempotentParameterMismatchException"}, tokenOnce),
		table("dynamodb-token-free-after-cancel", "a canceled transaction leaves its token free", "a canceled TransactWriteItems, the same after the condition holds",
			proof.Seen{"first": "TransactionCanceledException", "second": "ok", "n": "1"}, tokenFree),
		table("dynamodb-transaction-double", "a write in a transaction costs double", "TransactWriteItems of one small Put", proof.Seen{"units": "4"}, transactionDouble),
		table("dynamodb-transaction-one-action-per-item", "a transaction with two actions on one item is refused", "TransactWriteItems of a Put and an Update of one item", proof.Seen{"code": "ValidationException"}, twoActions),
		check, cheap, parts, conflict,
	}
}

// transactionsAtOnce is how many transactions, and how many batches beside them, are made at most until one meets another.
const transactionsAtOnce = 40

func batchConflict(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		var parts []types.TransactWriteItem
		var writes []types.WriteRequest
		for i := range 25 {
			k := key("conflict", count(i))
			parts = append(parts, addPart(name, k, "1"))
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: k}})
		}
		// Of small items a request's length says too little.
		if err := e.Spend("a thousand items in transactions and as many in batches", 0.02); err != nil {
			return nil, err
		}
		during, stop := context.WithCancel(ctx)
		var all sync.WaitGroup
		all.Go(func() {
			for n := 0; n < transactionsAtOnce && during.Err() == nil; n++ {
				// What a batch says of a transaction is not asked here.
				_, _ = e.DynamoDB.TransactWriteItems(during, &dynamodb.TransactWriteItemsInput{TransactItems: parts, ClientRequestToken: aws.String(e.Token("conflict", count(n)))})
			}
		})
		defer all.Wait()
		defer stop()
		once := e.With(func(c *aws.Config) { c.RetryMaxAttempts = 1 })
		for range transactionsAtOnce {
			out, err := once.DynamoDB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{name: writes}})
			switch {
			case err != nil:
				return proof.Seen{"batch": proof.Code(err)}, proof.Answered(err)
			case len(out.UnprocessedItems) > 0:
				return proof.Seen{"batch": "unprocessed"}, nil
			}
		}
		return nil, errorf("of %d batches none met a transaction: try again", transactionsAtOnce)
	})
}

func transact(ctx context.Context, c *dynamodb.Client, token *string, parts ...types.TransactWriteItem) (*dynamodb.TransactWriteItemsOutput, error) {
	return c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: parts, ClientRequestToken: token, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
}

func putPart(table string, i item, condition string) types.TransactWriteItem {
	p := &types.Put{TableName: &table, Item: i, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	if condition != "" {
		p.ConditionExpression = &condition
	}
	return types.TransactWriteItem{Put: p}
}

func addPart(table string, k item, n string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: k, UpdateExpression: aws.String("ADD n :n"), ExpressionAttributeValues: item{":n": number(n)},
	}}
}

func checkPart(table string, k item, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: k, ConditionExpression: &condition}}
}

func units0(all []types.ConsumedCapacity) string {
	if len(all) == 0 {
		return "none"
	}
	return capacity(&all[0])
}

func transactionReasons(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		if err := putItem(ctx, e, name, with(key("reasons", "b"), item{"v": text("old")})); err != nil {
			return nil, err
		}
		_, err := transact(ctx, e.DynamoDB, nil,
			putPart(name, key("reasons", "a"), "attribute_not_exists(PK)"), putPart(name, key("reasons", "b"), "attribute_not_exists(PK)"), putPart(name, key("reasons", "c"), "attribute_not_exists(PK)"))
		seen := proof.Seen{"code": proof.Code(err)}
		if canceled, ok := as[*types.TransactionCanceledException](err); ok {
			var reasons []string
			for _, r := range canceled.CancellationReasons {
				reasons = append(reasons, aws.ToString(r.Code))
			}
			seen["reasons"] = strings.Join(reasons, " ")
			if len(reasons) == 3 {
				seen["item"] = stringOf(canceled.CancellationReasons[1].Item["v"])
			}
		}
		return seen, proof.Answered(err)
	})
}

func numberOf(ctx context.Context, e *proof.Env, table string, k item) (string, error) {
	out, err := e.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: k, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return "", err
	}
	return stringOf(out.Item["n"]), nil
}

func tokenOnce(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		k, token := key("token", "once"), aws.String(e.Token("once"))
		if _, err := transact(ctx, e.DynamoDB, token, addPart(name, k, "1")); err != nil {
			return nil, err
		}
		_, second := transact(ctx, e.DynamoDB, token, addPart(name, k, "1"))
		_, others := transact(ctx, e.DynamoDB, token, addPart(name, k, "2"))
		n, err := numberOf(ctx, e, name, k)
		return proof.Seen{"second": proof.Code(second), "n": n, "others": proof.Code(others)}, proof.Answered(second, others, err)
	})
}

func tokenFree(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		k, gate, token := key("token", "free"), key("token", "gate"), aws.String(e.Token("free"))
		_, first := transact(ctx, e.DynamoDB, token, addPart(name, k, "1"), checkPart(name, gate, "attribute_exists(PK)"))
		if err := putItem(ctx, e, name, gate); err != nil {
			return nil, err
		}
		_, second := transact(ctx, e.DynamoDB, token, addPart(name, k, "1"), checkPart(name, gate, "attribute_exists(PK)"))
		n, err := numberOf(ctx, e, name, k)
		return proof.Seen{"first": proof.Code(first), "second": proof.Code(second), "n": n}, proof.Answered(first, second, err)
	})
}

func transactionDouble(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		out, err := transact(ctx, e.DynamoDB, nil, putPart(name, key("double", "one"), ""))
		if err != nil {
			return nil, err
		}
		return proof.Seen{"units": units0(out.ConsumedCapacity)}, nil // two of the table, two of its index
	})
}

func twoActions(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		_, err := transact(ctx, e.DynamoDB, nil, putPart(name, key("two", "one"), ""), addPart(name, key("two", "one"), "1"))
		return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
	})
}

func conditionCheckCost(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		out, err := transact(ctx, e.DynamoDB, nil, putPart(name, key("check", "one"), ""), checkPart(name, key("check", "two"), "attribute_not_exists(PK)"))
		if err != nil {
			return nil, err
		}
		return proof.Seen{"units": units0(out.ConsumedCapacity)}, nil
	})
}

func tokenRepeatCost(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		token := aws.String(e.Token("cost"))
		if _, err := transact(ctx, e.DynamoDB, token, putPart(name, key("cost", "one"), "")); err != nil {
			return nil, err
		}
		out, err := transact(ctx, e.DynamoDB, token, putPart(name, key("cost", "one"), ""))
		if err != nil {
			return nil, err
		}
		seen := proof.Seen{"second": units0(out.ConsumedCapacity)}
		if len(out.ConsumedCapacity) > 0 {
			seen["written"] = strconv.FormatFloat(aws.ToFloat64(out.ConsumedCapacity[0].WriteCapacityUnits), 'g', -1, 64)
		}
		return seen, nil
	})
}

func transactionParts(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		c, err := proof.Session(ctx, e, proof.Statement{Effect: "Allow", Action: []string{"dynamodb:PutItem"}, Resource: []string{"*"}})
		if err != nil {
			return nil, err
		}
		_, put := transact(ctx, c.DynamoDB, nil, putPart(name, key("parts", "one"), ""))
		_, both := transact(ctx, c.DynamoDB, nil, putPart(name, key("parts", "one"), ""),
			types.TransactWriteItem{Delete: &types.Delete{TableName: &name, Key: key("parts", "two")}})
		return proof.Seen{"put": proof.Code(put), "put and delete": proof.Code(both)}, proof.Answered(put, both)
	})
}
