package dynamodb_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// oracle is what the table should hold, as plainly as can be: partition and sort key to the attributes v and
// d, d being absent when empty. It plays the same operations as the model.
type oracle struct {
	model *dynamodb.Model
	want  map[[2]string]entry
}

type entry struct {
	v int
	d string // key of the index
}

func newOracle(t *rapid.T) *oracle {
	o := &oracle{model: dynamodb.NewModel(dynamodb.Options{Clock: clock.NewFake(start)}), want: map[[2]string]entry{}}
	_, err := o.model.CreateTable(context.Background(), dynamodb.CreateTableInput{
		TableName: "ledger", BillingMode: "PAY_PER_REQUEST",
		AttributeDefinitions: []dynamodb.AttributeDefinition{{AttributeName: "pk", AttributeType: "S"}, {AttributeName: "sk", AttributeType: "S"}, {AttributeName: "d", AttributeType: "S"}, {AttributeName: "v", AttributeType: "N"}},
		KeySchema:            []dynamodb.KeySchemaElement{{AttributeName: "pk", KeyType: "HASH"}, {AttributeName: "sk", KeyType: "RANGE"}},
		GlobalSecondaryIndexes: []dynamodb.IndexInput{{
			IndexName:  "due",
			KeySchema:  []dynamodb.KeySchemaElement{{AttributeName: "d", KeyType: "HASH"}, {AttributeName: "v", KeyType: "RANGE"}},
			Projection: dynamodb.Projection{ProjectionType: "ALL"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func drawKey(t *rapid.T) [2]string {
	return [2]string{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pk"), rapid.SampledFrom([]string{"1", "2", "3", "10"}).Draw(t, "sk")}
}

func keyItem(k [2]string) attribute.Item {
	return attribute.Item{"pk": attribute.String(k[0]), "sk": attribute.String(k[1])}
}

func (e entry) item(k [2]string) attribute.Item {
	it := keyItem(k)
	it["v"] = attribute.Int(int64(e.v))
	if e.d != "" {
		it["d"] = attribute.String(e.d)
	}
	return it
}

// outcome is whether an operation may take effect, given what the oracle holds.
func (o *oracle) outcome(t *rapid.T, err error, allowed bool, what string) {
	if (err == nil) != allowed {
		t.Fatalf("%s: %v, want allowed = %v; table holds %v", what, err, allowed, o.want)
	}
}

func pointer(s string) *string { return &s }

func (o *oracle) put(t *rapid.T) {
	k, e := drawKey(t), entry{v: rapid.IntRange(-3, 3).Draw(t, "v"), d: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "d")}
	in := dynamodb.PutItemInput{TableName: "ledger", Item: e.item(k)}
	_, there := o.want[k]
	onlyNew := rapid.Bool().Draw(t, "only new")
	if onlyNew {
		in.ConditionExpression = pointer("attribute_not_exists(pk)")
	}
	_, err := o.model.PutItem(context.Background(), in)
	o.outcome(t, err, !onlyNew || !there, "put")
	if err == nil {
		o.want[k] = e
	}
}

func (o *oracle) add(t *rapid.T) {
	k, n := drawKey(t), rapid.IntRange(-3, 3).Draw(t, "n")
	_, err := o.model.UpdateItem(context.Background(), dynamodb.UpdateItemInput{
		TableName: "ledger", Key: keyItem(k), UpdateExpression: pointer("SET v = if_not_exists(v, :zero) + :n REMOVE d"),
		Expressions: dynamodb.Expressions{ExpressionAttributeValues: attribute.Item{":n": attribute.Int(int64(n)), ":zero": attribute.Int(0)}},
	})
	o.outcome(t, err, true, "add")
	o.want[k] = entry{v: o.want[k].v + n}
}

func (o *oracle) remove(t *rapid.T) {
	k, v := drawKey(t), rapid.IntRange(-3, 3).Draw(t, "v")
	e, there := o.want[k]
	_, err := o.model.DeleteItem(context.Background(), dynamodb.DeleteItemInput{
		TableName: "ledger", Key: keyItem(k),
		Expressions: dynamodb.Expressions{
			ConditionExpression:       pointer("attribute_not_exists(pk) OR v >= :v"),
			ExpressionAttributeValues: attribute.Item{":v": attribute.Int(int64(v))},
		},
	})
	o.outcome(t, err, !there || e.v >= v, "delete")
	if err == nil {
		delete(o.want, k)
	}
}

// transact raises or deletes several items, each only if its v is as guessed.
func (o *oracle) transact(t *rapid.T) {
	keys := rapid.SliceOfNDistinct(rapid.Custom(drawKey), 1, 4, func(k [2]string) [2]string { return k }).Draw(t, "keys")
	next, allowed := maps.Clone(o.want), true
	var in dynamodb.TransactWriteItemsInput
	for _, k := range keys {
		guess := o.want[k].v
		if rapid.IntRange(0, 5).Draw(t, "wrong") == 0 {
			guess++
		}
		e, there := o.want[k]
		allowed = allowed && there && e.v == guess
		action := &dynamodb.TransactAction{TableName: "ledger", Key: keyItem(k), Expressions: dynamodb.Expressions{
			ConditionExpression:       pointer("v = :guess"),
			ExpressionAttributeValues: attribute.Item{":guess": attribute.Int(int64(guess))},
		}}
		if rapid.Bool().Draw(t, "delete") {
			in.TransactItems = append(in.TransactItems, dynamodb.TransactWriteItem{Delete: action})
			delete(next, k)
			continue
		}
		action.UpdateExpression = pointer("ADD v :guess")
		in.TransactItems = append(in.TransactItems, dynamodb.TransactWriteItem{Update: action})
		next[k] = entry{v: e.v + guess, d: e.d}
	}
	_, err := o.model.TransactWriteItems(context.Background(), in)
	o.outcome(t, err, allowed, "transaction")
	if err == nil {
		o.want = next
	}
}

// check reads everything back in pages of a drawn size: by partition, by scan and by index.
func (o *oracle) check(t *rapid.T) {
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	all := slices.Collect(maps.Keys(o.want))
	slices.SortFunc(all, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	lines := func(keys [][2]string) []string {
		var out []string
		for _, k := range keys {
			out = append(out, fmt.Sprint(k, o.want[k]))
		}
		return out
	}
	wantSame(t, "scan, sorted", slices.Sorted(slices.Values(o.read(t, limit, "", "", ""))), slices.Sorted(slices.Values(lines(all))))
	for _, pk := range []string{"a", "b"} {
		mine := slices.DeleteFunc(slices.Clone(all), func(k [2]string) bool { return k[0] != pk })
		wantSame(t, "partition "+pk, o.read(t, limit, "", "pk", pk), lines(mine))
	}
	for _, d := range []string{"x", "y"} {
		mine := slices.DeleteFunc(slices.Clone(all), func(k [2]string) bool { return o.want[k].d != d })
		got := o.read(t, limit, "due", "d", d)
		wantSame(t, "index "+d+", sorted", slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(lines(mine))))
	}
}

func wantSame(t *rapid.T, what string, got, want []string) {
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\n got %s\nwant %s", what, strings.Join(got, "; "), strings.Join(want, "; "))
	}
}

// read pages through a query, or a scan when no attribute is named, and checks that v rises in the index.
func (o *oracle) read(t *rapid.T, limit int, index, name, value string) []string {
	page := dynamodb.PageInput{TableName: "ledger", Limit: &limit}
	if index != "" {
		page.IndexName = &index
	}
	var lines []string
	last := attribute.Value{}
	for {
		out, err := o.page(page, name, value)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range out.Items {
			if order, comparable := attribute.Compare(last, it["v"]); index != "" && comparable && order > 0 {
				t.Fatalf("index %s falls from %v to %v", index, last.Number, it["v"].Number)
			}
			last = it["v"]
			lines = append(lines, fmt.Sprint([2]string{it["pk"].Text, it["sk"].Text}, " {", it["v"].Number, " ", it["d"].Text, "}"))
		}
		if page.ExclusiveStartKey = out.LastEvaluatedKey; page.ExclusiveStartKey == nil {
			return lines
		}
	}
}

func (o *oracle) page(page dynamodb.PageInput, name, value string) (*dynamodb.PageOutput, error) {
	if name == "" {
		return o.model.Scan(context.Background(), dynamodb.ScanInput{PageInput: page})
	}
	page.ExpressionAttributeValues = attribute.Item{":k": attribute.String(value)}
	return o.model.Query(context.Background(), dynamodb.QueryInput{PageInput: page, KeyConditionExpression: pointer(name + " = :k")})
}

func TestModelAgreesWithAPlainMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOracle(t)
		t.Repeat(map[string]func(*rapid.T){
			"put": o.put, "add": o.add, "remove": o.remove, "transact": o.transact, "": o.check,
		})
	})
}
