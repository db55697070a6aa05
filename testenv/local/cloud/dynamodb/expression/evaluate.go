package expression

import (
	"strings"
	"unicode/utf8"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// Matches reports whether the item satisfies the condition; a nil item has no attribute. The nil Condition
// matches everything. Operands of unfitting kinds make a comparison false, never an error.
func (c *Condition) Matches(item attribute.Item) bool {
	return c == nil || holds(c.root, item)
}

func holds(n node, item attribute.Item) bool {
	switch n := n.(type) {
	case logic:
		if n.op == "AND" {
			return holds(n.left, item) && holds(n.right, item)
		}
		return holds(n.left, item) || holds(n.right, item)
	case negation:
		return !holds(n.of, item)
	case compare:
		return compareHolds(n.op, valueOf(n.left, item), valueOf(n.right, item))
	case between:
		v := valueOf(n.of, item)
		return compareHolds(">=", v, valueOf(n.low, item)) && compareHolds("<=", v, valueOf(n.high, item))
	case member:
		v := valueOf(n.of, item)
		for _, e := range n.list {
			if attribute.Equal(v, valueOf(e, item)) {
				return true
			}
		}
		return false
	case call:
		return callHolds(n, item)
	}
	panic("expression: an operand stands for a condition")
}

// compareHolds compares two values. An absent one is equal to nothing and therefore different from all.
func compareHolds(op string, a, b attribute.Value) bool {
	switch op {
	case "=":
		return attribute.Equal(a, b)
	case "<>":
		return !attribute.Equal(a, b)
	}
	order, comparable := attribute.Compare(a, b)
	if !comparable {
		return false
	}
	switch op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func callHolds(c call, item attribute.Item) bool {
	v := valueOf(c.args[0], item)
	switch c.name {
	case "attribute_exists":
		return !v.IsAbsent()
	case "attribute_not_exists":
		return v.IsAbsent()
	}
	with := valueOf(c.args[1], item)
	switch c.name {
	case "attribute_type":
		return v.Kind.String() == with.Text && !v.IsAbsent()
	case "begins_with":
		return v.Kind == with.Kind && (v.Kind == attribute.S || v.Kind == attribute.B) && strings.HasPrefix(v.Text, with.Text)
	}
	return contains(v, with)
}

// contains finds a substring in S and B, a member in a set, an equal element in a list.
func contains(in, what attribute.Value) bool {
	switch in.Kind {
	case attribute.S, attribute.B:
		return in.Kind == what.Kind && strings.Contains(in.Text, what.Text)
	case attribute.L:
		for _, e := range in.List {
			if attribute.Equal(e, what) {
				return true
			}
		}
		return false
	}
	return in.HasMember(what)
}

func valueOf(n node, item attribute.Item) attribute.Value {
	switch n := n.(type) {
	case pathOperand:
		return n.path.In(item)
	case valueOperand:
		return n.value
	case call:
		return sizeOf(valueOf(n.args[0], item))
	}
	panic("expression: a condition stands for an operand")
}

// sizeOf is the function size: characters of S, bytes of B, members or elements of the rest; absent for
// kinds that have no size.
func sizeOf(v attribute.Value) attribute.Value {
	size := 0
	switch v.Kind {
	case attribute.S:
		size = utf8.RuneCountInString(v.Text)
	case attribute.B:
		size = len(v.Text)
	case attribute.L:
		size = len(v.List)
	case attribute.M:
		size = len(v.Map)
	case attribute.SS, attribute.NS, attribute.BS:
		size = len(v.Set)
	default:
		return attribute.Value{}
	}
	return attribute.Int(int64(size))
}
