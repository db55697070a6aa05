package dynamodb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// query asks the ledger, with :a, :b… standing for the strings that follow.
func query(condition string, values ...string) *sdk.QueryInput {
	in := &sdk.QueryInput{TableName: aws.String("ledger"), KeyConditionExpression: aws.String(condition)}
	for i, v := range values {
		if in.ExpressionAttributeValues == nil {
			in.ExpressionAttributeValues = item{}
		}
		in.ExpressionAttributeValues[":"+string(rune('a'+i))] = str(v)
	}
	return in
}

// sortKeys joins the sk of items in their order.
func sortKeys(items []item) string {
	var got []string
	for _, it := range items {
		got = append(got, text(it, "sk"))
	}
	return strings.Join(got, " ")
}

func TestQueryReadsOnePartitionInOrderOfSortKey(t *testing.T) {
	w := newWorld(t)
	for _, sk := range []string{"NC#b", "NC#a", "NP#x", "META", "NC#c", "LEASE"} {
		w.put(t, key("C#1", sk))
	}
	w.put(t, key("C#2", "NC#other"))
	cases := []struct {
		in   *sdk.QueryInput
		want string
	}{
		{query("pk = :a", "C#1"), "LEASE META NC#a NC#b NC#c NP#x"},
		{query("pk = :a AND begins_with(sk, :b)", "C#1", "NC#"), "NC#a NC#b NC#c"},
		{query("pk = :a AND sk = :b", "C#1", "META"), "META"},
		{query("pk = :a AND sk > :b", "C#1", "NC#b"), "NC#c NP#x"},
		{query("pk = :a AND sk >= :b", "C#1", "NC#b"), "NC#b NC#c NP#x"},
		{query("pk = :a AND sk < :b", "C#1", "NC#a"), "LEASE META"},
		{query("pk = :a AND sk <= :b", "C#1", "NC#a"), "LEASE META NC#a"},
		{query("pk = :a AND sk BETWEEN :b AND :c", "C#1", "META", "NC#b"), "META NC#a NC#b"},
		{query("pk = :a AND begins_with(sk, :b)", "C#1", "Z"), ""},
		{query("pk = :a", "C#3"), ""},
	}
	for _, c := range cases {
		out, err := w.Query(t.Context(), c.in)
		if err != nil {
			t.Errorf("%s: %v", *c.in.KeyConditionExpression, err)
			continue
		}
		if got := sortKeys(out.Items); got != c.want || int(out.Count) != len(out.Items) {
			t.Errorf("%s = %q (count %d), want %q", *c.in.KeyConditionExpression, got, out.Count, c.want)
		}
		c.in.ScanIndexForward = aws.Bool(false)
		out, err = w.Query(t.Context(), c.in)
		if err != nil {
			t.Fatal(err)
		}
		forward := strings.Fields(c.want)
		slices.Reverse(forward)
		if got := sortKeys(out.Items); got != strings.Join(forward, " ") {
			t.Errorf("%s backwards = %q, want %q", *c.in.KeyConditionExpression, got, forward)
		}
	}
}

func TestQueryPagesMeetEveryItemOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 10 {
		w.put(t, with(key("C#1", fmt.Sprintf("%02d", i)), "even", &types.AttributeValueMemberBOOL{Value: i%2 == 0}))
	}
	for _, forward := range []bool{true, false} {
		in := query("pk = :a AND sk > :b", "C#1", "00")
		in.Limit, in.ScanIndexForward = aws.Int32(2), aws.Bool(forward)
		in.FilterExpression = aws.String("even = :even")
		in.ExpressionAttributeValues[":even"] = &types.AttributeValueMemberBOOL{Value: true}
		var got []string
		scanned, pages := 0, 0
		for {
			out, err := w.Query(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			pages, scanned = pages+1, scanned+int(out.ScannedCount)
			if sk := sortKeys(out.Items); sk != "" {
				got = append(got, sk)
			}
			if out.LastEvaluatedKey == nil {
				break
			}
			// what the key names may go meanwhile without disturbing the order
			if pages == 2 {
				if _, err := w.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String("ledger"), Key: out.LastEvaluatedKey}); err != nil {
					t.Fatal(err)
				}
				w.put(t, with(maps.Clone(out.LastEvaluatedKey), "even", &types.AttributeValueMemberBOOL{Value: false}))
			}
			in.ExclusiveStartKey = out.LastEvaluatedKey
		}
		want := "02 04 06 08"
		if !forward {
			want = "08 06 04 02"
		}
		if strings.Join(got, " ") != want || scanned != 9 || pages != 5 {
			t.Errorf("forward %v: %v in %d pages, %d scanned; want %s in 5 pages, 9 scanned", forward, got, pages, scanned, want)
		}
		w.put(t, with(key("C#1", "04"), "even", &types.AttributeValueMemberBOOL{Value: true}))
		w.put(t, with(key("C#1", "06"), "even", &types.AttributeValueMemberBOOL{Value: true}))
	}
}

func TestQueryLimitThatIsJustReachedStillNamesTheLastKey(t *testing.T) {
	w := newWorld(t)
	w.put(t, key("C#1", "1"))
	in := query("pk = :a", "C#1")
	in.Limit = aws.Int32(1)
	out, err := w.Query(t.Context(), in)
	if err != nil || out.LastEvaluatedKey == nil {
		t.Fatalf("first page: %v, %v; want a last key", out, err)
	}
	in.ExclusiveStartKey = out.LastEvaluatedKey
	out, err = w.Query(t.Context(), in)
	if err != nil || out.Count != 0 || out.LastEvaluatedKey != nil {
		t.Errorf("second page: %v, %v; want nothing", out, err)
	}
}

func TestPagesEndAtOneMegabyte(t *testing.T) {
	w := newWorld(t)
	payload := str(strings.Repeat("x", 300<<10))
	for i := range 5 {
		w.put(t, with(key("C#1", fmt.Sprint(i)), "v", payload))
	}
	in := query("pk = :a", "C#1")
	in.Select = types.SelectCount
	var counts []int32
	for {
		out, err := w.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Items) > 0 {
			t.Error("items although only the count was asked")
		}
		counts = append(counts, out.Count)
		if out.LastEvaluatedKey == nil {
			break
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
	if !slices.Equal(counts, []int32{3, 2}) {
		t.Errorf("pages of %v items, want 3 and 2 of 300 KB each", counts)
	}
}

func TestQueryRefusesWhatTheKeyDoesNotAllow(t *testing.T) {
	w := newWorld(t)
	numeric := query("pk = :a")
	numeric.ExpressionAttributeValues = item{":a": num("1")}
	filtered := query("pk = :a", "C#1", "x")
	filtered.FilterExpression = aws.String("sk = :b")
	consistent := query("g1pk = :a", "C#1")
	consistent.IndexName, consistent.ConsistentRead = aws.String("due"), aws.Bool(true)
	unknown := query("pk = :a", "C#1")
	unknown.IndexName = aws.String("nope")
	narrow := query("g2pk = :a", "i-1")
	narrow.IndexName, narrow.Select = aws.String("node"), types.SelectAllAttributes
	narrower := query("g2pk = :a", "i-1")
	narrower.IndexName, narrower.ProjectionExpression = aws.String("node"), aws.String("v")
	elsewhere := query("pk = :a", "C#1")
	elsewhere.ExclusiveStartKey = key("C#2", "1")
	shapeless := query("pk = :a", "C#1")
	shapeless.ExclusiveStartKey = item{"pk": str("C#1")}
	nothing := query("pk = :a", "C#1")
	nothing.KeyConditionExpression, nothing.ExpressionAttributeValues = nil, nil
	cases := []struct {
		in   *sdk.QueryInput
		want string
	}{
		{query("sk = :a", "x"), "Query condition missed key schema element: pk"},
		{query("pk > :a", "x"), "Query key condition not supported"},
		{query("pk = :a AND v = :b", "C#1", "x"), "Query condition missed key schema element: sk"},
		{query("pk = :a AND sk = :b", "C#1", ""), "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: sk"},
		{numeric, "One or more parameter values were invalid: Condition parameter type does not match schema type"},
		{filtered, "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"},
		{consistent, "Consistent reads are not supported on global secondary indexes"},
		{unknown, "The table does not have the specified index: nope"},
		{narrow, "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index node because its projection type is not ALL"},
		{narrower, "One or more parameter values were invalid: Global secondary index node does not project [v]"},
		{elsewhere, "The provided starting key is outside query boundaries based on provided conditions"},
		{shapeless, "The provided starting key is invalid"},
		{nothing, "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."},
	}
	for _, c := range cases {
		_, err := w.Query(t.Context(), c.in)
		wantError(t, err, "ValidationException", c.want)
	}
}

func TestProjectionAndSelectShapeTheAnswer(t *testing.T) {
	w := newWorld(t)
	w.put(t, with(key("C#1", "1"), "v", num("1"), "meta", &types.AttributeValueMemberM{Value: item{"az": str("a"), "b": str("b")}}))
	in := query("pk = :a", "C#1")
	in.ProjectionExpression = aws.String("meta.az")
	out, err := w.Query(t.Context(), in)
	if err != nil || len(out.Items) != 1 || len(out.Items[0]) != 1 {
		t.Fatalf("projection of a part: %v, %v", out, err)
	}
	in.Select = types.SelectCount
	_, err = w.Query(t.Context(), in)
	wantError(t, err, "ValidationException", "Cannot specify the ProjectionExpression when choosing to get only the Count")
	got, err := w.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("ledger"), Key: key("C#1", "1"), ProjectionExpression: aws.String("gone")})
	if err != nil || got.Item == nil || len(got.Item) != 0 {
		t.Errorf("an item without the attributes asked for: %v, %v; want an empty one", got, err)
	}
}

