package expression

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// FuzzParse feeds every parser with any text: none may panic, what is accepted must evaluate, and a refusal
// must be one the wire can answer.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"attribute_not_exists(pk) OR (v = :v AND NOT contains(#n.tags[0], :s))", "a BETWEEN :v AND :v", "a IN (:v, :s)",
		"SET a = if_not_exists(a, :v) + :v, l = list_append(l, :l) REMOVE b[1], c.d ADD n :v DELETE s :set",
		"pk = :s AND begins_with(sk, :s)", "a, b.c[3], #n", "((a))", "SET a=:v,", "size(a) >= :v", "\xff\xfe", "a[", "#", ":", "NOT NOT",
		strings.Repeat("(", 2000), strings.Repeat("NOT ", 1000) + "a = :v", strings.Repeat("a.", 1000) + "b",
	} {
		f.Add(seed)
	}
	const values = `{":v":{"N":"1"},":s":{"S":"s"},":l":{"L":[{"N":"1"}]},":set":{"SS":["x"]}}`
	const before = `{"a":{"N":"1"},"l":{"L":[{"S":"x"}]},"n":{"M":{"tags":{"L":[]}}},"b":{"L":[]},"c":{"M":{}}}`
	f.Fuzz(func(t *testing.T, text string) {
		placeholders := func() *Env { return env(t, `{"#n":"n"}`, values) }
		it := item(t, before)
		refused := func(err error) {
			if _, ok := err.(*attribute.ValidationError); err != nil && !ok {
				t.Fatalf("%q is refused with %T: %v", text, err, err)
			}
		}
		if c, err := ParseCondition("ConditionExpression", text, placeholders()); err == nil {
			c.Matches(it)
			c.Matches(nil)
		} else {
			refused(err)
		}
		if u, err := ParseUpdate(text, placeholders()); err == nil {
			_, err := u.Apply(it)
			refused(err)
			u.Apply(attribute.Item{})
		} else {
			refused(err)
		}
		if p, err := ParseProjection(text, placeholders()); err == nil {
			p.Of(it)
		} else {
			refused(err)
		}
		if k, err := ParseKeyCondition(text, placeholders()); err == nil {
			for _, term := range k.Terms {
				term.Position(attribute.String("s"))
			}
		} else {
			refused(err)
		}
		if !attribute.EqualItems(it, item(t, before)) {
			t.Fatalf("%q changed its operand", text)
		}
	})
}
