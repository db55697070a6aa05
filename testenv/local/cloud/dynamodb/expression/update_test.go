package expression

import (
	"encoding/json"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

const updateValues = `{":one":{"N":"1"},":s":{"S":"s"},":list":{"L":[{"S":"y"},{"S":"z"}]},":set":{"SS":["b","c"]},":ab":{"SS":["a","b"]},
	":nums":{"NS":["2","7"]},":map":{"M":{}},":empty":{"L":[]},":neg":{"N":"-4"}}`

func TestUpdateChangesTheItem(t *testing.T) {
	const before = `{"v":{"N":"3"},"st":{"S":"old"},"tags":{"SS":["a","b"]},"nums":{"NS":["1","2"]},
		"l":{"L":[{"S":"0"},{"S":"1"},{"S":"2"},{"S":"3"}]},"m":{"M":{"x":{"N":"5"},"y":{"M":{"z":{"S":"deep"}}}}}}`
	cases := []struct{ update, want string }{ // want holds what differs; null means gone
		{"SET st = :s", `{"st":{"S":"s"}}`},
		{"set v = v + :one, w = v", `{"v":{"N":"4"},"w":{"N":"3"}}`}, // every right side sees the item before
		{"SET v = :one - v", `{"v":{"N":"-2"}}`},
		{"SET v = (v + :one)", `{"v":{"N":"4"}}`},
		{"SET v = if_not_exists(v, :one)", `{}`},
		{"SET n = if_not_exists(n, :one) + :one", `{"n":{"N":"2"}}`},
		{"SET n = if_not_exists(n, if_not_exists(w, v))", `{"n":{"N":"3"}}`},
		{"SET l = list_append(l, :list)", `{"l":{"L":[{"S":"0"},{"S":"1"},{"S":"2"},{"S":"3"},{"S":"y"},{"S":"z"}]}}`},
		{"SET l = list_append(:list, l)", `{"l":{"L":[{"S":"y"},{"S":"z"},{"S":"0"},{"S":"1"},{"S":"2"},{"S":"3"}]}}`},
		{"SET h = list_append(if_not_exists(h, :empty), :list)", `{"h":{"L":[{"S":"y"},{"S":"z"}]}}`},
		{"SET l[1] = :s", `{"l":{"L":[{"S":"0"},{"S":"s"},{"S":"2"},{"S":"3"}]}}`},
		{"SET l[9] = :s, l[7] = :one", `{"l":{"L":[{"S":"0"},{"S":"1"},{"S":"2"},{"S":"3"},{"N":"1"},{"S":"s"}]}}`},
		{"REMOVE l[0], l[2]", `{"l":{"L":[{"S":"1"},{"S":"3"}]}}`},
		{"REMOVE l[2], l[0]", `{"l":{"L":[{"S":"1"},{"S":"3"}]}}`},
		{"REMOVE l[9]", `{}`},
		{"SET l[0] = :s REMOVE l[1]", `{"l":{"L":[{"S":"s"},{"S":"2"},{"S":"3"}]}}`},
		{"SET m.x = m.x + :one, m.n = :s", `{"m":{"M":{"x":{"N":"6"},"n":{"S":"s"},"y":{"M":{"z":{"S":"deep"}}}}}}`},
		{"SET m.y.z = :one", `{"m":{"M":{"x":{"N":"5"},"y":{"M":{"z":{"N":"1"}}}}}}`},
		{"REMOVE m.y.z", `{"m":{"M":{"x":{"N":"5"},"y":{"M":{}}}}}`},
		{"REMOVE m.gone, st, nothing", `{"st":null}`},
		{"ADD v :one", `{"v":{"N":"4"}}`},
		{"ADD v :neg", `{"v":{"N":"-1"}}`},
		{"ADD fresh :one, more :set", `{"fresh":{"N":"1"},"more":{"SS":["b","c"]}}`},
		{"ADD tags :set", `{"tags":{"SS":["a","b","c"]}}`},
		{"ADD nums :nums, m.x :one", `{"nums":{"NS":["1","2","7"]},"m":{"M":{"x":{"N":"6"},"y":{"M":{"z":{"S":"deep"}}}}}}`},
		{"DELETE tags :set", `{"tags":{"SS":["a"]}}`},
		{"DELETE tags :ab", `{"tags":null}`}, // no set is empty
		{"DELETE nothing :set", `{}`},
		{"REMOVE st SET w = :s DELETE tags :set ADD v :one", `{"st":null,"w":{"S":"s"},"tags":{"SS":["a"]},"v":{"N":"4"}}`},
	}
	for _, c := range cases {
		u, err := ParseUpdate(c.update, env(t, "", updateValues))
		if err != nil {
			t.Errorf("%s: %v", c.update, err)
			continue
		}
		old := item(t, before)
		got, err := u.Apply(old)
		if err != nil {
			t.Errorf("%s: %v", c.update, err)
			continue
		}
		if want := changed(t, before, c.want); !attribute.EqualItems(got, want) {
			t.Errorf("%s\n got %s\nwant %s", c.update, text(t, got), text(t, want))
		}
		if !attribute.EqualItems(old, item(t, before)) {
			t.Errorf("%s changed its operand to %s", c.update, text(t, old))
		}
	}
}

// changed returns the item of before with the attributes of change in place; null takes one away.
func changed(t *testing.T, before, change string) attribute.Item {
	t.Helper()
	var raw, parts map[string]json.RawMessage
	for document, into := range map[string]*map[string]json.RawMessage{before: &raw, change: &parts} {
		if err := json.Unmarshal([]byte(document), into); err != nil {
			t.Fatal(err)
		}
	}
	for name, part := range parts {
		if string(part) == "null" {
			delete(raw, name)
		} else {
			raw[name] = part
		}
	}
	document, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return item(t, string(document))
}

func text(t *testing.T, it attribute.Item) string {
	t.Helper()
	document, err := json.Marshal(it)
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

func TestUpdateRefusesExpressionsWithTheWordsOfTheService(t *testing.T) {
	const badType = "Incorrect operand type for operator or function; operator or function: "
	for update, want := range map[string]string{
		"":                                  "The expression can not be empty;",
		"v = :one":                          `Syntax error; token: "v", near: "v ="`,
		"SET":                               `Syntax error; token: "<EOF>", near: "SET"`,
		"SET v :one":                        `Syntax error; token: ":one", near: "v :one"`,
		"SET v = :one,":                     `Syntax error; token: "<EOF>", near: ","`,
		"SET v = :one + :one + :one":        `Syntax error; token: "+", near: ":one + :one"`,
		"SET v = 5":                         `Syntax error; token: "5", near: "= 5"`,
		"ADD v v":                           `Syntax error; token: "v", near: "v v"`,
		"REMOVE v = :one":                   `Syntax error; token: "=", near: "v = :one"`,
		"SET v = ((:one))":                  "The expression has redundant parentheses;",
		"SET v = whatever(:one)":            "Invalid function name; function: whatever",
		"SET v = size(w)":                   "The function is not allowed in an update expression; function: size",
		"SET v = :one SET w = :one":         `The "SET" section can only be used once in an update expression;`,
		"SET status = :one":                 "Attribute name is a reserved keyword; reserved keyword: status",
		"SET #x = :one":                     "An expression attribute name used in the document path is not defined; attribute name: #x",
		"SET v = :gone":                     "An expression attribute value used in expression is not defined; attribute value: :gone",
		"SET v = list_append(w)":            "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 1",
		"SET v = if_not_exists(:one, :one)": "Operator or function requires a document path; operator or function: if_not_exists",
		"SET v = v + :s":                    badType + "+, operand type: S",
		"SET v = list_append(v, :one)":      badType + "list_append, operand type: N",
		"SET v = :one + list_append(v, w)":  badType + "+, operand type: L",
		"ADD v :s":                          "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND",
		"DELETE v :one":                     "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND",
		"SET v = :one, v = :s":              "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [v], path two: [v]",
		"SET m.x = :one REMOVE m":           "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m, x], path two: [m]",
		"SET m.x = :one, m[1] = :s":         "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [m, x], path two: [m, [1]]",
	} {
		_, err := ParseUpdate(update, env(t, "", updateValues))
		if err == nil || err.Error() != "Invalid UpdateExpression: "+want {
			t.Errorf("%s\n got %v\nwant Invalid UpdateExpression: %s", update, err, want)
		}
	}
}

func TestUpdateRefusesItemsItDoesNotFit(t *testing.T) {
	const path = "The document path provided in the update expression is invalid for update"
	const operand = "An operand in the update expression has an incorrect data type"
	const missing = "The provided expression refers to an attribute that does not exist in the item"
	const before = `{"v":{"N":"3"},"s":{"S":"x"},"l":{"L":[]},"m":{"M":{}},"tags":{"SS":["a"]},"huge":{"N":"9.9e125"}}`
	for update, want := range map[string]string{
		"SET n.x = :one":                path,
		"SET v.x = :one":                path,
		"SET m[0] = :one":               path,
		"SET l.x = :one":                path,
		"REMOVE n.x":                    path,
		"ADD m.a.b :one":                path,
		"SET v = nothing":               missing,
		"SET v = nothing + :one":        missing,
		"SET v = list_append(n, :list)": missing,
		"SET v = s + :one":              operand,
		"SET l = list_append(s, :list)": operand,
		"ADD s :one":                    operand,
		"ADD tags :one":                 operand,
		"ADD tags :nums":                operand,
		"DELETE tags :nums":             operand,
		"SET v = v + huge":              "Attempting to store more than 38 significant digits in a Number",
		"SET v = huge + huge":           "Number overflow. Attempting to store a number with magnitude larger than supported range",
	} {
		u, err := ParseUpdate(update, env(t, "", updateValues))
		if err != nil {
			t.Errorf("%s: %v", update, err)
			continue
		}
		if _, err := u.Apply(item(t, before)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", update, err, want)
		}
	}
}

func TestUpdateTellsWhichAttributesItTouches(t *testing.T) {
	u, err := ParseUpdate("SET a.b = :one REMOVE c", env(t, "", updateValues))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names []string
		want  string
	}{{[]string{"pk", "sk"}, ""}, {[]string{"pk", "a"}, "a"}, {[]string{"c"}, "c"}, {[]string{"b"}, ""}} {
		if got := u.Touches(c.names...); got != c.want {
			t.Errorf("touches %v: %q, want %q", c.names, got, c.want)
		}
	}
}
