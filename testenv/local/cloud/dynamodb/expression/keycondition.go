package expression

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// KeyCondition is a parsed key condition: one term per key attribute.
type KeyCondition struct {
	Terms []KeyTerm
}

// KeyTerm restricts one key attribute: Op is = < <= > >= BETWEEN or begins_with. Values holds one value, two
// for BETWEEN.
type KeyTerm struct {
	Attribute string
	Op        string
	Values    []attribute.Value
}

// ParseKeyCondition parses a KeyConditionExpression into its terms. Whether they name the key of the table
// and have its types is for the caller to check.
func ParseKeyCondition(text string, env *Env) (*KeyCondition, error) {
	const label = "KeyConditionExpression"
	condition, err := run(label, text, env, parseConditionRoot)
	if err != nil {
		return nil, err
	}
	terms, err := keyTerms(condition.root)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, t := range terms {
		if seen[t.Attribute] {
			return nil, invalidf("KeyConditionExpressions must only contain one condition per key")
		}
		seen[t.Attribute] = true
	}
	return &KeyCondition{Terms: terms}, nil
}

func keyTerms(n node) ([]KeyTerm, error) {
	badOperator := func(op string) ([]KeyTerm, error) {
		return nil, invalidf("Invalid operator used in KeyConditionExpression: %s", op)
	}
	switch n := n.(type) {
	case logic:
		if n.op == "OR" {
			return badOperator("OR")
		}
		left, err := keyTerms(n.left)
		if err != nil {
			return nil, err
		}
		right, err := keyTerms(n.right)
		return append(left, right...), err
	case negation:
		return badOperator("NOT")
	case member:
		return badOperator("IN")
	case compare:
		if n.op == "<>" {
			return badOperator("<>")
		}
		if _, flipped := n.left.(valueOperand); flipped {
			if _, ok := n.right.(pathOperand); ok {
				return keyTerm(mirror[n.op], n.right, n.left)
			}
		}
		return keyTerm(n.op, n.left, n.right)
	case between:
		return keyTerm("BETWEEN", n.of, n.low, n.high)
	case call:
		if n.name == "begins_with" {
			return keyTerm(n.name, n.args[0], n.args[1])
		}
		return badOperator(n.name)
	}
	panic("expression: an operand stands for a condition")
}

var mirror = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// keyTerm makes the one term of a comparison; key must be a top-level path, the others values.
func keyTerm(op string, key node, others ...node) ([]KeyTerm, error) {
	isPath := func(n node) bool { _, ok := n.(pathOperand); return ok }
	isCall := func(n node) bool { _, ok := n.(call); return ok }
	switch {
	case !isPath(key) && !isCall(key) && (op == "BETWEEN" || op == "begins_with"):
		return nil, invalidf("Invalid condition in KeyConditionExpression: %s operator must have the key attribute as its first operand", op)
	case isPath(key) && slices.ContainsFunc(others, isPath):
		return nil, invalidf("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
	case isCall(key) || slices.ContainsFunc(others, isCall):
		return nil, invalidf("KeyConditionExpressions cannot contain nested operations")
	case !isPath(key):
		return nil, invalidf("Invalid condition in KeyConditionExpression: No key attribute specified")
	}
	path := key.(pathOperand).path
	if len(path) > 1 {
		return nil, invalidf("KeyConditionExpressions cannot have conditions on nested attributes")
	}
	term := KeyTerm{Attribute: path.Top(), Op: op}
	for _, n := range others {
		term.Values = append(term.Values, n.(valueOperand).value)
	}
	return []KeyTerm{term}, nil
}

// Position tells where a key value lies: 0 inside the values the term allows, -1 before them in key order, +1
// after. The allowed values are always one run. Values of another kind than the term's lie after it.
func (t KeyTerm) Position(v attribute.Value) int {
	order, sameKind := attribute.Compare(v, t.Values[0])
	if !sameKind {
		return 1
	}
	switch t.Op {
	case "=":
		return cmp.Compare(order, 0)
	case "<", "<=":
		if order < 0 || order == 0 && t.Op == "<=" {
			return 0
		}
		return 1
	case ">", ">=":
		if order > 0 || order == 0 && t.Op == ">=" {
			return 0
		}
		return -1
	case "begins_with":
		if strings.HasPrefix(v.Text, t.Values[0].Text) {
			return 0
		}
		return cmp.Compare(order, 0)
	}
	if order < 0 { // BETWEEN
		return -1
	}
	above, _ := attribute.Compare(v, t.Values[1])
	return max(0, cmp.Compare(above, 0))
}
