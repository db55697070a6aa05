package read

import (
	"bytes"

	"sigs.k8s.io/yaml"
)

// plainYAML turns YAML written the plain way, as kubectl does it, into JSON, some ten times as fast as a parser of all of
// YAML. It knows block mappings and lists, scalars plain, quoted or literal, and ASCII. At anything else, and at any mistake,
// it gives up (false), and the text is the full parser's to read: what this returns is exactly what that would.
//
// It is for one goroutine at a time; it keeps what scalars mean from one text to the next.
type plainYAML struct {
	text []byte
	pos  int // where the line after the current one starts

	// The current line, without what was read of it.
	indent  int
	content []byte
	over    bool // there is no current line

	out       []byte
	abandoned bool // it gave up
	depth     int
	meanings  map[string][]byte // JSON of plain scalars that a look at the first letter does not tell
}

const (
	maxDepth    = 100
	maxMeanings = 4096
)

// convert returns the JSON of a text; it is good until the next call. False where it gives up.
func (p *plainYAML) convert(text []byte) ([]byte, bool) {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return nil, false
	}
	for _, c := range text {
		if c >= 0x7f || c < ' ' && c != '\n' {
			return nil, false
		}
	}
	if len(p.meanings) > maxMeanings || p.meanings == nil {
		p.meanings = map[string][]byte{}
	}
	p.text, p.pos, p.out, p.abandoned, p.over, p.depth = text, 0, p.out[:0], false, false, 0
	p.next()
	p.block(p.indent)
	if p.abandoned || !p.over {
		return nil, false
	}
	return p.out, true
}

func (p *plainYAML) abandon() { p.abandoned, p.over = true, true }

// next goes to the next line. Empty ones and comments are not plain.
func (p *plainYAML) next() {
	line, ok := p.raw()
	if !ok {
		p.over = true
		return
	}
	p.content = bytes.TrimLeft(line, " ")
	p.indent = len(line) - len(p.content)
	if len(p.content) == 0 || p.content[0] == '#' || p.content[len(p.content)-1] == ' ' || p.indent == 0 && endsDocument(p.content) {
		p.abandon()
	}
}

// endsDocument reports whether a line ends a document or is a directive.
func endsDocument(line []byte) bool {
	return line[0] == '%' || bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("..."))
}

// raw returns the next line as it is, without its end.
func (p *plainYAML) raw() ([]byte, bool) {
	if p.pos >= len(p.text) {
		return nil, false
	}
	end := p.pos + bytes.IndexByte(p.text[p.pos:], '\n')
	line := p.text[p.pos:end]
	p.pos = end + 1
	return line, true
}

// block reads the list or mapping that starts at the current line, whose lines are indented by n.
func (p *plainYAML) block(n int) {
	if p.over {
		p.abandon()
		return
	}
	if p.depth++; p.depth > maxDepth {
		p.abandon()
		return
	}
	if p.atDash() {
		p.list(n)
	} else {
		p.mapping(n)
	}
	p.depth--
}

func (p *plainYAML) atDash() bool {
	return p.content[0] == '-' && (len(p.content) == 1 || p.content[1] == ' ')
}

func (p *plainYAML) list(n int) {
	p.out = append(p.out, '[')
	for first := true; !p.over && p.indent == n && p.atDash(); first = false {
		if !first {
			p.out = append(p.out, ',')
		}
		if len(p.content) == 1 {
			p.below(n, false)
			continue
		}
		rest := p.content[2:]
		if _, _, isKey := keyOf(rest); isKey || rest[0] == '-' && (len(rest) == 1 || rest[1] == ' ') {
			p.indent, p.content = n+2, rest
			p.block(n + 2)
			continue
		}
		p.scalar(rest, n)
	}
	p.out = append(p.out, ']')
	if !p.over && p.indent > n {
		p.abandon()
	}
}

func (p *plainYAML) mapping(n int) {
	p.out = append(p.out, '{')
	var names [][]byte
	var seen map[string]bool
	for !p.over && p.indent == n {
		name, rest, isKey := keyOf(p.content)
		if !isKey || p.atDash() {
			p.abandon()
			return
		}
		if names, seen = noted(names, seen, name); names == nil {
			p.abandon() // it is there twice
			return
		}
		if len(names) > 1 {
			p.out = append(p.out, ',')
		}
		p.out = append(quoted(p.out, name), ':')
		if len(rest) == 0 {
			p.below(n, true)
			continue
		}
		p.scalar(rest, n)
	}
	p.out = append(p.out, '}')
	if !p.over && p.indent > n {
		p.abandon()
	}
}

