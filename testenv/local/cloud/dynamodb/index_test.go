package dynamodb_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
)

// due asks the index for the open work of a cluster.
func (w *world) due(t testing.TB, cluster string) *sdk.QueryOutput {
	t.Helper()
	in := query("g1pk = :a", cluster)
	in.IndexName = aws.String("due")
	out, err := w.Query(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestIndexHoldsOnlyItemsWithItsKeyAndFollowsThem(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("C#1", "b"), "g1pk", str("DUE"), "g1sk", str("2")))
	w.put(t, with(key("C#1", "a"), "g1pk", str("DUE"), "g1sk", str("9")))
	w.put(t, with(key("C#2", "c"), "g1pk", str("DUE"), "g1sk", str("1")))
	w.put(t, with(key("C#1", "closed"), "g1pk", str("DUE")))
	if got := sortKeys(w.due(t, "DUE").Items); got != "c b a" {
		t.Fatalf("index holds %q, want c b a", got)
	}
	w.put(t, with(key("C#1", "b"), "g1pk", str("DUE"), "g1sk", str("95"))) // moves
	w.put(t, key("C#1", "a"))                                              // leaves
	if got := sortKeys(w.due(t, "DUE").Items); got != "c b" {
		t.Errorf("index holds %q, want c b", got)
	}
	if _, err := w.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String("ledger"), Key: key("C#2", "c")}); err != nil {
		t.Fatal(err)
	}
	if got := sortKeys(w.due(t, "DUE").Items); got != "b" {
		t.Errorf("index holds %q, want b", got)
	}
}

func TestIndexOfKeysHoldsNothingElse(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("C#1", "n1"), "g2pk", str("i-1"), "v", num("1")))
	in := query("g2pk = :a", "i-1")
	in.IndexName = aws.String("node")
	out, err := w.Query(t.Context(), in)
	if err != nil || len(out.Items) != 1 || len(out.Items[0]) != 3 {
		t.Errorf("got %v, %v; want one item of pk, sk and g2pk", out, err)
	}
}

func TestIndexPagesTellApartItemsWithTheSameKey(t *testing.T) {
	w := newWorld(t)
	for _, sk := range []string{"a", "b", "c", "d"} {
		w.put(t, with(key("C#1", sk), "g1pk", str("DUE"), "g1sk", str("same")))
	}
	in := query("g1pk = :a", "DUE")
	in.IndexName, in.Limit = aws.String("due"), aws.Int32(1)
	var met []item
	for range 10 {
		out, err := w.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		met = append(met, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
		if len(in.ExclusiveStartKey) != 4 {
			t.Fatalf("last key %v, want the keys of table and index", in.ExclusiveStartKey)
		}
	}
	if len(met) != 4 {
		t.Errorf("met %q, want each of four once", sortKeys(met))
	}
}

func TestIndexLagsBehindItsTable(t *testing.T) {
	w := newWorld(t)
	w.model.SetLags(dynamodb.Lags{Index: 2 * time.Second, Expiry: dynamodb.DefaultExpiryLag})
	w.put(t, with(key("C#1", "a"), "g1pk", str("DUE"), "g1sk", str("1")))
	w.clock.Advance(time.Second)
	w.put(t, with(key("C#1", "b"), "g1pk", str("DUE"), "g1sk", str("2")))
	for _, want := range []string{"", "a", "a b"} {
		if got := sortKeys(w.due(t, "DUE").Items); got != want {
			t.Errorf("at %s the index shows %q, want %q", w.clock.Now().Sub(start), got, want)
		}
		w.clock.Advance(time.Second)
	}
}

func TestShorterLagNeverOvertakesEarlierWrites(t *testing.T) {
	w := newWorld(t)
	w.model.SetLags(dynamodb.Lags{Index: 10 * time.Second})
	w.put(t, with(key("C#1", "a"), "g1pk", str("DUE"), "g1sk", str("1"), "v", num("1")))
	w.model.SetLags(dynamodb.Lags{})
	w.put(t, with(key("C#1", "a"), "g1pk", str("DUE"), "g1sk", str("1"), "v", num("2")))
	if got := w.due(t, "DUE").Count; got != 0 {
		t.Errorf("%d items before the first write arrived", got)
	}
	w.clock.Advance(10 * time.Second)
	if out := w.due(t, "DUE"); out.Count != 1 || number(out.Items[0], "v") != "2" {
		t.Errorf("index shows %v, want v = 2", out.Items)
	}
}

func TestOnlyConsistentReadsSeeTheLatestWrite(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("C#1", "a"), "v", num("1")))
	w.model.SetLags(dynamodb.Lags{Read: 5 * time.Second})
	w.put(t, with(key("C#1", "a"), "v", num("2")))
	read := func(consistent bool) string {
		out, err := w.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("ledger"), Key: key("C#1", "a"), ConsistentRead: aws.Bool(consistent)})
		if err != nil {
			t.Fatal(err)
		}
		in := query("pk = :a", "C#1")
		in.ConsistentRead = aws.Bool(consistent)
		page, err := w.Query(t.Context(), in)
		if err != nil || len(page.Items) != 1 || number(page.Items[0], "v") != number(out.Item, "v") {
			t.Fatalf("query shows %v, %v; get shows %v", page, err, out.Item)
		}
		return number(out.Item, "v")
	}
	if stale, fresh := read(false), read(true); stale != "1" || fresh != "2" {
		t.Errorf("stale read %s, consistent read %s; want 1 and 2", stale, fresh)
	}
	w.clock.Advance(5 * time.Second)
	if got := read(false); got != "2" {
		t.Errorf("after the lag the read shows %s", got)
	}
}

func TestLocalIndexFollowsAtOnceAndReachesIntoTheTable(t *testing.T) {
	w := newWorld(t)
	in := ledger("local")
	in.GlobalSecondaryIndexes = nil
	in.AttributeDefinitions = in.AttributeDefinitions[:3] // pk, sk, g1pk
	in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{
		{IndexName: aws.String("by-time"), KeySchema: keys("pk", "g1pk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
	}
	if _, err := w.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	w.model.SetLags(dynamodb.Lags{Index: time.Hour})
	for sk, at := range map[string]string{"a": "3", "b": "1", "c": "2"} {
		_, err := w.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("local"), Item: with(key("C#1", sk), "g1pk", str(at), "v", num(at))})
		if err != nil {
			t.Fatal(err)
		}
	}
	ask := query("pk = :a", "C#1")
	ask.TableName, ask.IndexName, ask.ConsistentRead = aws.String("local"), aws.String("by-time"), aws.Bool(true)
	ask.Select = types.SelectAllAttributes
	out, err := w.Query(t.Context(), ask)
	if err != nil || sortKeys(out.Items) != "b c a" || number(out.Items[0], "v") != "1" {
		t.Errorf("got %v, %v; want b c a with all attributes", out, err)
	}
}
