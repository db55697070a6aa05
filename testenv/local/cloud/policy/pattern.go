package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// pattern is text with wildcards and policy variables, e.g. "arn:aws:s3:::joiner/${aws:PrincipalTag/cluster}/*".
type pattern []token

type token struct {
	kind    tokenKind
	literal string // of a literal; of a variable its key, in lower case
	missing string // what stands for a variable that is not there
	has     bool   // missing is given
}

type tokenKind int

const (
	literal tokenKind = iota
	anyText
	anyRune
	variable
)

// parsePattern reads text. Without variables "${" is text like any other, as in documents of version 2008-10-17.
func parsePattern(text string, variables bool) (pattern, error) {
	var p pattern
	for rest := text; rest != ""; {
		switch {
		case rest[0] == '*':
			p, rest = append(p, token{kind: anyText}), rest[1:]
		case rest[0] == '?':
			p, rest = append(p, token{kind: anyRune}), rest[1:]
		case variables && strings.HasPrefix(rest, "${"):
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return nil, fmt.Errorf("%q: a variable is not closed", text)
			}
			t, err := parseVariable(rest[2:end])
			if err != nil {
				return nil, fmt.Errorf("%q: %w", text, err)
			}
			p, rest = append(p, t), rest[end+1:]
		default:
			end := strings.IndexAny(rest[1:], "*?$")
			if end < 0 {
				end = len(rest) - 1
			}
			p, rest = append(p, token{literal: rest[:end+1]}), rest[end+1:]
		}
	}
	return p, nil
}

// parseVariable reads what stands between ${ and }: a key, maybe with a default ("aws:username, 'nobody'"), or one of * ? $.
func parseVariable(inside string) (token, error) {
	if inside == "*" || inside == "?" || inside == "$" {
		return token{literal: inside}, nil
	}
	key, fallback, given := strings.Cut(inside, ",")
	t := token{kind: variable, literal: strings.ToLower(strings.TrimSpace(key)), has: given}
	if given {
		fallback = strings.TrimSpace(fallback)
		if len(fallback) < 2 || fallback[0] != '\'' || fallback[len(fallback)-1] != '\'' {
			return token{}, fmt.Errorf("the default of variable %s is not in single quotes", key)
		}
		t.missing = fallback[1 : len(fallback)-1]
	}
	return t, checkKey(t.literal)
}

// fixed reports whether the pattern has no variables.
func (p pattern) fixed() bool {
	for _, t := range p {
		if t.kind == variable {
			return false
		}
	}
	return true
}

// fill replaces variables by what the request says. ok is false where one is not there, or has several values. Wildcards in
// values are text.
func (p pattern) fill(context Context) (filled pattern, ok bool) {
	if p.fixed() {
		return p, true
	}
	for _, t := range p {
		if t.kind == variable {
			values := context[t.literal]
			switch {
			case len(values) == 1:
				t = token{literal: values[0]}
			case len(values) == 0 && t.has:
				t = token{literal: t.missing}
			default:
				return nil, false
			}
		}
		filled = append(filled, t)
	}
	return filled, true
}

// text returns a filled pattern as it is compared where wildcards mean nothing.
func (p pattern) text() string {
	var b strings.Builder
	for _, t := range p {
		switch t.kind {
		case anyText:
			b.WriteByte('*')
		case anyRune:
			b.WriteByte('?')
		default:
			b.WriteString(t.literal)
		}
	}
	return b.String()
}

// matches reports whether a filled pattern matches all of s: a walk with one point to come back to, the last star and how far it
// has eaten.
func (p pattern) matches(s string) bool {
	i, j, star, eaten := 0, 0, -1, 0
	for {
		switch {
		case i == len(p) && j == len(s):
			return true
		case i < len(p) && p[i].kind == anyText:
			star, eaten = i, j
			i++
			continue
		case i < len(p) && p[i].kind == anyRune && j < len(s):
			_, n := utf8.DecodeRuneInString(s[j:])
			i, j = i+1, j+n
			continue
		case i < len(p) && p[i].kind == literal && strings.HasPrefix(s[j:], p[i].literal):
			i, j = i+1, j+len(p[i].literal)
			continue
		}
		if star < 0 || eaten >= len(s) {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[eaten:])
		eaten += n
		i, j = star+1, eaten
	}
}

// arnParts splits a filled pattern of an ARN at its first five colons: partition, service and so on are matched one by one.
func (p pattern) arnParts() ([]pattern, bool) {
	parts := []pattern{nil}
	for _, t := range p {
		for t.kind == literal && len(parts) < 6 {
			before, after, found := strings.Cut(t.literal, ":")
			if !found {
				break
			}
			last := len(parts) - 1
			parts[last] = append(parts[last], token{literal: before})
			parts, t.literal = append(parts, nil), after
		}
		if t.kind != literal || t.literal != "" {
			last := len(parts) - 1
			parts[last] = append(parts[last], t)
		}
	}
	return parts, len(parts) == 6
}

// matchesARN reports whether a filled pattern matches an ARN, part by part. "*" alone matches whatever there is.
func (p pattern) matchesARN(arn string) bool {
	if len(p) == 1 && p[0].kind == anyText {
		return true
	}
	parts, _ := p.arnParts()
	return matchParts(parts, arn)
}

// matchParts compares an ARN part by part. Fewer than six parts match none.
func matchParts(parts []pattern, arn string) bool {
	if len(parts) != 6 {
		return false
	}
	for i, p := range parts {
		part := arn
		if i < 5 {
			var ok bool
			if part, arn, ok = strings.Cut(arn, ":"); !ok {
				return false
			}
		}
		if !p.matches(part) {
			return false
		}
	}
	return true
}
