package expression

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

func TestProjectionSelectsParts(t *testing.T) {
	const whole = `{"a":{"S":"1"},"m":{"M":{"x":{"N":"5"},"y":{"M":{"z":{"S":"d"},"w":{"S":"e"}}}}},"l":{"L":[{"S":"0"},{"S":"1"},{"M":{"k":{"S":"v"},"j":{"S":"u"}}}]}}`
	for projection, want := range map[string]string{
		"a":                `{"a":{"S":"1"}}`,
		"a, gone":          `{"a":{"S":"1"}}`,
		"gone":             `{}`,
		"m.x, m.y.z":       `{"m":{"M":{"x":{"N":"5"},"y":{"M":{"z":{"S":"d"}}}}}}`,
		"m.gone.z":         `{}`,
		"l[2], l[0]":       `{"l":{"L":[{"S":"0"},{"M":{"k":{"S":"v"},"j":{"S":"u"}}}]}}`,
		"l[2].k, l[9]":     `{"l":{"L":[{"M":{"k":{"S":"v"}}}]}}`,
		"a.b, l.x, m[0]":   `{}`,
		"#m.#x, #m.y.w, a": `{"a":{"S":"1"},"m":{"M":{"x":{"N":"5"},"y":{"M":{"w":{"S":"e"}}}}}}`,
	} {
		p, err := ParseProjection(projection, env(t, `{"#m":"m","#x":"x"}`, ""))
		if err != nil {
			t.Errorf("%s: %v", projection, err)
			continue
		}
		if got := p.Of(item(t, whole)); !attribute.EqualItems(got, item(t, want)) {
			t.Errorf("%s of the item = %s, want %s", projection, text(t, got), want)
		}
	}
	var all *Projection
	if got := all.Of(item(t, whole)); len(got) != 3 {
		t.Errorf("no projection selects %v", got)
	}
}

func TestProjectionRefusesOverlapAndNonPaths(t *testing.T) {
	for projection, want := range map[string]string{
		"":           "The expression can not be empty;",
		"a, a":       "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
		"m, m.x":     "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m], path two: [m, x]",
		"l[1], #l.x": "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [l, [1]], path two: [l, x]",
		"a b":        `Syntax error; token: "b", near: "a b"`,
		"size(a)":    `Attribute name is a reserved keyword; reserved keyword: size`,
		":v":         `Syntax error; token: ":v", near: ":v"`,
		"name":       "Attribute name is a reserved keyword; reserved keyword: name",
	} {
		_, err := ParseProjection(projection, env(t, `{"#l":"l"}`, `{":v":{"S":"a"}}`))
		if projection == "size(a)" { // a path cannot be followed by a parenthesis
			want = `Syntax error; token: "(", near: "size(a"`
		}
		if err == nil || err.Error() != "Invalid ProjectionExpression: "+want {
			t.Errorf("%s\n got %v\nwant %s", projection, err, want)
		}
	}
}
