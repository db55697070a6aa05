package dynamodb_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// payload makes the item with this key exactly this large.
func payload(k item, sizeBytes int) item {
	rest := sizeBytes - len("v")
	for name := range k {
		rest -= len(name) + len(text(k, name))
	}
	return with(k, "v", str(strings.Repeat("x", rest)))
}

func TestWritesCostAUnitPerStartedKilobyte(t *testing.T) {
	w := newWorld(t)
	cases := []struct {
		sizeBytes int
		want      float64
	}{{100, 1}, {1024, 1}, {1025, 2}, {5000, 5}, {100, 5}} // the last one replaces five units
	for _, c := range cases {
		out, err := w.PutItem(t.Context(), &sdk.PutItemInput{
			TableName: aws.String("ledger"), Item: payload(key("p", "a"), c.sizeBytes), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil || aws.ToFloat64(out.ConsumedCapacity.CapacityUnits) != c.want {
			t.Errorf("%d bytes cost %v, %v; want %g", c.sizeBytes, out.ConsumedCapacity, err, c.want)
		}
	}
}

func TestIndexesCostTheirOwnWrites(t *testing.T) {
	w := newWorld(t)
	put := func(it item) *types.ConsumedCapacity {
		out, err := w.PutItem(t.Context(), &sdk.PutItemInput{
			TableName: aws.String("ledger"), Item: it, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.ConsumedCapacity
	}
	entry := func(g1sk, v string) item {
		return with(key("p", "a"), "g1pk", str("DUE"), "g1sk", str(g1sk), "g2pk", str("i-1"), "v", str(v))
	}
	cases := []struct {
		it                    item
		total, table, due, nd float64
	}{
		{entry("1", "x"), 3, 1, 1, 1}, // both indexes get an entry
		{entry("1", "x"), 1, 1, 0, 0}, // nothing changes
		{entry("1", "y"), 2, 1, 1, 0}, // the index of keys does not hold v
		{entry("2", "y"), 3, 1, 2, 0}, // the entry moves: a delete and a put
		{key("p", "a"), 3, 1, 1, 1},   // both entries go
	}
	for i, c := range cases {
		got := put(c.it)
		due := aws.ToFloat64(got.GlobalSecondaryIndexes["due"].CapacityUnits)
		nd := aws.ToFloat64(got.GlobalSecondaryIndexes["node"].CapacityUnits)
		if aws.ToFloat64(got.CapacityUnits) != c.total || aws.ToFloat64(got.Table.CapacityUnits) != c.table || due != c.due || nd != c.nd {
			t.Errorf("write %d cost %g = table %g + due %g + node %g; want %g, %g, %g, %g", i,
				*got.CapacityUnits, *got.Table.CapacityUnits, due, nd, c.total, c.table, c.due, c.nd)
		}
	}
}

func TestReadsCostAUnitPerStartedFourKilobytes(t *testing.T) {
	w := newWorld(t)
	w.put(t, payload(key("p", "a"), 4097))
	w.put(t, payload(key("p", "b"), 1000))
	get := func(sk string, consistent bool) float64 {
		out, err := w.GetItem(t.Context(), &sdk.GetItemInput{
			TableName: aws.String("ledger"), Key: key("p", sk), ConsistentRead: aws.Bool(consistent), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			t.Fatal(err)
		}
		return aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	if a, b, none := get("a", true), get("b", false), get("none", true); a != 2 || b != 0.5 || none != 1 {
		t.Errorf("gets cost %g, %g and %g; want 2, 0.5 and 1", a, b, none)
	}
	in := query("pk = :a", "p")
	in.ConsistentRead, in.ReturnConsumedCapacity = aws.Bool(true), types.ReturnConsumedCapacityTotal
	out, err := w.Query(t.Context(), in)
	if err != nil || aws.ToFloat64(out.ConsumedCapacity.CapacityUnits) != 2 { // 5097 bytes together
		t.Errorf("query cost %v, %v; want 2", out, err)
	}
}

func TestTransactionsCostDouble(t *testing.T) {
	w := newWorld(t)
	actions := []types.TransactWriteItem{putAction(payload(key("p", "a"), 1500)), putAction(key("p", "b"))}
	write := func() *types.ConsumedCapacity {
		out, err := w.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{
			TransactItems: actions, ClientRequestToken: aws.String("token"), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil || len(out.ConsumedCapacity) != 1 {
			t.Fatalf("got %v, %v", out, err)
		}
		return &out.ConsumedCapacity[0]
	}
	if got := write(); aws.ToFloat64(got.WriteCapacityUnits) != 6 || aws.ToFloat64(got.CapacityUnits) != 6 {
		t.Errorf("the transaction cost %+v, want 6 write units", got)
	}
	if got := write(); got.WriteCapacityUnits != nil || aws.ToFloat64(got.ReadCapacityUnits) == 0 {
		t.Errorf("its repetition cost %+v, want read units", got)
	}
	out, err := w.TransactGetItems(t.Context(), &sdk.TransactGetItemsInput{
		TransactItems:          []types.TransactGetItem{{Get: &types.Get{TableName: aws.String("ledger"), Key: key("p", "a")}}},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil || aws.ToFloat64(out.ConsumedCapacity[0].ReadCapacityUnits) != 2 {
		t.Errorf("the transactional read cost %v, %v; want 2", out, err)
	}
}
