package expression

import (
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// Update is a parsed update expression.
type Update struct {
	actions []action
}

// action changes one path. For REMOVE there is no value; for ADD and DELETE it is a placeholder.
type action struct {
	section string // SET REMOVE ADD DELETE
	path    Path
	value   term
}

// term is the right side of an action: pathOperand, valueOperand, arithmetic or updateCall.
type term interface{}

type arithmetic struct {
	op          string // + -
	left, right term
}

type updateCall struct {
	name string // if_not_exists, list_append
	args [2]term
}

// ParseUpdate parses an UpdateExpression.
func ParseUpdate(text string, env *Env) (*Update, error) {
	return run("UpdateExpression", text, env, func(p *parser) *Update {
		u := &Update{}
		seen := map[string]bool{}
		for first := true; first || p.peek().kind != tokenEnd; first = false {
			section := p.section()
			if seen[section] {
				p.faults.addf(repeatedSection, "The %q section can only be used once in an update expression;", section)
			}
			seen[section] = true
			u.actions = append(u.actions, p.action(section))
			for p.accept(",") {
				u.actions = append(u.actions, p.action(section))
			}
		}
		p.faults.add(pathsOverlap, checkDisjoint(u.Paths()))
		return u
	})
}

// Paths returns the paths the update changes, in the order of the expression.
func (u *Update) Paths() []Path {
	paths := make([]Path, len(u.actions))
	for i, a := range u.actions {
		paths[i] = a.path
	}
	return paths
}

func (p *parser) section() string {
	for _, section := range []string{"SET", "REMOVE", "ADD", "DELETE"} {
		if p.acceptWord(section) {
			return section
		}
	}
	p.fail()
	return ""
}

func (p *parser) action(section string) action {
	a := action{section: section, path: p.path()}
	switch section {
	case "SET":
		p.expect("=")
		a.value = strip(p.setValue())
	case "ADD":
		a.value = p.elementOperand("ADD", attribute.N, attribute.SS, attribute.NS, attribute.BS)
	case "DELETE":
		a.value = p.elementOperand("DELETE", attribute.SS, attribute.NS, attribute.BS)
	}
	return a
}

// elementOperand parses the placeholder after ADD path and DELETE path.
func (p *parser) elementOperand(section string, kinds ...attribute.Kind) term {
	if p.peek().kind != tokenValue {
		p.fail()
	}
	v := p.value()
	for _, kind := range kinds {
		if v.Kind == kind || v.IsAbsent() {
			return valueOperand{v}
		}
	}
	p.faults.addf(operandType, "Incorrect operand type for operator or function; operator: %s, operand type: %s, "+
		"typeSet: ALLOWED_FOR_%s_OPERAND", section, v.Kind.Word(), section)
	return valueOperand{v}
}

// setValue parses operand, operand + operand or operand - operand; what stood in parentheses comes back
// as parens.
func (p *parser) setValue() term {
	left := p.setOperand()
	for _, op := range []string{"+", "-"} {
		if p.accept(op) {
			left, right := strip(left), strip(p.setOperand())
			p.checkTerm(op, left, attribute.N)
			p.checkTerm(op, right, attribute.N)
			return arithmetic{op: op, left: left, right: right}
		}
	}
	return left
}

func (p *parser) setOperand() term {
	defer p.enter()()
	t := p.peek()
	switch {
	case t.kind == tokenValue:
		return valueOperand{p.value()}
	case t.kind == tokenName && p.at+1 < len(p.tokens) && p.tokens[p.at+1].is("("):
		return p.updateCall()
	case t.is("("):
		p.next()
		inner := p.setValue()
		p.expect(")")
		if _, doubled := inner.(parens); doubled {
			p.faults.addf(redundantParentheses, "The expression has redundant parentheses;")
		}
		return parens{inner}
	}
	return pathOperand{p.path()}
}

func (p *parser) updateCall() term {
	name := p.next().text
	p.expect("(")
	args := []term{strip(p.setOperand())}
	for p.accept(",") {
		args = append(args, strip(p.setOperand()))
	}
	p.expect(")")
	arity, known := updateFunctions[name]
	_, ofConditions := conditionFunctions[name]
	switch {
	case ofConditions:
		p.faults.addf(functionUnknown, "The function is not allowed in an update expression; function: %s", name)
	case !known:
		p.faults.addf(functionUnknown, "Invalid function name; function: %s", name)
	case len(args) != arity:
		p.faults.addf(operandCount, "Incorrect number of operands for operator or function; "+
			"operator or function: %s, number of operands: %d", name, len(args))
	default:
		p.checkUpdateCall(name, args)
		return updateCall{name: name, args: [2]term(args)}
	}
	return valueOperand{}
}

func (p *parser) checkUpdateCall(name string, args []term) {
	if name == "if_not_exists" {
		if _, ok := args[0].(pathOperand); !ok {
			p.faults.addf(operandType, "Operator or function requires a document path; operator or function: %s", name)
		}
		return
	}
	for _, arg := range args {
		p.checkTerm(name, arg, attribute.L)
	}
}

// checkTerm refuses a term whose kind is known now and is not this one.
func (p *parser) checkTerm(operator string, t term, kind attribute.Kind) {
	known := attribute.Absent
	switch t := t.(type) {
	case valueOperand:
		known = t.value.Kind
	case arithmetic:
		known = attribute.N
	case updateCall:
		if t.name == "list_append" {
			known = attribute.L
		}
	}
	if known != attribute.Absent && known != kind {
		p.badOperand(operator, known.String())
	}
}

// Touches returns the first of these top-level attributes that the update changes, "" if none.
func (u *Update) Touches(names ...string) string {
	for _, name := range names {
		for _, a := range u.actions {
			if a.path.Top() == name {
				return name
			}
		}
	}
	return ""
}
