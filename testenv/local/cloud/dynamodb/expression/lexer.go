package expression

import "strings"

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenName             // status, AND, contains
	tokenAlias            // #status
	tokenValue            // :status
	tokenNumber           // 12, only legal inside []
	tokenMark             // ( ) [ ] . , + - = <> < <= > >=
	tokenBad              // any other character
)

type token struct {
	kind       tokenKind
	text       string
	start, end int // byte offsets in the expression
}

// is reports whether the token is this punctuation mark.
func (t token) is(mark string) bool { return t.kind == tokenMark && t.text == mark }

// isWord reports whether the token is this keyword, in any case.
func (t token) isWord(word string) bool {
	return t.kind == tokenName && strings.EqualFold(t.text, word)
}

// lex splits text into tokens; the last one is always tokenEnd.
func lex(text string) []token {
	var tokens []token
	for at := 0; at < len(text); {
		if strings.IndexByte(" \t\r\n", text[at]) >= 0 {
			at++
			continue
		}
		kind, end := scan(text, at)
		tokens = append(tokens, token{kind: kind, text: text[at:end], start: at, end: end})
		at = end
	}
	return append(tokens, token{kind: tokenEnd, text: "<EOF>", start: len(text), end: len(text)})
}

// scan finds the kind and end of the token that starts at text[at].
func scan(text string, at int) (kind tokenKind, end int) {
	c := text[at]
	switch {
	case c == '#' || c == ':':
		end = at + 1 + runLength(text[at+1:], isWordByte)
		if end == at+1 {
			return tokenBad, end
		}
		if c == '#' {
			return tokenAlias, end
		}
		return tokenValue, end
	case isDigit(c):
		return tokenNumber, at + runLength(text[at:], isDigit)
	case isWordByte(c):
		return tokenName, at + runLength(text[at:], isWordByte)
	case strings.HasPrefix(text[at:], "<>"), strings.HasPrefix(text[at:], "<="), strings.HasPrefix(text[at:], ">="):
		return tokenMark, at + 2
	case strings.IndexByte("()[].,+-=<>", c) >= 0:
		return tokenMark, at + 1
	}
	end = at + 1
	for end < len(text) && text[end]&0xC0 == 0x80 { // the rest of a multi-byte character
		end++
	}
	return tokenBad, end
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordByte(c byte) bool {
	return isDigit(c) || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func runLength(text string, belongs func(byte) bool) int {
	n := 0
	for n < len(text) && belongs(text[n]) {
		n++
	}
	return n
}
