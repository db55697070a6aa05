package attribute

import (
	"encoding/json"
	"strings"
	"testing"
)

func decode(t *testing.T, document string) Value {
	t.Helper()
	var v Value
	if err := json.Unmarshal([]byte(document), &v); err != nil {
		t.Fatalf("read %s: %v", document, err)
	}
	return v
}

func TestValueKeepsEveryTypeOverTheWire(t *testing.T) {
	for document, want := range map[string]string{
		`{"S":"a\"<ü"}`:                       "",
		`{"S":""}`:                            "",
		`{"N":"1.0"}`:                         `{"N":"1"}`,
		`{"B":"AAH/"}`:                        "",
		`{"BOOL":false}`:                      "",
		`{"NULL":true}`:                       "",
		`{"L":[]}`:                            "",
		`{"M":{}}`:                            "",
		`{"L":[{"S":"x"},{"L":[{"N":"2"}]}]}`: "",
		`{"M":{"b":{"S":"x"},"a":{"M":{}}}}`:  `{"M":{"a":{"M":{}},"b":{"S":"x"}}}`,
		`{"SS":["b","a",""]}`:                 `{"SS":["","a","b"]}`,
		`{"NS":["10","9","-1"]}`:              `{"NS":["-1","9","10"]}`,
		`{"BS":["Yg==","YQ=="]}`:              `{"BS":["YQ==","Yg=="]}`,
		`{"S":"x","N":null}`:                  `{"S":"x"}`,
	} {
		if want == "" {
			want = document
		}
		got, err := json.Marshal(decode(t, document))
		if err != nil {
			t.Fatal(err)
		}
		if !Equal(decode(t, string(got)), decode(t, want)) || len(decode(t, want).Set) > 0 && string(got) != want {
			t.Errorf("%s came back as %s, want %s", document, got, want)
		}
	}
}

func TestValueRefusesMalformedDocuments(t *testing.T) {
	const invalid = "One or more parameter values were invalid: "
	for document, want := range map[string]string{
		`{}`:                     "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
		`{"X":"1"}`:              "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
		`{"L":[{}]}`:             "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
		`{"S":"a","N":"1"}`:      "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
		`{"NULL":false}`:         invalid + "Null attribute value types must have the value of true",
		`{"SS":[]}`:              invalid + "An string set  may not be empty",
		`{"NS":[]}`:              invalid + "An number set  may not be empty",
		`{"BS":[]}`:              invalid + "Binary sets should not be empty",
		`{"SS":["a","a"]}`:       invalid + "Input collection [a, a] contains duplicates.",
		`{"BS":["Yg==","Yg=="]}`: invalid + "Input collection [Yg==, Yg==]of type BS contains duplicates.",
		`{"NS":["1","1.0"]}`:     "Input collection contains duplicates",
		`{"M":{"a":{"N":"x"}}}`:  "The parameter cannot be converted to a numeric value: x",
	} {
		var v Value
		err := json.Unmarshal([]byte(document), &v)
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", document, err, want)
		}
	}
}

func TestEqualIgnoresSpellingButNotType(t *testing.T) {
	cases := []struct {
		a, b string
		want bool
	}{
		{`{"N":"1"}`, `{"N":"1.00"}`, true},
		{`{"N":"1"}`, `{"S":"1"}`, false},
		{`{"SS":["a","b"]}`, `{"SS":["b","a"]}`, true},
		{`{"L":[{"S":"a"},{"S":"b"}]}`, `{"L":[{"S":"b"},{"S":"a"}]}`, false},
		{`{"M":{"a":{"NULL":true}}}`, `{"M":{"a":{"NULL":true}}}`, true},
		{`{"M":{"a":{"NULL":true}}}`, `{"M":{"b":{"NULL":true}}}`, false},
		{`{"S":"a"}`, `{"B":"YQ=="}`, false},
		{`{"BOOL":true}`, `{"BOOL":false}`, false},
	}
	for _, c := range cases {
		if got := Equal(decode(t, c.a), decode(t, c.b)); got != c.want {
			t.Errorf("%s = %s: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if Equal(Value{}, Value{}) {
		t.Error("absent equals absent")
	}
}

func TestSetsUniteAndDifferWithoutChangingTheirOperands(t *testing.T) {
	a, b := decode(t, `{"NS":["3","1"]}`), decode(t, `{"NS":["2","3"]}`)
	if got := a.Union(b); !Equal(got, decode(t, `{"NS":["1","2","3"]}`)) {
		t.Errorf("union = %v", got)
	}
	if got := a.Without(b); !Equal(got, decode(t, `{"NS":["1"]}`)) {
		t.Errorf("difference = %v", got)
	}
	if got := a.Without(a); !got.IsAbsent() {
		t.Errorf("a set less itself = %v, want nothing", got)
	}
	if !Equal(a, decode(t, `{"NS":["1","3"]}`)) {
		t.Errorf("the operand changed to %v", a)
	}
}

func TestItemSizeCountsNamesValuesAndOverhead(t *testing.T) {
	item := Item{
		"pk":   String("C#blue"),                   // 2 + 6
		"ü":    Bool(true),                         // 2 + 1
		"list": List(String("ab"), Null()),         // 4 + 3 + (1+2) + (1+1)
		"map":  Map(map[string]Value{"k": Int(1)}), // 3 + 3 + (1+1+2)
		"set":  decode(t, `{"SS":["a","bcd"]}`),    // 3 + 4
		"bin":  Bytes(make([]byte, 10)),            // 3 + 10
	}
	if got, want := item.SizeBytes(), 8+3+12+10+7+13; got != want {
		t.Errorf("size = %d, want %d", got, want)
	}
	if got := Item(nil).SizeBytes(); got != 0 {
		t.Errorf("size of no item = %d", got)
	}
}

func TestDepthCountsLevelsOfListsAndMaps(t *testing.T) {
	nested := strings.Repeat(`{"L":[`, 5) + `{"M":{}}` + strings.Repeat("]}", 5)
	for document, want := range map[string]int{`{"S":""}`: 0, `{"L":[]}`: 1, `{"M":{"a":{"L":[{"N":"1"}]}}}`: 2, nested: 6} {
		if got := decode(t, document).Depth(); got != want {
			t.Errorf("depth of %s = %d, want %d", document, got, want)
		}
	}
}
