// Package powershell takes a PowerShell script apart as far as a test needs: into commands with their arguments.
//
// It knows quotations, here-strings, comments, escapes, brackets and the call operator. It evaluates nothing: a variable
// stays as it is written, and what stands in brackets or behind an operator is a word like any other. There is no reader
// of PowerShell for Go, and the real one is no part of a build machine.
package powershell

import (
	"fmt"
	"strings"
)

// Command is one command with its arguments, quotes taken off.
type Command struct {
	Name      string
	Arguments []string
	Line      int // where it ends, from 1
}

// Commands returns the commands of a script in their order, those in brackets too. The error says what is left open.
func Commands(script string) ([]Command, error) {
	r := reader{text: []rune(strings.ReplaceAll(script, "\r\n", "\n")), line: 1}
	if err := r.block(0); err != nil {
		return nil, err
	}
	return r.commands, nil
}

// Parameters returns a command's named parameters: -Name value. A name without a value has "".
func (c Command) Parameters() map[string]string {
	out := map[string]string{}
	for i := 0; i < len(c.Arguments); i++ {
		name, named := strings.CutPrefix(c.Arguments[i], "-")
		if !named {
			continue
		}
		out[name] = ""
		if i+1 < len(c.Arguments) {
			out[name] = c.Arguments[i+1]
			i++
		}
	}
	return out
}

type reader struct {
	text     []rune
	at, line int
	commands []Command
}

const (
	single = "'\u2018\u2019\u201a\u201b"
	double = "\"\u201c\u201d\u201e"
)

func (r *reader) ended() bool { return r.at >= len(r.text) }

func (r *reader) next() rune {
	c := r.text[r.at]
	r.at++
	if c == '\n' {
		r.line++
	}
	return c
}

func (r *reader) has(prefix string) bool {
	want := []rune(prefix)
	return r.at+len(want) <= len(r.text) && string(r.text[r.at:r.at+len(want)]) == prefix
}

// block reads commands up to the bracket that ends it, or to the end of the script where closing is 0.
func (r *reader) block(closing rune) error {
	begun := r.line
	var words []string
	flush := func() {
		if len(words) > 0 && (words[0] == "&" || words[0] == ".") {
			words = words[1:]
		}
		if len(words) > 0 {
			r.commands = append(r.commands, Command{Name: words[0], Arguments: words[1:], Line: r.line})
		}
		words = nil
	}
	for !r.ended() {
		switch c := r.text[r.at]; {
		case closing != 0 && c == closing:
			r.next()
			flush()
			return nil
		case c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r' || c == 0xa0:
			r.next()
		case c == '`' && r.at+1 < len(r.text) && r.text[r.at+1] == '\n':
			r.next()
			r.next()
			if r.ended() {
				return fmt.Errorf("line %d: goes on behind a backtick and does not", r.line)
			}
		case c == '\n' || c == ';':
			flush()
			r.next()
		case c == '|':
			flush()
			r.next()
		case c == '&' && len(words) > 0:
			flush() // && or a job
			r.next()
		case c == '&':
			r.next()
			words = append(words, "&")
		case c == '#':
			r.lineComment()
		case r.has("<#"):
			if err := r.comment(); err != nil {
				return err
			}
		case c == ')' || c == '}':
			return fmt.Errorf("line %d: %c closes nothing", r.line, c)
		default:
			word, err := r.word()
			if err != nil {
				return err
			}
			words = append(words, word)
		}
	}
	flush()
	if closing != 0 {
		return fmt.Errorf("line %d: a bracket is not closed by %c", begun, closing)
	}
	return nil
}

func (r *reader) lineComment() {
	for !r.ended() && r.text[r.at] != '\n' {
		r.next()
	}
}

func (r *reader) comment() error {
	begun := r.line
	r.at += 2 // its # does not end it, too
	for !r.ended() {
		if r.has("#>") {
			r.at += 2
			return nil
		}
		r.next()
	}
	return fmt.Errorf("line %d: a comment does not end", begun)
}

// word reads one argument: characters, quotations and brackets without white space between them.
func (r *reader) word() (string, error) {
	var out strings.Builder
	for !r.ended() {
		c := r.text[r.at]
		switch {
		case strings.ContainsRune(" \t\n\r\v\f;|&)}", c):
			return out.String(), nil
		case c == ',':
			out.WriteRune(r.next())
			return out.String(), nil
		case c == '@' && r.at+1 < len(r.text) && strings.ContainsRune(single+double, r.text[r.at+1]):
			text, err := r.hereString()
			if err != nil {
				return "", err
			}
			out.WriteString(text)
		case strings.ContainsRune(single, c):
			text, err := r.single()
			if err != nil {
				return "", err
			}
			out.WriteString(text)
		case strings.ContainsRune(double, c):
			text, err := r.double()
			if err != nil {
				return "", err
			}
			out.WriteString(text)
		case c == '(' || c == '{':
			from := r.at
			r.next()
			if err := r.block(map[rune]rune{'(': ')', '{': '}'}[c]); err != nil {
				return "", err
			}
			out.WriteString(string(r.text[from:r.at]))
		case c == '`':
			r.next()
			if r.ended() {
				return "", fmt.Errorf("line %d: the script ends in a backtick", r.line)
			}
			if r.text[r.at] == '\n' {
				r.at--
				return out.String(), nil // the line goes on
			}
			out.WriteRune(r.next())
		default:
			out.WriteRune(r.next())
		}
	}
	return out.String(), nil
}

func (r *reader) single() (string, error) {
	begun := r.line
	r.next()
	var out strings.Builder
	for !r.ended() {
		c := r.next()
		if !strings.ContainsRune(single, c) {
			out.WriteRune(c)
			continue
		}
		if r.ended() || !strings.ContainsRune(single, r.text[r.at]) {
			return out.String(), nil
		}
		out.WriteRune(r.next())
	}
	return "", fmt.Errorf("line %d: a quotation does not end", begun)
}

func (r *reader) double() (string, error) {
	begun := r.line
	r.next()
	var out strings.Builder
	for !r.ended() {
		c := r.next()
		switch {
		case c == '`' && !r.ended():
			out.WriteRune(r.next())
		case c == '$' && !r.ended() && r.text[r.at] == '(':
			from := r.at - 1
			r.next()
			before := len(r.commands)
			if err := r.block(')'); err != nil {
				return "", err
			}
			r.commands = r.commands[:before]
			out.WriteString(string(r.text[from:r.at]))
		case strings.ContainsRune(double, c):
			if r.ended() || !strings.ContainsRune(double, r.text[r.at]) {
				return out.String(), nil
			}
			out.WriteRune(r.next())
		default:
			out.WriteRune(c)
		}
	}
	return "", fmt.Errorf("line %d: a quotation does not end", begun)
}

func (r *reader) hereString() (string, error) {
	begun := r.line
	r.next()
	quotes := single
	if strings.ContainsRune(double, r.next()) {
		quotes = double
	}
	for !r.ended() && r.text[r.at] != '\n' {
		if c := r.next(); c != ' ' && c != '\t' {
			return "", fmt.Errorf("line %d: %q stands behind the head of a here-string", begun, c)
		}
	}
	from := r.at
	for !r.ended() {
		if r.next() == '\n' && r.at+1 < len(r.text) && strings.ContainsRune(quotes, r.text[r.at]) && r.text[r.at+1] == '@' {
			text := string(r.text[min(from+1, r.at-1) : r.at-1])
			r.at += 2
			return text, nil
		}
	}
	return "", fmt.Errorf("line %d: a here-string does not end", begun)
}
