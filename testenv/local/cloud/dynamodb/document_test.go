package dynamodb_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// A page is written at once, and reads as what encoding/json writes.
func TestPageIsWrittenAsEncodingJSONWouldWriteIt(t *testing.T) {
	item := func(doc string) attribute.Item {
		var it attribute.Item
		if err := json.Unmarshal([]byte(doc), &it); err != nil {
			t.Fatal(err)
		}
		return it
	}
	items := []attribute.Item{
		item(`{"pk":{"S":"a \"quoted\" \\ text"},"n":{"N":"12.5"},"deep":{"M":{"l":{"L":[{"BOOL":true},{"NULL":true},{"B":"AAEC"}]}}}}`),
		item(`{"pk":{"S":"<&> ü \u0001 \u2028"},"set":{"SS":["x","y"]},"":{"S":""}}`), item(`{}`),
	}
	for name, page := range map[string]*dynamodb.PageOutput{
		"items": {Items: items, Count: 3, ScannedCount: 4, LastEvaluatedKey: items[0]},
		"none":  {Items: []attribute.Item{}, Count: 0},
		"count": {Count: 7, ScannedCount: 7},
	} {
		want, err := json.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		got, err := page.AppendDocument(nil)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatalf("%s: %v in %s", name, err, got)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: wrote\n%s, want\n%s", name, got, want)
		}
	}
	absent := &dynamodb.PageOutput{Items: []attribute.Item{{"lost": attribute.Value{}}}}
	if _, err := absent.AppendDocument(nil); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("an absent value is written: %v", err)
	}
}
