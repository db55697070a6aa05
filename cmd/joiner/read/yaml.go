package read

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// wholeBytes is the size up to which a YAML document is read in one piece. A longer one that is a list is cut at its
// items, which then cannot refer to each other's anchors.
const wholeBytes = 1 << 20

// cutYAML reads one YAML document and the line that ends it.
func (c *splitter) cutYAML(text *bufio.Reader) error {
	doc := &document{splitter: c, line: c.line + 1}
	for {
		line, readErr := readLine(text)
		if len(line) > 0 {
			c.line++
			content, ends := separator(line)
			if ends {
				if err := doc.finish(); err != nil {
					return err
				}
				if len(content) == 0 {
					return nil // what follows may be JSON
				}
				doc = &document{splitter: c, line: c.line}
			}
			if err := doc.add(content); err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return doc.finish()
		}
		if readErr != nil {
			return fmt.Errorf("%s: %w", c.source, readErr)
		}
	}
}

// readLine returns the next line with its end. It is good until the next call.
func readLine(text *bufio.Reader) ([]byte, error) {
	line, err := text.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	long := bytes.Clone(line)
	for err == bufio.ErrBufferFull {
		line, err = text.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}

// separator reports whether a line ends the document before it, and returns what of the line belongs to the next one.
func separator(line []byte) (content []byte, ends bool) {
	if len(line) < 3 || string(line[:3]) != "---" && string(line[:3]) != "..." {
		return line, false
	}
	if len(line) > 3 && bytes.IndexByte([]byte(" \t\r\n"), line[3]) < 0 {
		return line, false
	}
	rest := bytes.TrimSpace(line[3:])
	if len(rest) == 0 || rest[0] == '#' || line[0] == '.' {
		return nil, true
	}
	return append(bytes.Clone(rest), '\n'), true
}

// document is a YAML document on its way in.
type document struct {
	*splitter
	line    int // of the source, where text starts
	started bool
	text    []byte
	items   *itemSplitter // of a long list; nil until it has proven to be one
	whole   bool          // long, and no list
}

// add takes a line of the document.
func (d *document) add(line []byte) error {
	if content := bytes.TrimSpace(line); !d.started && len(content) > 0 && content[0] != '#' {
		if line[0] == '%' {
			return nil // a directive: there is nothing to direct
		}
		d.started = true
		d.doc++
	}
	if d.items != nil {
		return d.items.add(line)
	}
	d.text = append(d.text, line...)
	if len(d.text) < wholeBytes || d.whole {
		return nil
	}
	return d.split()
}

// split starts to cut a document that has become long, if it is a list.
func (d *document) split() error {
	length := itemsStart(d.text)
	if length == 0 {
		d.whole = true
		return nil
	}
	head, body := d.text[:length], d.text[length:]
	d.items = newItemSplitter(d.splitter, head, body, d.line+bytes.Count(head, []byte{'\n'}))
	d.text = nil
	for len(body) > 0 {
		end := bytes.IndexByte(body, '\n') + 1
		if end == 0 {
			end = len(body)
		}
		if err := d.items.add(body[:end]); err != nil {
			return err
		}
		body = body[end:]
	}
	return nil
}

// finish hands on what is left.
func (d *document) finish() error {
	switch {
	case !d.started:
		return nil
	case d.items != nil:
		return d.items.flush()
	}
	return d.splitter.add(&batch{at: place{source: d.source, doc: d.doc}, text: d.text, ends: []int{len(d.text)}, yaml: true, line: d.known(d.line)})
}

// itemSplitter cuts the block list below "items:" between its items.
type itemSplitter struct {
	*splitter
	next  *batch
	dash  int // column of the dash of each item
	count int // of items begun
	ended bool
}

func newItemSplitter(c *splitter, head, body []byte, line int) *itemSplitter {
	cut := &itemSplitter{splitter: c, dash: dashOf(body)}
	cut.next = &batch{at: place{source: c.source, doc: c.doc}, assumed: kindOfYAML(head).ofItems(), yaml: true, first: 1, line: c.known(line)}
	return cut
}

// add takes a line of the document behind "items:". What follows the items says nothing that is needed.
func (c *itemSplitter) add(line []byte) error {
	content := bytes.TrimLeft(line, " ")
	column := len(line) - len(content)
	if blank := len(bytes.TrimSpace(line)) == 0 || content[0] == '#'; !blank && !c.ended {
		begins := column == c.dash && dashed(content)
		c.ended = column < c.dash || column == c.dash && !begins
		if begins {
			if len(c.next.text) >= batchBytes {
				if err := c.flush(); err != nil {
					return err
				}
			} else if c.count >= c.next.first {
				c.next.ends = append(c.next.ends, len(c.next.text))
			}
			c.count++
		}
	}
	if !c.ended {
		c.next.text = append(c.next.text, line...)
	}
	return nil
}

func (c *itemSplitter) flush() error {
	full := c.next
	next := *full
	full.ends = append(full.ends, len(full.text))
	next.ends = nil
	next.first = c.count + 1
	next.text = make([]byte, 0, len(full.text))
	if full.line > 0 {
		next.line = full.line + bytes.Count(full.text, []byte{'\n'})
	}
	c.next = &next
	return c.splitter.add(full)
}

// itemsStart returns how long the text is up to the first item of a block list below "items:", 0 where there is none.
func itemsStart(text []byte) int {
	const key = "items:"
	for start := 0; start < len(text); {
		end := start + bytes.IndexByte(text[start:], '\n') + 1
		if end == start {
			return 0
		}
		line := text[start:end]
		if rest, found := bytes.CutPrefix(line, []byte(key)); found {
			if rest = bytes.TrimSpace(rest); (len(rest) == 0 || rest[0] == '#') && dashOf(text[end:]) >= 0 {
				return end
			}
			return 0
		}
		start = end
	}
	return 0
}

// dashOf returns the column of the dash that a block list starts with, −1 where the text is no such list.
func dashOf(text []byte) int {
	for line := range bytes.Lines(text) {
		content := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(content)) == 0 || content[0] == '#' {
			continue
		}
		if dashed(content) {
			return len(line) - len(content)
		}
		return -1
	}
	return -1
}

func dashed(content []byte) bool {
	return content[0] == '-' && (len(content) == 1 || bytes.IndexByte([]byte(" \r\n"), content[1]) >= 0)
}

func kindOfYAML(head []byte) kind {
	raw, err := yaml.YAMLToJSON(head)
	if err != nil || len(raw) == 0 || raw[0] != '{' {
		return kind{}
	}
	is, _ := kindOf(raw)
	return is
}
