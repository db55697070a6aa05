package userdata

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// leftOpen returns what a PowerShell text leaves open at its end, such as "a quotation begun in line 3", and "" where
// nothing is, or where it is unknown: a text that PowerShell understands is never said to leave something open.
// Source: PowerShell language specification, 2.3 (tokens); about_Quoting_Rules, about_Comments.
func leftOpen(text string) string {
	s := scan{rest: strings.ReplaceAll(text, "\r\n", "\n"), line: 1, before: '\n'}
	for s.rest != "" {
		what, ok := s.step()
		switch {
		case !ok:
			return ""
		case what != "":
			return what
		}
	}
	switch {
	case s.continued:
		return "the last line (it ends in a backtick)"
	case len(s.brackets) > 0:
		return fmt.Sprintf("a bracket of line %d", s.brackets[len(s.brackets)-1])
	}
	return ""
}

// scan is how far a text has been read.
type scan struct {
	rest      string
	line      int
	before    rune  // the last one read
	brackets  []int // lines of the brackets that are open
	continued bool  // nothing but a backtick is on the line since its last word
}

// quotes PowerShell takes for the plain ones.
const (
	singleQuotes = "'\u2018\u2019\u201a\u201b"
	doubleQuotes = "\"\u201c\u201d\u201e"
)

// step reads one character, quotation or comment. what is not empty where it does not end; ok is false where only the
// full grammar could tell.
func (s *scan) step() (what string, ok bool) {
	begun := s.line
	s.continued = false
	switch r := s.peek(); {
	case r == '`':
		s.skipRune()
		s.continued = strings.TrimPrefix(s.rest, "\n") == ""
		s.skipRune()
		return "", true
	case strings.HasPrefix(s.rest, "--%"), !s.betweenWords() && (strings.HasPrefix(s.rest, "<#") || r == '@'):
		return "", false
	case strings.HasPrefix(s.rest, "<#"):
		return s.comment(begun), true
	case r == '#':
		return "", s.lineComment()
	case r == '@':
		return s.hereString(begun)
	case strings.ContainsRune(singleQuotes, r):
		return s.single(begun), true
	case strings.ContainsRune(doubleQuotes, r):
		return s.double(begun)
	default:
		s.bracket(r)
		s.skipRune()
		return "", true
	}
}

// betweenWords reports whether a word has surely ended, or not begun yet.
func (s *scan) betweenWords() bool { return strings.ContainsRune(" \t\n;{}(),|&", s.before) }

// bracket keeps count of the brackets that are open. One too many that closes is PowerShell's to complain of.
func (s *scan) bracket(r rune) {
	switch {
	case strings.ContainsRune("({", r):
		s.brackets = append(s.brackets, s.line)
	case strings.ContainsRune(")}", r) && len(s.brackets) > 0:
		s.brackets = s.brackets[:len(s.brackets)-1]
	}
}

// comment reads from <# to #>.
func (s *scan) comment(begun int) (what string) {
	end := strings.Index(s.rest[2:], "#>")
	if end < 0 {
		return fmt.Sprintf("a comment begun in line %d", begun)
	}
	s.skip(2 + end + 2)
	return ""
}

// lineComment skips to the end of the line where # begins a token. Inside a word it is a character like any other, and
// after a name or a bracket only the grammar tells: ok is false where that matters.
func (s *scan) lineComment() (ok bool) {
	line, _, _ := strings.Cut(s.rest, "\n")
	if !s.betweenWords() && strings.ContainsAny(line, singleQuotes+doubleQuotes+"`@<(){}") {
		return false
	}
	s.skip(len(line))
	return true
}

// hereString reads @' or @" to the line that begins with its end. Anything else after @ is no quotation.
func (s *scan) hereString(begun int) (what string, ok bool) {
	header, body, several := strings.Cut(s.rest, "\n")
	quote, size := utf8.DecodeRuneInString(header[1:])
	same := singleQuotes
	switch {
	case strings.ContainsRune(doubleQuotes, quote):
		same = doubleQuotes
	case !strings.ContainsRune(singleQuotes, quote):
		s.skipRune()
		return "", true
	}
	if strings.TrimSpace(header[1+size:]) != "" {
		return "", false // PowerShell itself refuses text behind the header
	}
	if several {
		for line := range strings.Lines(body) {
			first, width := utf8.DecodeRuneInString(line)
			s.skip(len(s.rest) - len(body)) // the lines before this one
			if strings.ContainsRune(same, first) && strings.HasPrefix(line[width:], "@") {
				s.skip(width + 1)
				return "", true
			}
			body = body[len(line):]
		}
	}
	return fmt.Sprintf("a here-string begun in line %d", begun), true
}

// single reads a quotation in which only a doubled quote stands for itself.
func (s *scan) single(begun int) (what string) {
	s.skipRune()
	for s.rest != "" {
		if !strings.ContainsRune(singleQuotes, s.skipRune()) {
			continue
		}
		if s.rest == "" || !strings.ContainsRune(singleQuotes, s.peek()) {
			return ""
		}
		s.skipRune()
	}
	return fmt.Sprintf("a quotation begun in line %d", begun)
}

// double reads a quotation with escapes. An expression inside one may hold quotations of its own, which only the
// grammar can take apart.
func (s *scan) double(begun int) (what string, ok bool) {
	s.skipRune()
	for s.rest != "" {
		if strings.HasPrefix(s.rest, "$(") {
			return "", false
		}
		r := s.skipRune()
		switch {
		case r == '`' && s.rest != "":
			s.skipRune()
		case strings.ContainsRune(doubleQuotes, r) && s.rest != "" && strings.ContainsRune(doubleQuotes, s.peek()):
			s.skipRune()
		case strings.ContainsRune(doubleQuotes, r):
			return "", true
		}
	}
	return fmt.Sprintf("a quotation begun in line %d", begun), true
}

// peek returns the next character, which stands for nothing where the text has ended or is no UTF-8.
func (s *scan) peek() rune {
	r, _ := utf8.DecodeRuneInString(s.rest)
	return r
}

func (s *scan) skipRune() rune {
	r, size := utf8.DecodeRuneInString(s.rest)
	s.skip(size)
	return r
}

func (s *scan) skip(bytes int) {
	if bytes == 0 {
		return
	}
	s.before, _ = utf8.DecodeLastRuneInString(s.rest[:bytes])
	s.line += strings.Count(s.rest[:bytes], "\n")
	s.rest = s.rest[bytes:]
}
