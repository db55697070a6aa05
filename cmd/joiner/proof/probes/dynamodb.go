package probes

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

var tableRights = []string{"dynamodb:CreateTable", "dynamodb:TagResource", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:GetItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem", "dynamodb:Query"}

const tableCost = 0.0005

// table is a probe about DynamoDB with one reading.
func table(id, assumption, about string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
	return proof.Probe{
		ID: id, Service: "dynamodb", Assumption: assumption, About: about, Kind: proof.KindSmall, Cost: tableCost, Lasts: 2 * time.Second,
		Rights: tableRights, Readings: one(assumption, want), Run: run,
	}
}

func tables() []proof.Probe {
	size := table("dynamodb-size-of-text", "size() of a text counts characters", "conditions on size() of the text \"é\"", proof.Seen{"size of é": "1"}, sizeOfText)
	size.Readings = []proof.Reading{
		{Name: "characters", Says: "size() of a text is its length in characters", Want: proof.Seen{"size of é": "1"}},
		{Name: "bytes", Says: "size() of a text is its length in bytes of UTF-8", Want: proof.Seen{"size of é": "2"}},
	}
	sum := table("dynamodb-sum-of-39-digits", "a sum that needs more than 38 digits is refused", "UpdateItem that adds 1 to 10^38 · 1.0…01", proof.Seen{"sum": "ValidationException"}, longSum)
	sum.Readings = []proof.Reading{
		{Name: "refused", Says: "a sum that 38 digits do not hold is refused", Want: proof.Seen{"sum": "ValidationException"}},
		{Name: "rounded", Says: "it is rounded to 38 digits", Want: proof.Seen{"sum": "ok"}},
	}
	arn := table("dynamodb-table-by-arn", "a table may be named by its ARN", "GetItem with the ARN as table name", proof.Seen{"get": "ok"}, byARN)
	making := table("dynamodb-table-creating", "a table is CREATING in the answer that makes it", "CreateTable", proof.Seen{"status": "CREATING"}, tableCreating)
	ttl := table("dynamodb-ttl-hourly", "the time to live of a table is changed once an hour at most, and expired items are returned until they are deleted",
		"UpdateTimeToLive twice, an item that expired an hour ago", proof.Seen{"first": "ok", "second": "ValidationException", "expired item": "there"}, timeToLive)
	ttl.Rights = append([]string{"dynamodb:UpdateTimeToLive"}, tableRights...)
	leading := table("dynamodb-leading-keys", "dynamodb:LeadingKeys are the partition keys of items and of a query's key condition; a scan has none",
		"GetItem, Query and Scan by a session that may touch one partition key", proof.Seen{"own item": "ok", "other item": "AccessDeniedException", "own query": "ok", "other query": "AccessDeniedException", "scan": "AccessDeniedException"}, leadingKeys)
	leading.Rights = append(append([]string{}, roleRights...), tableRights...)
	page := table("dynamodb-page-of-a-megabyte", "a page ends before it passes 1 MB of what was read, before projection and filters", "four items of 300 KB, Query of their keys alone",
		proof.Seen{"first page": "3", "goes on": "yes"}, pageOfMegabyte)
	page.Cost = 0.02
	batch := table("dynamodb-batch-of-25", "a batch of more than 25 is refused", "BatchWriteItem of 26 items", proof.Seen{"26": "ValidationException"}, batchOf26)
	batch.Rights = append([]string{"dynamodb:BatchWriteItem"}, tableRights...)
	return []proof.Probe{
		table("dynamodb-lease-race", "of many conditional writes to an item one wins, and the others get ConditionalCheckFailedException",
			"eight PutItem with attribute_not_exists at once", proof.Seen{"answers": "7 ConditionalCheckFailedException, 1 ok"}, leaseRace),
		table("dynamodb-failed-condition-shows-item", "a failed condition shows the item where it is asked to", "PutItem with ReturnValuesOnConditionCheckFailure", proof.Seen{"code": "ConditionalCheckFailedException", "item": "old"}, failedCondition),
		table("dynamodb-absent-attribute", "an attribute that is absent equals nothing, differs from everything and is neither less nor greater",
			"conditions on an attribute that the item lacks", proof.Seen{"= :v": "no", "<> :v": "yes", "< :v": "no", "> :v": "no"}, absentAttribute),
		size,
		table("dynamodb-update-sees-before", "every right side of an update sees the item as it was before", "UpdateItem that swaps two attributes", proof.Seen{"a": "2", "b": "1"}, swapped),
		table("dynamodb-list-appends", "an index past the end of a list appends, and removed indexes mean the list before", "UpdateItem of a list", proof.Seen{"list": "a c d"}, listIndexes),
		table("dynamodb-numbers-38-digits", "a number has 38 digits at most and comes back in plain notation", "PutItem of 39 digits, of 1E2",
			proof.Seen{"39 digits": "ValidationException", "1E2": "100"}, numbers),
		sum,
		table("dynamodb-units", "a write costs a unit per KB begun and a read one per 4 KB, half where it may be stale", "PutItem of 1.5 KB, GetItem both ways",
			proof.Seen{"write": "4", "consistent": "1", "stale": "0.5"}, units),
		table("dynamodb-limit-names-last-key", "a Limit that is just reached names a last key", "Query with Limit 2 of two items", proof.Seen{"items": "2", "last key": "yes"}, limitReached),
		table("dynamodb-reserved-words", "a reserved word in an expression is refused, and the message names it", "a condition on an attribute called status",
			proof.Seen{"code": "ValidationException", "names it": "yes"}, reservedWord),
		batch,
		table("dynamodb-missing-table", "a table that is not there is ResourceNotFoundException", "GetItem of a table that is not there", proof.Seen{"get": "ResourceNotFoundException"}, missingTable),
		arn, making, ttl, leading, page,
	}
}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// key returns the key of an item of a probe.
func key(probe, sort string) item { return item{"PK": text(probe), "SK": text(sort)} }

func with(i item, more item) item {
	out := item{}
	for name, value := range i {
		out[name] = value
	}
	for name, value := range more {
		out[name] = value
	}
	return out
}

// inTable runs a function on the run's table.
func inTable(ctx context.Context, e *proof.Env, f func(name string) (proof.Seen, error)) (proof.Seen, error) {
	name, err := proof.Table(ctx, e)
	if err != nil {
		return nil, err
	}
	return f(name)
}

func putItem(ctx context.Context, e *proof.Env, table string, i item) error {
	_, err := e.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: i})
	return err
}

