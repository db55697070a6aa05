package expression

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

const keyValues = `{":a":{"S":"a"},":b":{"S":"b"},":n":{"N":"1"},":e":{"S":""}}`

func TestKeyConditionSplitsIntoTerms(t *testing.T) {
	for condition, want := range map[string]string{
		"pk = :a":                              "pk = 1",
		":a = pk":                              "pk = 1",
		"pk = :a AND sk > :b":                  "pk = 1;sk > 1",
		":b < sk AND (pk = :a)":                "sk > 1;pk = 1",
		"pk = :a AND begins_with(sk, :b)":      "pk = 1;sk begins_with 1",
		"pk = :a AND sk BETWEEN :a AND :b":     "pk = 1;sk BETWEEN 2",
		"(pk = :a) and (sk between :a and :b)": "pk = 1;sk BETWEEN 2",
		"#p = :a AND sk <= :n":                 "pk = 1;sk <= 1",
	} {
		c, err := ParseKeyCondition(condition, env(t, `{"#p":"pk"}`, keyValues))
		if err != nil {
			t.Errorf("%s: %v", condition, err)
			continue
		}
		got := ""
		for i, term := range c.Terms {
			if i > 0 {
				got += ";"
			}
			got += fmt.Sprint(term.Attribute, " ", term.Op, " ", len(term.Values))
		}
		if got != want {
			t.Errorf("%s = %s, want %s", condition, got, want)
		}
	}
}

func TestKeyConditionRefusesWhatNoKeyAllows(t *testing.T) {
	const one = "Invalid condition in KeyConditionExpression: "
	for condition, want := range map[string]string{
		"pk = :a OR sk = :b":             "Invalid operator used in KeyConditionExpression: OR",
		"NOT pk = :a":                    "Invalid operator used in KeyConditionExpression: NOT",
		"pk <> :a":                       "Invalid operator used in KeyConditionExpression: <>",
		"pk IN (:a)":                     "Invalid operator used in KeyConditionExpression: IN",
		"attribute_exists(pk)":           "Invalid operator used in KeyConditionExpression: attribute_exists",
		"contains(pk, :a)":               "Invalid operator used in KeyConditionExpression: contains",
		"begins_with(:a, b) and pk > :b": one + "begins_with operator must have the key attribute as its first operand",
		":a between size(b) and size(a) and b > :b": one + "BETWEEN operator must have the key attribute as its first operand",
		"size(b) > a AND a.b > b":                   "KeyConditionExpressions cannot contain nested operations",
		"a > size(b.d)":                             "KeyConditionExpressions cannot contain nested operations",
		"a between size(b) and size(a)":             "KeyConditionExpressions cannot contain nested operations",
		"b > a.b":                                   one + "Multiple attribute names used in one condition",
		"a between b and size(a)":                   one + "Multiple attribute names used in one condition",
		"a.d > :a":                                  "KeyConditionExpressions cannot have conditions on nested attributes",
		":b > :a AND a < :b":                        one + "No key attribute specified",
		"b > :a AND b < :a and c = :a":              "KeyConditionExpressions must only contain one condition per key",
		"pk = :gone":                                "Invalid KeyConditionExpression: An expression attribute value used in expression is not defined; attribute value: :gone",
	} {
		_, err := ParseKeyCondition(condition, env(t, "", keyValues))
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", condition, err, want)
		}
	}
}

func TestKeyTermPositionAgreesWithTheCondition(t *testing.T) {
	values := []string{"", "a", "ab", "abc", "ac", "b", "z"}
	for _, op := range []string{"=", "<", "<=", ">", ">="} {
		for _, bound := range values {
			term := KeyTerm{Op: op, Values: []attribute.Value{attribute.String(bound)}}
			checkPositions(t, term, values, func(v attribute.Value) bool { return compareHolds(op, v, attribute.String(bound)) })
		}
	}
	for _, prefix := range values {
		term := KeyTerm{Op: "begins_with", Values: []attribute.Value{attribute.String(prefix)}}
		checkPositions(t, term, values, func(v attribute.Value) bool {
			return len(v.Text) >= len(prefix) && v.Text[:len(prefix)] == prefix
		})
	}
	low, high := attribute.String("ab"), attribute.String("b")
	term := KeyTerm{Op: "BETWEEN", Values: []attribute.Value{low, high}}
	checkPositions(t, term, values, func(v attribute.Value) bool { return v.Text >= "ab" && v.Text <= "b" })
}

// checkPositions wants position 0 exactly where the term holds and positions that never fall along sorted values.
func checkPositions(t *testing.T, term KeyTerm, sorted []string, holds func(attribute.Value) bool) {
	t.Helper()
	last := -1
	for _, s := range sorted {
		v := attribute.String(s)
		got := term.Position(v)
		if (got == 0) != holds(v) || got < last {
			t.Errorf("position of %q under %s %v = %d after %d; holds: %v", s, term.Op, term.Values[0].Text, got, last, holds(v))
		}
		last = got
	}
}
