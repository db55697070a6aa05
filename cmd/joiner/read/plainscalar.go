package read

import "bytes"

// single reads a scalar in single quotes, of one line or folded over several.
func (p *plainYAML) single(rest []byte, n int) {
	p.out = append(p.out, '"')
	for {
		end := bytes.IndexByte(rest, '\'')
		if end >= 0 && end+1 < len(rest) && rest[end+1] == '\'' {
			p.out = escaped(p.out, rest[:end+1]) // two of them are one
			rest = rest[end+2:]
			continue
		}
		if end >= 0 {
			p.out = append(escaped(p.out, rest[:end]), '"')
			p.endQuoted(rest[end+1:], n)
			return
		}
		p.out = escaped(p.out, rest)
		if !p.continued(n) {
			return
		}
		p.out = append(p.out, ' ')
		rest = p.content
	}
}

// double reads a scalar in double quotes, of one line or folded over several.
func (p *plainYAML) double(rest []byte, n int) {
	p.out = append(p.out, '"')
	for {
		used, closed, joined := p.unescape(rest)
		switch {
		case p.abandoned:
			return
		case closed:
			p.out = append(p.out, '"')
			p.endQuoted(rest[used:], n)
			return
		}
		if !p.continued(n) {
			return
		}
		if !joined {
			p.out = append(p.out, ' ')
		}
		rest = p.content
	}
}

// unescape writes what stands before the closing quote. It returns how much of the line it used, whether there is a
// closing quote, and whether the next line joins without a space.
func (p *plainYAML) unescape(rest []byte) (used int, closed, joined bool) {
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; c {
		case '"':
			return i + 1, true, false
		case '\\':
			if i++; i == len(rest) {
				return i, false, true
			}
			switch c := rest[i]; c {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				p.out = append(p.out, '\\', c)
			case ' ':
				p.out = append(p.out, ' ')
			default: // code points and what JSON has no words for
				p.abandon()
				return i, false, false
			}
		default:
			p.out = append(p.out, c)
		}
	}
	return len(rest), false, false
}

// continued goes to the next line of a quoted scalar.
func (p *plainYAML) continued(n int) bool {
	if p.next(); p.over || p.indent <= n {
		p.abandon()
		return false
	}
	return true
}

// endQuoted goes on behind a closing quote, where nothing may stand.
func (p *plainYAML) endQuoted(rest []byte, n int) {
	if len(rest) > 0 {
		p.abandon()
		return
	}
	if p.next(); !p.over && p.indent > n {
		p.abandon()
	}
}

// literal reads a block of lines that stand for themselves.
func (p *plainYAML) literal(chomp []byte, n int) {
	if mode := string(chomp); mode != "" && mode != "-" && mode != "+" {
		p.abandon()
		return
	}
	p.out = append(p.out, '"')
	indent, empty := 0, 0 // empty lines not written yet
	for {
		at := p.pos
		line, ok := p.raw()
		if !ok {
			p.over = true
			break
		}
		content := bytes.TrimLeft(line, " ")
		depth := len(line) - len(content)
		if len(content) == 0 && (indent == 0 || depth <= indent) {
			if depth > 0 && indent == 0 {
				p.abandon() // spaces before the first line may be too many
				return
			}
			empty++
			continue
		}
		if indent == 0 && depth > n {
			indent = depth
		}
		if indent == 0 || depth < indent {
			p.pos = at
			p.next()
			break
		}
		for ; empty > 0; empty-- {
			p.out = append(p.out, `\n`...)
		}
		p.out = escaped(p.out, line[indent:])
		empty = 1 // its own end
	}
	if p.abandoned || indent == 0 || !p.over && p.indent > n {
		p.abandon()
		return
	}
	switch string(chomp) {
	case "":
		empty = 1
	case "-":
		empty = 0
	}
	for ; empty > 0; empty-- {
		p.out = append(p.out, `\n`...)
	}
	p.out = append(p.out, '"')
}

// quoted appends ASCII text as a JSON string.
func quoted(out, text []byte) []byte {
	return append(escaped(append(out, '"'), text), '"')
}

// escaped appends ASCII text as the inside of a JSON string.
func escaped(out, text []byte) []byte {
	for {
		i := bytes.IndexAny(text, `"\`)
		if i < 0 {
			return append(out, text...)
		}
		out = append(append(out, text[:i]...), '\\', text[i])
		text = text[i+1:]
	}
}