// conditionHolds tells whether a condition holds of an item.
func conditionHolds(ctx context.Context, e *proof.Env, table string, k item, condition string, values item) (bool, error) {
	_, err := e.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: k, UpdateExpression: aws.String("SET seen = :seen"), ConditionExpression: &condition,
		ExpressionAttributeValues: with(values, item{":seen": text("yes")}),
	})
	if proof.Code(err) == "ConditionalCheckFailedException" {
		return false, nil
	}
	return err == nil, err
}

func leaseRace(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				_, errs[i] = e.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
					TableName: &name, Item: with(key("lease", "one"), item{"holder": text(count(i))}), ConditionExpression: aws.String("attribute_not_exists(PK)"),
				})
			})
		}
		all.Wait()
		var answers []string
		for _, err := range errs {
			answers = append(answers, proof.Code(err))
		}
		return proof.Seen{"answers": countWords(answers)}, proof.Answered(errs...)
	})
}

func failedCondition(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		if err := putItem(ctx, e, name, with(key("failed", "one"), item{"v": text("old")})); err != nil {
			return nil, err
		}
		_, err := e.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &name, Item: key("failed", "one"), ConditionExpression: aws.String("attribute_not_exists(PK)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		seen := proof.Seen{"code": proof.Code(err)}
		if failed, ok := as[*types.ConditionalCheckFailedException](err); ok {
			seen["item"] = stringOf(failed.Item["v"])
		}
		return seen, proof.Answered(err)
	})
}

