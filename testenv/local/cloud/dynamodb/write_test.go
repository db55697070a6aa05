package dynamodb_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestPutRefusesAnItemThatIsThere(t *testing.T) {
	w := newWorld(t)
	put := func(v string) (*sdk.PutItemOutput, error) {
		return w.PutItem(t.Context(), &sdk.PutItemInput{
			TableName: aws.String("ledger"), Item: with(key("a", "1"), "v", num(v)),
			ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
	}
	if _, err := put("1"); err != nil {
		t.Fatal(err)
	}
	_, err := put("2")
	wantError(t, err, "ConditionalCheckFailedException", "The conditional request failed")
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) || number(failed.Item, "v") != "1" {
		t.Errorf("the refusal shows %v, want the item of the first put", failed)
	}
	if got := number(w.get(t, "a", "1"), "v"); got != "1" {
		t.Errorf("v = %s after a refused put", got)
	}
}

func TestRefusedConditionHidesTheItemUnlessAsked(t *testing.T) {
	w := newWorld(t)
	w.put(t, key("a", "1"))
	_, err := w.DeleteItem(t.Context(), &sdk.DeleteItemInput{
		TableName: aws.String("ledger"), Key: key("a", "1"), ConditionExpression: aws.String("attribute_exists(v)"),
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) || failed.Item != nil {
		t.Errorf("got %v with item %v, want a refusal without item", err, failed.Item)
	}
}

func TestReturnValuesShowWhatWasAskedFor(t *testing.T) {
	w := newWorld(t)
	cases := []struct {
		want types.ReturnValue
		keys string // attributes returned, in order of name, with v's value
	}{
		{types.ReturnValueNone, ""},
		{types.ReturnValueAllOld, "old pk sk v=1"},
		{types.ReturnValueAllNew, "new pk sk v=2"},
		{types.ReturnValueUpdatedOld, "old v=1"},
		{types.ReturnValueUpdatedNew, "new v=2"},
	}
	for _, c := range cases {
		w.put(t, with(key("a", "1"), "v", num("1"), "old", str("x")))
		out, err := w.UpdateItem(t.Context(), &sdk.UpdateItemInput{
			TableName: aws.String("ledger"), Key: key("a", "1"), ReturnValues: c.want,
			UpdateExpression:          aws.String("SET v = v + :one, #new = :x REMOVE #old"),
			ExpressionAttributeNames:  map[string]string{"#new": "new", "#old": "old"},
			ExpressionAttributeValues: item{":one": num("1"), ":x": str("x")},
		})
		if err != nil {
			t.Fatalf("%s: %v", c.want, err)
		}
		if got := summary(out.Attributes); got != c.keys {
			t.Errorf("%s returns %q, want %q", c.want, got, c.keys)
		}
	}
}

// summary lists the attributes of an item in order, v with its value.
func summary(it item) string {
	var parts []string
	for _, name := range []string{"new", "old", "pk", "sk", "v"} {
		if _, ok := it[name]; !ok {
			continue
		}
		if name == "v" {
			name += "=" + number(it, "v")
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, " ")
}

func TestUpdateCreatesWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	_, err := w.UpdateItem(t.Context(), &sdk.UpdateItemInput{
		TableName: aws.String("ledger"), Key: key("a", "1"), UpdateExpression: aws.String("ADD v :n"),
		ExpressionAttributeValues: item{":n": num("5")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.get(t, "a", "1"); number(got, "v") != "5" || text(got, "sk") != "1" {
		t.Errorf("created %v", got)
	}
}

func TestDeleteReturnsTheOldItemAndMissesNothing(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("a", "1"), "v", num("7")))
	for i, want := range []string{"7", ""} {
		out, err := w.DeleteItem(t.Context(), &sdk.DeleteItemInput{
			TableName: aws.String("ledger"), Key: key("a", "1"), ReturnValues: types.ReturnValueAllOld,
		})
		if err != nil || number(out.Attributes, "v") != want {
			t.Errorf("delete %d: %v, %v; want v = %q", i+1, out, err, want)
		}
	}
}

func TestWritesRefuseKeysThatDoNotFit(t *testing.T) {
	w := newWorld(t)
	const schema = "The provided key element does not match the schema"
	const invalid = "One or more parameter values were invalid: "
	long := strings.Repeat("x", 2049)
	puts := []struct {
		it   item
		want string
	}{
		{item{"pk": str("a")}, invalid + "Missing the key sk in the item"},
		{item{"pk": num("1"), "sk": str("1")}, invalid + "Type mismatch for key pk expected: S actual: N"},
		{key("a", ""), "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: sk"},
		{key(long, "1"), invalid + "Size of hashkey has exceeded the maximum size limit of2048 bytes"},
		{key("a", long[:1025]), invalid + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"},
		{with(key("a", "1"), "g1pk", num("1")), invalid + "Type mismatch for Index Key g1pk Expected: S Actual: N IndexName: due"},
		{with(key("a", "1"), "g2pk", str("")), "One or more parameter values are not valid. A value specified for a secondary index key is not supported. " +
			"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: node, IndexKey: g2pk"},
	}
	for _, c := range puts {
		_, err := w.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("ledger"), Item: c.it})
		wantError(t, err, "ValidationException", c.want)
	}
	for _, k := range []item{{"pk": str("a")}, {"pk": str("a"), "sk": num("1")}, {"pk": str("a"), "other": str("1")}, with(key("a", "1"), "v", num("1"))} {
		_, err := w.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String("ledger"), Key: k})
		wantError(t, err, "ValidationException", schema)
		_, err = w.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("ledger"), Key: k})
		wantError(t, err, "ValidationException", schema)
	}
}

