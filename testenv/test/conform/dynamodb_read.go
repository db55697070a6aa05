package conform

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// fill puts items with these sort keys into a partition of its own.
func (l *dynamoLedger) fill(t T, sorts ...string) (partition string) {
	t.Helper()
	partition = Unique("p")
	for _, sk := range sorts {
		l.put(t, dynamoKey(partition, sk, "v", dynamoString(sk)))
	}
	return partition
}

func (l *dynamoLedger) readCases() []Case {
	return []Case{
		{"a query reads ranges of the sort key in order", func(t T) {
			p := l.fill(t, "NC#b", "NC#a", "NP#x", "META")
			for condition, want := range map[string]string{
				"pk = :a": "META NC#a NC#b NP#x", "pk = :a AND begins_with(sk, :b)": "NC#a NC#b", "pk = :a AND sk > :b": "NC#a NC#b NP#x",
				"pk = :a AND sk <= :b": "META", "pk = :a AND sk BETWEEN :b AND :c": "NC#a NC#b",
			} {
				in := l.query(condition, slices.Clone([]string{p, "NC#", "NC#z"})[:1+strings.Count(condition, ":")-1]...)
				out, err := l.Query(t.Context(), in)
				if err != nil {
					t.Errorf("%s: %v", condition, err)
					continue
				}
				if got := dynamoSorts(out.Items); got != want {
					t.Errorf("%s reads %s, want %s", condition, got, want)
				}
			}
		}},
		{"a query backwards with a limit pages through all", func(t T) {
			p := l.fill(t, "1", "2", "3", "4", "5")
			in := l.query("pk = :a", p)
			in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(2)
			var got []string
			for pages := dynamodb.NewQueryPaginator(l, in); pages.HasMorePages(); {
				out, err := pages.NextPage(t.Context())
				if err != nil {
					t.Fatalf("page: %v", err)
				}
				got = append(got, dynamoSorts(out.Items))
			}
			if strings.Join(got, ";") != "5 4;3 2;1" {
				t.Errorf("pages %q", got)
			}
		}},
		{"a limit that is just reached still names the last key", func(t T) {
			in := l.query("pk = :a", l.fill(t, "1"))
			in.Limit = aws.Int32(1)
			out, err := l.Query(t.Context(), in)
			if err != nil || out.LastEvaluatedKey == nil {
				t.Errorf("got %v, %v; want a last key", out, err)
			}
		}},
		{"a filter hides items but not from the count of what was read", func(t T) {
			in := l.query("pk = :a", l.fill(t, "1", "2", "3"), "2")
			in.FilterExpression = aws.String("v >= :b")
			out, err := l.Query(t.Context(), in)
			if err != nil || out.Count != 2 || out.ScannedCount != 3 {
				t.Errorf("got %v, %v; want 2 of 3", out, err)
			}
		}},
		{"a page ends at one megabyte", func(t T) {
			p, payload := Unique("p"), dynamoString(strings.Repeat("x", 300<<10))
			for i := range 4 {
				l.put(t, dynamoKey(p, fmt.Sprint(i), "v", payload))
			}
			in := l.query("pk = :a", p)
			in.Select = types.SelectCount
			out, err := l.Query(t.Context(), in)
			if err != nil || out.Count != 3 || out.LastEvaluatedKey == nil {
				t.Errorf("got %v, %v; want 3 items and a last key", out, err)
			}
		}},
		{"a projection selects parts and drops items to nothing", func(t T) {
			p := Unique("p")
			l.put(t, dynamoKey(p, "a", "m", &types.AttributeValueMemberM{Value: dynamoItem{"x": dynamoString("1"), "y": dynamoString("2")}}))
			out, err := l.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &l.table, Key: dynamoKey(p, "a"), ProjectionExpression: aws.String("m.x, gone")})
			if err != nil {
				t.Fatalf("get: %v", err)
			}
			if m, _ := out.Item["m"].(*types.AttributeValueMemberM); len(out.Item) != 1 || m == nil || len(m.Value) != 1 {
				t.Errorf("got %v, want m.x alone", out.Item)
			}
		}},
		{"a filter on the key of a query is refused", func(t T) {
			in := l.query("pk = :a", "p", "x")
			in.FilterExpression = aws.String("sk = :b")
			_, err := l.Query(t.Context(), in)
			wantInvalid(t, err, "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk")
		}},
		{"a query needs equality on the partition key", func(t T) {
			_, err := l.Query(t.Context(), l.query("sk = :a", "x"))
			wantInvalid(t, err, "Query condition missed key schema element: pk")
			_, err = l.Query(t.Context(), l.query("pk > :a", "x"))
			wantInvalid(t, err, "Query key condition not supported")
		}},
		{"the segments of a scan divide the table", func(t T) {
			p := l.fill(t, "1", "2", "3")
			q := l.fill(t, "4", "5")
			met := map[string]int{}
			for delta := range int32(3) {
				in := &dynamodb.ScanInput{TableName: &l.table, Segment: &delta, TotalSegments: aws.Int32(3)}
				for pages := dynamodb.NewScanPaginator(l, in); pages.HasMorePages(); {
					out, err := pages.NextPage(t.Context())
					if err != nil {
						t.Fatalf("scan: %v", err)
					}
					for _, it := range out.Items {
						if pk := dynamoText(it, "pk"); pk == p || pk == q {
							met[dynamoText(it, "sk")]++
						}
					}
				}
			}
			if fmt.Sprint(met) != "map[1:1 2:1 3:1 4:1 5:1]" {
				t.Errorf("met %v, want each once", met)
			}
		}},
	}
}