func TestScanSegmentsDivideTheTable(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		w.put(t, key(fmt.Sprintf("C#%d", i/2), fmt.Sprintf("%02d", i)))
	}
	seen := map[string]int{}
	for segment := range int32(3) {
		in := &sdk.ScanInput{TableName: aws.String("ledger"), Segment: aws.Int32(segment), TotalSegments: aws.Int32(3), Limit: aws.Int32(4)}
		pages := sdk.NewScanPaginator(w, in)
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range out.Items {
				seen[text(it, "sk")]++
			}
		}
	}
	for i := range 40 {
		if n := seen[fmt.Sprintf("%02d", i)]; n != 1 {
			t.Errorf("item %02d met %d times", i, n)
		}
	}
}

func TestScanFiltersAfterItCounts(t *testing.T) {
	w := newWorld(t)
	for i := range 6 {
		w.put(t, with(key("C#1", fmt.Sprint(i)), "v", num(fmt.Sprint(i))))
	}
	out, err := w.Scan(t.Context(), &sdk.ScanInput{
		TableName: aws.String("ledger"), FilterExpression: aws.String("v >= :four AND sk <> :five"),
		ExpressionAttributeValues: item{":four": num("4"), ":five": str("5")},
	})
	if err != nil || out.Count != 1 || out.ScannedCount != 6 || sortKeys(out.Items) != "4" {
		t.Errorf("got %v, %v; want item 4 of 6 scanned", out, err)
	}
	_, err = w.Scan(t.Context(), &sdk.ScanInput{TableName: aws.String("ledger"), Segment: aws.Int32(2), TotalSegments: aws.Int32(2)})
	wantError(t, err, "ValidationException", "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 2 is not less than TotalSegments: 2")
	_, err = w.Scan(t.Context(), &sdk.ScanInput{TableName: aws.String("ledger"), Segment: aws.Int32(0)})
	wantError(t, err, "ValidationException", "The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
}