func stringOf(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

func absentAttribute(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		k := key("absent", "one")
		if err := putItem(ctx, e, name, k); err != nil {
			return nil, err
		}
		seen := proof.Seen{}
		for _, operator := range []string{"=", "<>", "<", ">"} {
			ok, err := conditionHolds(ctx, e, name, k, "lacking "+operator+" :v", item{":v": number("1")})
			if err != nil {
				return nil, err
			}
			seen[operator+" :v"] = yes(ok)
		}
		return seen, nil
	})
}

func sizeOfText(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		k := key("size", "one")
		if err := putItem(ctx, e, name, with(k, item{"t": text("é")})); err != nil {
			return nil, err
		}
		for n := range 4 {
			ok, err := conditionHolds(ctx, e, name, k, "size(t) = :n", item{":n": number(count(n))})
			if err != nil {
				return nil, err
			}
			if ok {
				return proof.Seen{"size of é": count(n)}, nil
			}
		}
		return proof.Seen{"size of é": "more than 3"}, nil
	})
}

func swapped(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		k := key("swap", "one")
		if err := putItem(ctx, e, name, with(k, item{"a": number("1"), "b": number("2")})); err != nil {
			return nil, err
		}
		out, err := e.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &name, Key: k, UpdateExpression: aws.String("SET a = b, b = a"), ReturnValues: types.ReturnValueAllNew,
		})
		if err != nil {
			return nil, err
		}
		return proof.Seen{"a": stringOf(out.Attributes["a"]), "b": stringOf(out.Attributes["b"])}, nil
	})
}

func listIndexes(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		k := key("list", "one")
		if err := putItem(ctx, e, name, with(k, item{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{text("a"), text("b"), text("c")}}})); err != nil {
			return nil, err
		}
		out, err := e.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &name, Key: k, UpdateExpression: aws.String("SET l[9] = :d REMOVE l[1]"), ExpressionAttributeValues: item{":d": text("d")}, ReturnValues: types.ReturnValueAllNew,
		})
		if err != nil {
			return nil, err
		}
		var words []string
		if l, ok := out.Attributes["l"].(*types.AttributeValueMemberL); ok {
			for _, v := range l.Value {
				words = append(words, stringOf(v))
			}
		}
		return proof.Seen{"list": strings.Join(words, " ")}, nil
	})
}

func numbers(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		long := putItem(ctx, e, name, with(key("numbers", "long"), item{"n": number(strings.Repeat("1", 39))}))
		if err := putItem(ctx, e, name, with(key("numbers", "one"), item{"n": number("1E2")})); err != nil {
			return nil, err
		}
		out, err := e.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: key("numbers", "one"), ConsistentRead: aws.Bool(true)})
		if err != nil {
			return nil, err
		}
		return proof.Seen{"39 digits": proof.Code(long), "1E2": stringOf(out.Item["n"])}, proof.Answered(long)
	})
}

func longSum(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		k := key("sum", "one")
		if err := putItem(ctx, e, name, with(k, item{"n": number("1" + strings.Repeat("0", 37) + "0")})); err != nil {
			return nil, err
		}
		out, err := e.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &name, Key: k, UpdateExpression: aws.String("SET n = n + :one"), ExpressionAttributeValues: item{":one": number("1")}, ReturnValues: types.ReturnValueAllNew,
		})
		seen := proof.Seen{"sum": proof.Code(err)}
		if err == nil {
			seen["is"] = stringOf(out.Attributes["n"])
		}
		return seen, proof.Answered(err)
	})
}

func units(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		k := key("units", "one")
		wrote, err := e.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &name, Item: with(k, item{"t": text(strings.Repeat("a", 1500))}), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return nil, err
		}
		seen := proof.Seen{"write": capacity(wrote.ConsumedCapacity)} // two of the table, two of its index
		for _, fact := range []string{"consistent", "stale"} {
			consistent := fact == "consistent"
			out, err := e.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: k, ConsistentRead: &consistent, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
			if err != nil {
				return nil, err
			}
			seen[fact] = capacity(out.ConsumedCapacity)
		}
		return seen, nil
	})
}