// noted adds a name to those of a mapping, and returns nil where it is among them.
func noted(names [][]byte, seen map[string]bool, name []byte) ([][]byte, map[string]bool) {
	const few = 16
	if seen == nil && len(names) == few {
		seen = make(map[string]bool, 4*few)
		for _, known := range names {
			seen[string(known)] = true
		}
	}
	if seen != nil {
		if seen[string(name)] {
			return nil, nil
		}
		seen[string(name)] = true
		return append(names, name), seen
	}
	for _, known := range names {
		if bytes.Equal(known, name) {
			return nil, nil
		}
	}
	return append(names, name), nil
}

// below reads what stands below a key or dash that has nothing beside it: more deeply indented, or, below a key, a list
// that is not; else there is nothing.
func (p *plainYAML) below(n int, key bool) {
	p.next()
	switch {
	case p.abandoned:
	case !p.over && p.indent > n:
		p.block(p.indent)
	case !p.over && key && p.indent == n && p.atDash():
		p.block(n)
	default:
		p.out = append(p.out, "null"...)
	}
}

// scalar reads a scalar that starts beside a key or dash indented by n, and goes to the line after it.
func (p *plainYAML) scalar(rest []byte, n int) {
	switch rest[0] {
	case '\'':
		p.single(rest[1:], n)
	case '"':
		p.double(rest[1:], n)
	case '|':
		p.literal(rest[1:], n)
	case '[', '{':
		if text := string(rest); text != "[]" && text != "{}" {
			p.abandon()
			return
		}
		p.out = append(p.out, rest...)
		p.next()
		if !p.over && p.indent > n {
			p.abandon()
		}
	default:
		p.plain(rest, n)
	}
}

// plain reads a plain scalar; lines that are more deeply indented go on with it.
func (p *plainYAML) plain(rest []byte, n int) {
	if !plainText(rest) {
		p.abandon()
		return
	}
	p.next()
	if !p.over && p.indent > n {
		whole := bytes.Clone(rest)
		for !p.over && p.indent > n {
			if !plainText(p.content) || p.atDash() {
				p.abandon()
				return
			}
			whole = append(append(whole, ' '), p.content...)
			p.next()
		}
		rest = whole
	}
	if p.abandoned {
		return
	}
	if isWord(rest) {
		p.out = quoted(p.out, rest)
		return
	}
	meaning, known := p.meanings[string(rest)]
	if !known {
		if endsDocument(rest) { // by itself it would mean something else
			p.abandon()
			return
		}
		var err error
		if meaning, err = yaml.YAMLToJSONStrict(rest); err != nil || len(meaning) == 0 || meaning[0] == '{' || meaning[0] == '[' {
			p.abandon()
			return
		}
		meaning = bytes.TrimSpace(meaning)
		p.meanings[string(rest)] = meaning
	}
	p.out = append(p.out, meaning...)
}

// plainText reports whether text is nothing but part of a plain scalar.
func plainText(text []byte) bool {
	if bytes.IndexByte([]byte(" !&*|>%@`?,#[]{}:'\""), text[0]) >= 0 || text[0] == '-' && (len(text) == 1 || text[1] == ' ') {
		return false
	}
	return text[len(text)-1] != ':' && !bytes.Contains(text, []byte(": ")) && !bytes.Contains(text, []byte(" #"))
}

// isWord reports whether a plain scalar can only be a string: it starts with a letter and is none of the words that mean
// a truth value or nothing.
func isWord(text []byte) bool {
	if c := text[0] | 0x20; (c < 'a' || c > 'z') && text[0] != '/' && text[0] != '_' {
		return false
	}
	if len(text) > len("false") {
		return true
	}
	switch string(bytes.ToLower(text)) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}

// keyOf splits a line into a key and what stands beside it.
func keyOf(line []byte) (name, rest []byte, ok bool) {
	end := 0
	switch {
	case line[0] == '\'' || line[0] == '"':
		close := bytes.IndexByte(line[1:], line[0])
		name = line[1:max(1, close+1)]
		end = close + 2
		if close < 0 || bytes.IndexByte(name, '\\') >= 0 || len(name) == 0 {
			return nil, nil, false
		}
	default:
		for end < len(line) && (line[end] != ':' || end+1 < len(line) && line[end+1] != ' ') {
			c := line[end]
			if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && bytes.IndexByte([]byte("-_./:"), c) < 0 {
				return nil, nil, false
			}
			end++
		}
		name = line[:end]
		if len(name) == 0 || !isWord(name) && string(name) != "." {
			return nil, nil, false
		}
	}
	if end >= len(line) || line[end] != ':' || len(name) > 100 {
		return nil, nil, false
	}
	if rest = line[end+1:]; len(rest) == 0 {
		return name, nil, true
	}
	if rest[0] != ' ' || len(rest) < 2 || rest[1] == ' ' {
		return nil, nil, false
	}
	return name, rest[1:], true
}
