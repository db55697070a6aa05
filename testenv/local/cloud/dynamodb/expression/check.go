package expression

import (
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// maxMembers is how many operands IN takes.
const maxMembers = 100

// conditionFunctions maps the functions of conditions to their number of arguments.
var conditionFunctions = map[string]int{
	"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2, "size": 1,
}

var updateFunctions = map[string]int{"if_not_exists": 2, "list_append": 2}

// call parses name(arg, …) and checks what can be checked without an item.
func (p *parser) call() node {
	defer p.enter()()
	name := p.next().text
	p.expect("(")
	c := call{name: name, args: p.operands()}
	arity, known := conditionFunctions[name]
	_, ofUpdates := updateFunctions[name]
	switch {
	case ofUpdates:
		p.faults.addf(functionUnknown, "The function is not allowed in a condition expression; function: %s", name)
	case !known:
		p.faults.addf(functionUnknown, "Invalid function name; function: %s", name)
	case len(c.args) != arity:
		p.faults.addf(operandCount, "Incorrect number of operands for operator or function; "+
			"operator or function: %s, number of operands: %d", name, len(c.args))
	default:
		p.checkArguments(c)
	}
	return c
}

func (p *parser) checkArguments(c call) {
	switch c.name {
	case "attribute_exists", "attribute_not_exists":
		p.checkIsPath(c.name, c.args[0])
	case "attribute_type":
		p.checkIsPath(c.name, c.args[0])
		p.checkTypeName(c.args[1])
	case "begins_with":
		p.checkKinds(c.name, c.args, attribute.S, attribute.B)
	case "size":
		p.checkKinds(c.name, c.args, attribute.S, attribute.B, attribute.L, attribute.M, attribute.SS, attribute.NS, attribute.BS)
	}
	p.checkDistinct(c.name, c.args)
}

func (p *parser) checkIsPath(function string, n node) {
	if _, ok := n.(pathOperand); !ok {
		p.faults.addf(operandType, "Operator or function requires a document path; operator or function: %s", function)
	}
}

// checkKinds refuses operands whose kind is known now and is none of these.
func (p *parser) checkKinds(function string, operands []node, kinds ...attribute.Kind) {
	for _, n := range operands {
		kind := staticKind(n)
		if kind != attribute.Absent && !slices.Contains(kinds, kind) {
			p.badOperand(function, kind.String())
		}
	}
}

func (p *parser) badOperand(function, kind string) {
	p.faults.addf(operandType, "Incorrect operand type for operator or function; "+
		"operator or function: %s, operand type: %s", function, kind)
}

// staticKind returns the kind an operand has in every item, Absent when that depends on the item.
func staticKind(n node) attribute.Kind {
	switch n := n.(type) {
	case valueOperand:
		return n.value.Kind
	case call:
		return attribute.N // size is the only function that is an operand
	}
	return attribute.Absent
}

const kindTags = "B,NULL,SS,BOOL,L,BS,N,NS,S,M"

func (p *parser) checkTypeName(n node) {
	operand, isValue := n.(valueOperand)
	switch {
	case !isValue && staticKind(n) == attribute.Absent:
		p.badOperand("attribute_type", "{"+kindTags+"}")
	case staticKind(n) == attribute.Absent: // an undefined placeholder, reported as such
	case staticKind(n) != attribute.S:
		p.badOperand("attribute_type", staticKind(n).String())
	default:
		if _, known := attribute.ParseKind(operand.value.Text); !known {
			p.faults.addf(operandType, "Invalid attribute type name found; type: %s, valid types: {%s}", operand.value.Text, kindTags)
		}
	}
}

// checkDistinct refuses a path compared with itself.
func (p *parser) checkDistinct(operator string, operands []node) {
	first, ok := operands[0].(pathOperand)
	if !ok {
		return
	}
	for _, n := range operands[1:] {
		if other, ok := n.(pathOperand); ok && first.path.equal(other.path) {
			p.faults.addf(notDistinct, "The first operand must be distinct from the remaining operands for this operator "+
				"or function; operator: %s, first operand: %s", operator, first.path)
		}
	}
}

func (p *parser) checkCompare(c compare) node {
	operands := []node{c.left, c.right}
	if c.op != "=" && c.op != "<>" {
		p.checkKinds(c.op, operands, attribute.S, attribute.N, attribute.B)
	}
	p.checkDistinct(c.op, operands)
	return c
}

func (p *parser) checkBetween(b between) node {
	operands := []node{b.of, b.low, b.high}
	p.checkKinds("BETWEEN", operands, attribute.S, attribute.N, attribute.B)
	p.checkDistinct("BETWEEN", operands)
	low, lowKnown := b.low.(valueOperand)
	high, highKnown := b.high.(valueOperand)
	if !lowKnown || !highKnown || low.value.IsAbsent() || high.value.IsAbsent() {
		return b
	}
	order, sameKind := attribute.Compare(low.value, high.value)
	problem := ""
	switch {
	case !sameKind:
		problem = "same data type for lower and upper bounds"
	case order > 0:
		problem = "upper bound to be greater than or equal to lower bound"
	default:
		return b
	}
	p.faults.addf(operandType, "The BETWEEN operator requires %s; lower bound operand: AttributeValue: %s, "+
		"upper bound operand: AttributeValue: %s", problem, describe(low.value), describe(high.value))
	return b
}

func (p *parser) checkMember(m member) node {
	if len(m.list) > maxMembers {
		p.faults.addf(operandCount, "The IN operator is provided with too many operands; number of operands: %d", len(m.list))
	}
	p.checkDistinct("IN", append([]node{m.of}, m.list...))
	return m
}

// describe renders a value as AWS does in messages: {N:10}.
func describe(v attribute.Value) string {
	switch v.Kind {
	case attribute.S, attribute.B:
		return "{" + v.Kind.String() + ":" + v.Text + "}"
	case attribute.N:
		return "{N:" + v.Number.String() + "}"
	case attribute.M:
		return "{M:{" + strings.Join(slices.Sorted(maps.Keys(v.Map)), ", ") + "}}"
	}
	return "{" + v.Kind.String() + "}"
}