func limitReached(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		for _, sort := range []string{"a", "b"} {
			if err := putItem(ctx, e, name, key("limit", sort)); err != nil {
				return nil, err
			}
		}
		out, err := query(ctx, e.DynamoDB, name, "limit", func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(2) })
		if err != nil {
			return nil, err
		}
		return proof.Seen{"items": count(len(out.Items)), "last key": yes(len(out.LastEvaluatedKey) > 0)}, nil
	})
}

func query(ctx context.Context, c *dynamodb.Client, table, partition string, change func(*dynamodb.QueryInput)) (*dynamodb.QueryOutput, error) {
	in := &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("PK = :pk"), ExpressionAttributeValues: item{":pk": text(partition)}, ConsistentRead: aws.Bool(true),
	}
	if change != nil {
		change(in)
	}
	return c.Query(ctx, in)
}

func reservedWord(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		_, err := e.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: key("reserved", "one"), ConditionExpression: aws.String("attribute_not_exists(status)")})
		return proof.Seen{"code": proof.Code(err), "names it": yes(err != nil && strings.Contains(err.Error(), "status"))}, proof.Answered(err)
	})
}

func batchOf26(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		var writes []types.WriteRequest
		for i := range 26 {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: key("batch", count(i))}})
		}
		_, err := e.DynamoDB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{name: writes}})
		return proof.Seen{"26": proof.Code(err)}, proof.Answered(err)
	})
}

func missingTable(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(e.Name("nothing")), Key: key("a", "b")})
	return proof.Seen{"get": proof.Code(err)}, proof.Answered(err)
}

func byARN(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		_, err := e.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(e.ARN("dynamodb", "table/"+name)), Key: key("arn", "one")})
		return proof.Seen{"get": proof.Code(err)}, proof.Answered(err)
	})
}

func tableCreating(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	made, err := proof.MakeTable(ctx, e, e.Name("creating"))
	if err != nil {
		return nil, err
	}
	return proof.Seen{"status": string(made.TableStatus)}, nil
}

func timeToLive(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		set := func(on bool) error {
			_, err := e.DynamoDB.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
				TableName: &name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: &on},
			})
			return err
		}
		first, second := set(true), set(false)
		k := key("expired", "one")
		if err := putItem(ctx, e, name, with(k, item{"expires": number(count(int(e.Now().Add(-time.Hour).Unix())))})); err != nil {
			return nil, err
		}
		out, err := e.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: k, ConsistentRead: aws.Bool(true)})
		if err != nil {
			return nil, err
		}
		there := map[bool]string{true: "there", false: "gone"}
		return proof.Seen{"first": proof.Code(first), "second": proof.Code(second), "expired item": there[len(out.Item) > 0]}, proof.Answered(first, second)
	})
}

func leadingKeys(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		c, err := proof.Session(ctx, e, proof.Statement{
			Effect: "Allow", Action: []string{"dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"}, Resource: []string{"*"},
			Condition: map[string]map[string]any{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": []string{"own"}}, "Null": {"dynamodb:LeadingKeys": "false"}},
		})
		if err != nil {
			return nil, err
		}
		seen := proof.Seen{}
		for _, whose := range []string{"own", "other"} {
			_, err := c.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: key(whose, "one")})
			seen[whose+" item"] = proof.Code(err)
			_, err = query(ctx, c.DynamoDB, name, whose, nil)
			seen[whose+" query"] = proof.Code(err)
		}
		_, err = c.DynamoDB.Scan(ctx, &dynamodb.ScanInput{TableName: &name})
		seen["scan"] = proof.Code(err)
		return seen, proof.Answered(err)
	})
}

func pageOfMegabyte(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return inTable(ctx, e, func(name string) (proof.Seen, error) {
		for _, sort := range []string{"a", "b", "c", "d"} {
			if err := putItem(ctx, e, name, with(key("page", sort), item{"t": text(strings.Repeat("a", 300<<10))})); err != nil {
				return nil, err
			}
		}
		out, err := query(ctx, e.DynamoDB, name, "page", func(in *dynamodb.QueryInput) { in.ProjectionExpression = aws.String("SK") })
		if err != nil {
			return nil, err
		}
		return proof.Seen{"first page": count(len(out.Items)), "goes on": yes(len(out.LastEvaluatedKey) > 0)}, nil
	})
}
