package expression

import (
	"encoding/json"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// item reads an item in the JSON of the wire; "" is no item.
func item(t testing.TB, document string) attribute.Item {
	t.Helper()
	if document == "" {
		return nil
	}
	var it attribute.Item
	if err := json.Unmarshal([]byte(document), &it); err != nil {
		t.Fatalf("read %s: %v", document, err)
	}
	return it
}

// env makes placeholders of the JSON of the wire; "" stands for a map that was not sent.
func env(t testing.TB, names, values string) *Env {
	t.Helper()
	var n map[string]string
	if names != "" {
		if err := json.Unmarshal([]byte(names), &n); err != nil {
			t.Fatal(err)
		}
	}
	e, err := NewEnv(n, item(t, values))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const claim = `{"pk":{"S":"C#blue"},"v":{"N":"3"},"st":{"S":"Launched"},"bin":{"B":"AAEC"},"live":{"BOOL":true},
	"nul":{"NULL":true},"tags":{"SS":["a","b"]},"nums":{"NS":["1","2.50"]},
	"pods":{"L":[{"S":"x"},{"M":{"ns":{"S":"web"},"cpu":{"N":"250"}}}]},"meta":{"M":{"az":{"S":"a"},"n":{"N":"3"}}}}`

const claimValues = `{":v":{"N":"3"},":w":{"N":"3.00"},":big":{"N":"10"},":st":{"S":"Launched"},":prefix":{"S":"Lau"},
	":x":{"S":"x"},":a":{"S":"a"},":sub":{"S":"unch"},":n25":{"N":"2.5"},":tS":{"S":"S"},":tSS":{"S":"SS"},":tM":{"S":"M"},
	":bytes":{"B":"AQ=="},":two":{"N":"2"},":true":{"BOOL":true},":null":{"NULL":true},":map":{"M":{"az":{"S":"a"},"n":{"N":"3"}}},
	":set":{"SS":["b","a"]},":low":{"S":"K"},":high":{"S":"M"},":one":{"N":"1"}}`

func TestConditionIsEvaluated(t *testing.T) {
	for condition, want := range map[string]bool{
		"v = :v": true, "v = :w": true, "v <> :v": false, "v < :big": true, "v >= :v": true, "v > :v": false, "v <= :two": false,
		"st = :v": false, "st <> :v": true, "st < :v": false, "st >= :v": false,
		"gone = :v": false, "gone <> :v": true, "gone < :v": false, "gone <> away": true, "gone = away": false,
		"tags = :set": true, "meta = :map": true, "live = :true": true, "nul = :null": true, "nul <> :null": false,
		"attribute_exists(v)": true, "attribute_exists(meta.az)": true, "attribute_exists(meta.nul)": false,
		"attribute_exists(pods[1].ns)": true, "attribute_exists(pods[7])": false, "attribute_exists(v.x)": false,
		"attribute_not_exists(v)": false, "attribute_not_exists(gone)": true,
		"attribute_type(st, :tS)": true, "attribute_type(tags, :tSS)": true, "attribute_type(meta, :tM)": true, "attribute_type(gone, :tS)": false,
		"begins_with(st, :prefix)": true, "begins_with(st, :sub)": false, "begins_with(v, :prefix)": false,
		"contains(st, :sub)": true, "contains(tags, :a)": true, "contains(tags, :x)": false, "contains(nums, :n25)": true,
		"contains(pods, :x)": true, "contains(bin, :bytes)": true, "contains(v, :v)": false, "contains(gone, :v)": false,
		"size(st) > :v": true, "size(bin) = :v": true, "size(tags) = :two": true, "size(pods) = :two": true, "size(meta) = :two": true, "size(v) >= :one": false,
		"v BETWEEN :one AND :big": true, "v BETWEEN :big AND :big": false, "st between :low and :high": true, "gone BETWEEN :one AND :big": false,
		"v IN (:one, :v)": true, "v IN (:one, :st)": false, "st in (:st)": true, "gone IN (:one)": false,
		"meta.n = v": true, "pods[1].cpu > v": true, "meta . az = :a": true,
		"NOT v = :v": false, "NOT NOT v = :v": true, "not gone = :v": true,
		"v = :one OR v = :v AND st = :x":                  false, // AND binds tighter than OR
		"(v = :one OR v = :v) AND st = :st":               true,
		"NOT v = :one AND st = :st":                       true, // NOT binds tighter than AND
		"NOT (v = :one OR st = :st)":                      false,
		"(v) = (:v)":                                      true,
		"#st = :st":                                       true,
		"v=:v AND(st=:st)AND NOT(v=:one)":                 true,
		"v BETWEEN :one AND :big AND st = :st":            true,
		"attribute_not_exists(pk) OR v = :v":              true,
		"attribute_not_exists(pk) OR (v = :v AND v=:one)": false,
	} {
		c, err := ParseCondition("ConditionExpression", condition, env(t, `{"#st":"st"}`, claimValues))
		if err != nil {
			t.Errorf("%s: %v", condition, err)
			continue
		}
		if got := c.Matches(item(t, claim)); got != want {
			t.Errorf("%s = %v, want %v", condition, got, want)
		}
	}
}

func TestConditionOnNoItemSeesNoAttribute(t *testing.T) {
	for condition, want := range map[string]bool{
		"attribute_not_exists(pk)": true, "attribute_exists(pk)": false, "v = :v": false, "v <> :v": true, "size(st) > :v": false,
	} {
		c, err := ParseCondition("ConditionExpression", condition, env(t, "", claimValues))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Matches(nil); got != want {
			t.Errorf("%s on nothing = %v, want %v", condition, got, want)
		}
	}
}

func TestConditionRefusesWithTheWordsOfTheService(t *testing.T) {
	const misuse = "The function is not allowed to be used this way in an expression; function: "
	const badType = "Incorrect operand type for operator or function; operator or function: "
	const distinct = "The first operand must be distinct from the remaining operands for this operator or function; operator: "
	for condition, want := range map[string]string{
		"": "The expression can not be empty;",
		// syntax
		"a > 4":                   `Syntax error; token: "4", near: "> 4"`,
		"a":                       `Syntax error; token: "<EOF>", near: "a"`,
		"a = :s b":                `Syntax error; token: "b", near: ":s b"`,
		"a..b = :s":               `Syntax error; token: ".", near: "..b"`,
		"a in :s":                 `Syntax error; token: ":s", near: "in :s"`,
		"a in (:s,)":              `Syntax error; token: ")", near: ",)"`,
		"a > between":             `Syntax error; token: "between", near: "> between"`,
		"ü > :s":                  `Syntax error; token: "ü", near: "ü >"`,
		"#$ = :s":                 `Syntax error; token: "#", near: "#$"`,
		"a[x] = :s":               `Syntax error; token: "x", near: "[x]"`,
		"a[4.5] = :s":             `Syntax error; token: ".", near: "4.5"`,
		"size(a)[0] > :n":         `Syntax error; token: "[", near: ")[0"`,
		"(a = :s":                 `Syntax error; token: "<EOF>", near: ":s"`,
		"(a = :s) = :s":           `Syntax error; token: "=", near: ") = :s"`,
		"a = :s AND":              `Syntax error; token: "<EOF>", near: "AND"`,
		"a = = :s":                `Syntax error; token: "=", near: "= = :s"`,
		"attribute_exists(\"a\")": `Syntax error; token: """, near: "("a"`,
		"a[99999999999999] = :s":  "List index is not within the allowable range; index: [99999999999999]",
		// structure
		"a=:s and b > ((:n))":                "The expression has redundant parentheses;",
		"a=:s AND ((b=:s AND c=:s))":         "The expression has redundant parentheses;",
		"whatever(a) > :n":                   "Invalid function name; function: whatever",
		"attRIbute_exIsts(a)":                "Invalid function name; function: attRIbute_exIsts",
		"if_not_exists(a, :n) = :n":          "The function is not allowed in a condition expression; function: if_not_exists",
		"attribute_exists(a) > b":            misuse + "attribute_exists",
		"size(contains(a, b)) > a":           misuse + "contains",
		"size(things)":                       misuse + "size",
		"a in (b, attribute_exists(things))": misuse + "attribute_exists",
		// names and values
		"status = :s":  "Attribute name is a reserved keyword; reserved keyword: status",
		":s < abOrT":   "Attribute name is a reserved keyword; reserved keyword: abOrT",
		"a.zone = :s":  "Attribute name is a reserved keyword; reserved keyword: zone",
		"#p = :s":      "An expression attribute name used in the document path is not defined; attribute name: #p",
		"a.#p = :gone": "An expression attribute name used in the document path is not defined; attribute name: #p",
		"a = :gone":    "An expression attribute value used in expression is not defined; attribute value: :gone",
		// operands
		"attribute_exists(things, a)": "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2",
		"begins_with(things)":         "Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1",
		"attribute_exists(:s)":        "Operator or function requires a document path; operator or function: attribute_exists",
		"attribute_type(a, :n)":       badType + "attribute_type, operand type: N",
		"attribute_type(a, :s)":       "Invalid attribute type name found; type: s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
		"begins_with(a, :n)":          badType + "begins_with, operand type: N",
		"begins_with(a, size(b))":     badType + "begins_with, operand type: N",
		"size(:n) > a":                badType + "size, operand type: N",
		"a < :bool":                   badType + "<, operand type: BOOL",
		"a >= :list":                  badType + ">=, operand type: L",
		"a between :bool and :bool":   badType + "BETWEEN, operand type: BOOL",
		"a between :n and :s": "The BETWEEN operator requires same data type for lower and upper bounds; " +
			"lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:s}",
		"a between :s and :r": "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; " +
			"lower bound operand: AttributeValue: {S:s}, upper bound operand: AttributeValue: {S:r}",
		"#a <> a":                           distinct + "<>, first operand: [a]",
		"contains(ab.bc[1].a, ab.bc[1].#a)": distinct + "contains, first operand: [ab, bc, [1], a]",
		// the order of checks
		"whatever(a) = :gone AND status = :s": "Invalid function name; function: whatever",
		"#p = :gone AND status = :s":          "Attribute name is a reserved keyword; reserved keyword: status",
	} {
		e := env(t, `{"#a":"a"}`, `{":s":{"S":"s"},":r":{"S":"r"},":n":{"N":"1"},":bool":{"BOOL":true},":list":{"L":[]}}`)
		_, err := ParseCondition("FilterExpression", condition, e)
		if err == nil || err.Error() != "Invalid FilterExpression: "+want {
			t.Errorf("%s\n got %v\nwant Invalid FilterExpression: %s", condition, err, want)
		}
	}
}

func TestConditionBoundsOfINAndLength(t *testing.T) {
	many := "a IN (:s"
	for range 100 {
		many += ", :s"
	}
	for condition, want := range map[string]string{
		many + ")": "Invalid FilterExpression: The IN operator is provided with too many operands; number of operands: 101",
		"a = :s AND attribute_exists(" + string(make([]byte, maxExpressionBytes)) + ")": "Invalid FilterExpression: Expression size has exceeded the maximum allowed size;",
	} {
		_, err := ParseCondition("FilterExpression", condition, env(t, "", `{":s":{"S":"s"}}`))
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestPlaceholdersMustBeWellFormedAndUsed(t *testing.T) {
	if _, err := NewEnv(map[string]string{}, nil); err == nil || err.Error() != "ExpressionAttributeNames must not be empty" {
		t.Errorf("empty names: %v", err)
	}
	if _, err := NewEnv(nil, attribute.Item{}); err == nil || err.Error() != "ExpressionAttributeValues must not be empty" {
		t.Errorf("empty values: %v", err)
	}
	for _, key := range []string{"a", "#", "#a-b", ":a", ""} {
		_, err := NewEnv(map[string]string{key: "a"}, nil)
		if want := `ExpressionAttributeNames contains invalid key: Syntax error; key: "` + key + `"`; err == nil || err.Error() != want {
			t.Errorf("name %q: %v, want %s", key, err, want)
		}
	}
	e := env(t, `{"#a":"a","#b":"b","#c":"c"}`, `{":v":{"N":"1"},":w":{"N":"2"}}`)
	if _, err := ParseCondition("ConditionExpression", "#a = :v", e); err != nil {
		t.Fatal(err)
	}
	if err := e.Unused(); err == nil || err.Error() != "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b, #c}" {
		t.Errorf("unused names: %v", err)
	}
	if _, err := ParseProjection("#b, #c", e); err != nil {
		t.Fatal(err)
	}
	if err := e.Unused(); err == nil || err.Error() != "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}" {
		t.Errorf("unused values: %v", err)
	}
}