func TestUpdateRefusesToChangeTheKey(t *testing.T) {
	w := newWorld(t)
	_, err := w.UpdateItem(t.Context(), &sdk.UpdateItemInput{
		TableName: aws.String("ledger"), Key: key("a", "1"), UpdateExpression: aws.String("SET sk = :v"),
		ExpressionAttributeValues: item{":v": str("2")},
	})
	wantError(t, err, "ValidationException", "One or more parameter values were invalid: Cannot update attribute sk. This attribute is part of the key")
	_, err = w.UpdateItem(t.Context(), &sdk.UpdateItemInput{
		TableName: aws.String("ledger"), Key: key("a", "1"), UpdateExpression: aws.String("SET g1pk = :v"),
		ExpressionAttributeValues: item{":v": num("2")},
	})
	wantError(t, err, "ValidationException", "The update expression attempted to update the secondary index key to unsupported type")
}

func TestRequestsAreRefusedBeforeTheTableIsLookedFor(t *testing.T) {
	w := newWorld(t)
	_, err := w.PutItem(t.Context(), &sdk.PutItemInput{
		TableName: aws.String("nowhere"), Item: key("a", "1"), ConditionExpression: aws.String("status = :s"),
		ExpressionAttributeValues: item{":s": str("x")},
	})
	wantError(t, err, "ValidationException", "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: status")
	_, err = w.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("nowhere"), Item: key("a", "1")})
	wantError(t, err, "ResourceNotFoundException", "Requested resource not found")
	_, err = w.PutItem(t.Context(), &sdk.PutItemInput{
		TableName: aws.String("ledger"), Item: key("a", "1"), ExpressionAttributeValues: item{":s": str("x")},
	})
	wantError(t, err, "ValidationException", "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null")
	_, err = w.PutItem(t.Context(), &sdk.PutItemInput{
		TableName: aws.String("ledger"), Item: key("a", "1"), Expected: map[string]types.ExpectedAttributeValue{"v": {Exists: aws.Bool(false)}},
	})
	wantError(t, err, "ValidationException", "Expected is not modelled: use expressions")
}

func TestItemsAreAtMost400KB(t *testing.T) {
	w := newWorld(t)
	limit := 400 << 10
	rest := limit - len("pk") - len("a") - len("sk") - len("1") - len("v")
	w.put(t, with(key("a", "1"), "v", str(strings.Repeat("x", rest))))
	_, err := w.PutItem(t.Context(), &sdk.PutItemInput{
		TableName: aws.String("ledger"), Item: with(key("a", "1"), "v", str(strings.Repeat("x", rest+1))),
	})
	wantError(t, err, "ValidationException", "Item size has exceeded the maximum allowed size")
	_, err = w.UpdateItem(t.Context(), &sdk.UpdateItemInput{
		TableName: aws.String("ledger"), Key: key("a", "1"), UpdateExpression: aws.String("SET x = :x"),
		ExpressionAttributeValues: item{":x": str("y")},
	})
	wantError(t, err, "ValidationException", "Item size to update has exceeded the maximum allowed size")
}

func TestNumbersAndEmptyStringsKeepTheirMeaning(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("a", "1"), "v", num("1.500e2"), "empty", str(""), "bytes", &types.AttributeValueMemberB{Value: []byte{}}))
	got := w.get(t, "a", "1")
	if number(got, "v") != "150" || text(got, "empty") != "" || got["empty"] == nil || got["bytes"] == nil {
		t.Errorf("came back as %v", got)
	}
	_, err := w.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("ledger"), Item: with(key("a", "1"), "v", num("1x"))})
	wantError(t, err, "ValidationException", "The parameter cannot be converted to a numeric value: 1x")
}

// Eight writers raise one counter, each only from the value it has just read: no raise may be lost or doubled.
func TestCompareAndSetIsExactUnderContention(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("a", "counter"), "v", num("0")))
	const writers, raises = 8, 50
	var group sync.WaitGroup
	lost := make(chan error, writers)
	for range writers {
		group.Go(func() {
			for done := 0; done < raises; {
				ok, err := w.raise(t)
				if err != nil {
					lost <- err
					return
				}
				if ok {
					done++
				}
			}
		})
	}
	group.Wait()
	close(lost)
	for err := range lost {
		t.Error(err)
	}
	if got, want := number(w.get(t, "a", "counter"), "v"), fmt.Sprint(writers*raises); got != want {
		t.Errorf("counter = %s after %s raises", got, want)
	}
}

// raise adds one to the counter if nobody else does meanwhile.
func (w *world) raise(t testing.TB) (done bool, err error) {
	out, err := w.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("ledger"), Key: key("a", "counter"), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return false, err
	}
	_, err = w.UpdateItem(t.Context(), &sdk.UpdateItemInput{
		TableName: aws.String("ledger"), Key: key("a", "counter"),
		UpdateExpression: aws.String("SET v = v + :one"), ConditionExpression: aws.String("v = :seen"),
		ExpressionAttributeValues: item{":one": num("1"), ":seen": out.Item["v"]},
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return false, nil
	}
	return err == nil, err
}