func (l *dynamoLedger) indexCases() []Case {
	onIndex := func(name string, in *dynamodb.QueryInput) *dynamodb.QueryInput {
		in.IndexName = &name
		return in
	}
	// settled reads an index until it shows these items: indexes are eventually consistent.
	settled := func(t T, in *dynamodb.QueryInput, want string) {
		t.Helper()
		got := ""
		for range 50 {
			out, err := l.Query(t.Context(), in)
			if err != nil {
				t.Fatalf("query %s: %v", *in.IndexName, err)
			}
			if got = dynamoSorts(out.Items); got == want {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("the index shows %q, want %q", got, want)
	}
	return []Case{
		{"an index holds the items that have its key, in its order", func(t T) {
			p, due := Unique("p"), Unique("due")
			l.put(t, dynamoKey(p, "late", "g1pk", dynamoString(due), "g1sk", dynamoString("9")))
			l.put(t, dynamoKey(p, "soon", "g1pk", dynamoString(due), "g1sk", dynamoString("1")))
			l.put(t, dynamoKey(p, "half", "g1pk", dynamoString(due)))
			settled(t, onIndex("due", l.query("g1pk = :a", due)), "soon late")
			settled(t, onIndex("due", l.query("g1pk = :a AND g1sk < :b", due, "5")), "soon")
		}},
		{"an item that loses the key of an index leaves it", func(t T) {
			p, due := Unique("p"), Unique("due")
			before := dynamoKey(p, "a", "g1pk", dynamoString(due), "g1sk", dynamoString("1"))
			l.put(t, before)
			settled(t, onIndex("due", l.query("g1pk = :a", due)), "a")
			if _, err := l.update(t, before, "REMOVE g1pk, g1sk", nil); err != nil {
				t.Fatalf("update: %v", err)
			}
			settled(t, onIndex("due", l.query("g1pk = :a", due)), "")
		}},
		{"an index of keys holds keys", func(t T) {
			p, id := Unique("p"), Unique("i")
			l.put(t, dynamoKey(p, "a", "g2pk", dynamoString(id), "v", dynamoString("x")))
			in := onIndex("node", l.query("g2pk = :a", id))
			settled(t, in, "a")
			out, err := l.Query(t.Context(), in)
			if err != nil || len(out.Items) != 1 || len(out.Items[0]) != 3 {
				t.Errorf("got %v, %v; want pk, sk and g2pk", out, err)
			}
		}},
		{"an index cannot be read consistently", func(t T) {
			in := onIndex("due", l.query("g1pk = :a", "x"))
			in.ConsistentRead = aws.Bool(true)
			_, err := l.Query(t.Context(), in)
			wantInvalid(t, err, "Consistent reads are not supported on global secondary indexes")
		}},
		{"an unknown index is refused", func(t T) {
			_, err := l.Query(t.Context(), onIndex("nope", l.query("pk = :a", "x")))
			wantInvalid(t, err, "The table does not have the specified index: nope")
		}},
	}
}
