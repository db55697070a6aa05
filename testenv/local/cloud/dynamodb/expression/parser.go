package expression

import (
	"errors"
	"strconv"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// maxExpressionBytes is the longest expression AWS takes.
const maxExpressionBytes = 4096

// maxNesting bounds the recursion of the parser; AWS refuses far shallower expressions by their size.
const maxNesting = 500

// parser is what the parsers of all expression kinds share: the tokens, the placeholders, the faults found.
type parser struct {
	text    string
	tokens  []token
	at      int
	nesting int
	env     *Env
	faults  problems
}

// syntaxError unwinds the parser; run turns it into the error of the expression.
type syntaxError struct{ message string }

// run parses text with parse, which must leave the parser at the end, and returns the fault AWS reports
// with the label of the expression ("FilterExpression") before it.
func run[T any](label, text string, env *Env, parse func(*parser) T) (result T, err error) {
	defer func() {
		if err != nil {
			var none T
			result, err = none, invalidf("Invalid %s: %s", label, err.Error())
		}
	}()
	if text == "" {
		return result, invalidf("The expression can not be empty;")
	}
	if len(text) > maxExpressionBytes {
		return result, invalidf("Expression size has exceeded the maximum allowed size;")
	}
	p := &parser{text: text, tokens: lex(text), env: env}
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case syntaxError:
			err = errors.New(fault.message)
		default:
			panic(fault)
		}
	}()
	result = parse(p)
	if p.peek().kind != tokenEnd {
		p.fail()
	}
	return result, p.faults.first()
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokenEnd {
		p.at++
	}
	return t
}

// accept consumes the mark if it is next.
func (p *parser) accept(mark string) bool {
	if p.peek().is(mark) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(mark string) {
	if !p.accept(mark) {
		p.fail()
	}
}

func (p *parser) acceptWord(word string) bool {
	if p.peek().isWord(word) {
		p.at++
		return true
	}
	return false
}

// fail reports the next token as a syntax error, with the tokens around it.
func (p *parser) fail() {
	bad := p.peek()
	from, to := bad.start, bad.end
	if p.at > 0 {
		from = p.tokens[p.at-1].start
	}
	if p.at+1 < len(p.tokens) {
		to = p.tokens[p.at+1].end
	}
	panic(syntaxError{`Syntax error; token: "` + bad.text + `", near: "` + p.text[from:to] + `"`})
}

// enter guards a recursion; the caller must call the returned function when it returns.
func (p *parser) enter() (leave func()) {
	p.nesting++
	if p.nesting > maxNesting {
		panic(syntaxError{"The expression is nested too deeply;"})
	}
	return func() { p.nesting-- }
}

// path parses name, #alias, then any .name, .#alias and [index].
func (p *parser) path() Path {
	path := Path{p.pathName()}
	for {
		switch {
		case p.accept("."):
			path = append(path, p.pathName())
		case p.accept("["):
			if p.peek().kind != tokenNumber {
				p.fail()
			}
			index, err := strconv.ParseInt(p.next().text, 10, 32)
			if err != nil {
				panic(syntaxError{"List index is not within the allowable range; index: [" + p.tokens[p.at-1].text + "]"})
			}
			p.expect("]")
			path = append(path, Step{Index: int(index), IsIndex: true})
		default:
			return path
		}
	}
}

func (p *parser) pathName() Step {
	t := p.peek()
	switch t.kind {
	case tokenName:
		if isReserved(t.text) {
			p.faults.addf(nameReserved, "Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		p.at++
		return Step{Name: t.text}
	case tokenAlias:
		p.at++
		p.env.usedNames[t.text] = true
		name, defined := p.env.names[t.text]
		if !defined {
			p.faults.addf(nameUndefined, "An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
			name = t.text
		}
		return Step{Name: name}
	}
	p.fail()
	return Step{}
}

// value parses a :placeholder; an undefined one is noted as a fault and stays absent.
func (p *parser) value() attribute.Value {
	t := p.next()
	p.env.usedValues[t.text] = true
	v, defined := p.env.values[t.text]
	if !defined {
		p.faults.addf(valueUndefined, "An expression attribute value used in expression is not defined; attribute value: %s", t.text)
	}
	return v
}
