package expression

import (
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// Condition is a parsed condition or filter expression.
type Condition struct {
	root  node
	paths []Path
}

// node is a part of a condition: pathOperand, valueOperand and call "size" are operands, the rest are
// conditions. parens is transparent and lives only while parsing.
type node interface{}

type (
	logic struct {
		op          string // AND, OR
		left, right node
	}
	negation struct{ of node }
	compare  struct {
		op          string // = <> < <= > >=
		left, right node
	}
	between struct{ of, low, high node }
	member  struct {
		of   node
		list []node
	}
	call struct {
		name string
		args []node
	}
	parens       struct{ inner node }
	pathOperand  struct{ path Path }
	valueOperand struct{ value attribute.Value }
)

// ParseCondition parses a condition; label is what errors call it: ConditionExpression or FilterExpression.
func ParseCondition(label, text string, env *Env) (*Condition, error) {
	return run(label, text, env, parseConditionRoot)
}

func parseConditionRoot(p *parser) *Condition {
	root := p.condition(p.or())
	c := &Condition{root: root}
	walk(root, func(n node) {
		if operand, ok := n.(pathOperand); ok {
			c.paths = append(c.paths, operand.path)
		}
	})
	return c
}

// Paths returns every document path the condition mentions, in order.
func (c *Condition) Paths() []Path { return c.paths }

func (p *parser) or() node {
	defer p.enter()()
	n := p.and()
	for p.peek().isWord("OR") {
		left := p.condition(n)
		p.next()
		n = logic{op: "OR", left: left, right: p.condition(p.and())}
	}
	return n
}

func (p *parser) and() node {
	n := p.not()
	for p.peek().isWord("AND") {
		left := p.condition(n)
		p.next()
		n = logic{op: "AND", left: left, right: p.condition(p.not())}
	}
	return n
}

func (p *parser) not() node {
	defer p.enter()()
	if p.acceptWord("NOT") {
		return negation{of: p.condition(p.not())}
	}
	return p.comparison()
}

// comparison parses one operand and what is compared with it; a lone operand or a condition in
// parentheses comes back as it is, for the caller to accept or refuse.
func (p *parser) comparison() node {
	first := p.operand()
	t := p.peek()
	switch {
	case t.kind == tokenMark && strings.Contains(" = <> < <= > >= ", " "+t.text+" "):
		left := p.plainOperand(first)
		p.next()
		return p.checkCompare(compare{op: t.text, left: left, right: p.plainOperand(p.operand())})
	case t.isWord("BETWEEN"):
		of := p.plainOperand(first)
		p.next()
		low := p.plainOperand(p.operand())
		if !p.acceptWord("AND") {
			p.fail()
		}
		return p.checkBetween(between{of: of, low: low, high: p.plainOperand(p.operand())})
	case t.isWord("IN"):
		of := p.plainOperand(first)
		p.next()
		p.expect("(")
		return p.checkMember(member{of: of, list: p.operands()})
	}
	return first
}

// operands parses a comma separated list up to and including the closing parenthesis.
func (p *parser) operands() []node {
	list := []node{p.plainOperand(p.operand())}
	for p.accept(",") {
		list = append(list, p.plainOperand(p.operand()))
	}
	p.expect(")")
	return list
}

// operand parses a path, a value, a call, or anything in parentheses.
func (p *parser) operand() node {
	t := p.peek()
	switch t.kind {
	case tokenValue:
		return valueOperand{p.value()}
	case tokenName:
		if p.at+1 < len(p.tokens) && p.tokens[p.at+1].is("(") {
			return p.call()
		}
		if isOperatorWord(t) {
			p.fail()
		}
		return pathOperand{p.path()}
	case tokenAlias:
		return pathOperand{p.path()}
	}
	p.expect("(")
	inner := p.or()
	p.expect(")")
	if _, doubled := inner.(parens); doubled {
		p.faults.addf(redundantParentheses, "The expression has redundant parentheses;")
	}
	return parens{inner}
}

func isOperatorWord(t token) bool {
	for _, word := range []string{"AND", "OR", "NOT", "BETWEEN", "IN"} {
		if t.isWord(word) {
			return true
		}
	}
	return false
}

// condition accepts a node where a condition must stand.
func (p *parser) condition(n node) node {
	n = strip(n)
	switch n := n.(type) {
	case pathOperand, valueOperand:
		p.fail()
	case call:
		if n.name == "size" {
			p.misused(n.name)
		}
	}
	return n
}

// plainOperand accepts a node where an operand must stand.
func (p *parser) plainOperand(n node) node {
	n = strip(n)
	switch n := n.(type) {
	case pathOperand, valueOperand:
	case call:
		if n.name != "size" {
			p.misused(n.name)
		}
	default:
		p.fail()
	}
	return n
}

func (p *parser) misused(function string) {
	p.faults.addf(functionMisused, "The function is not allowed to be used this way in an expression; function: %s", function)
}

func strip(n node) node {
	for {
		in, ok := n.(parens)
		if !ok {
			return n
		}
		n = in.inner
	}
}

// walk visits n and all below it, in the order of the text.
func walk(n node, visit func(node)) {
	visit(n)
	switch n := n.(type) {
	case logic:
		walk(n.left, visit)
		walk(n.right, visit)
	case negation:
		walk(n.of, visit)
	case compare:
		walk(n.left, visit)
		walk(n.right, visit)
	case between:
		walk(n.of, visit)
		walk(n.low, visit)
		walk(n.high, visit)
	case member:
		walk(n.of, visit)
		for _, e := range n.list {
			walk(e, visit)
		}
	case call:
		for _, a := range n.args {
			walk(a, visit)
		}
	}
}
