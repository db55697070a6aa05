package read

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// splitter cuts the text of a source into batches.
type splitter struct {
	out    *workers
	source string
	doc    int  // number of the document being read
	line   int  // lines read so far
	lost   bool // lines are not counted any more: JSON tells offsets
}

var errStopped = errors.New("nobody wants more")

// cut reads documents, JSON or YAML each, up to the end of the text.
func (c *splitter) cut(text io.Reader) error {
	lines := bufio.NewReaderSize(text, 64<<10)
	for {
		start, err := lines.Peek(512) // an error shows again at the first read
		if len(start) == 0 {
			if err == io.EOF {
				return nil
			}
			return fmt.Errorf("%s: %w", c.source, err)
		}
		if !startsJSON(start) {
			if err := c.cutYAML(lines); err != nil {
				return err
			}
			continue
		}
		rest, err := c.cutJSON(lines)
		if err != nil {
			return err
		}
		c.lost = true
		lines = bufio.NewReaderSize(rest, 64<<10)
	}
}

// known returns a line of the source, 0 where lines were not counted up to it.
func (c *splitter) known(line int) int {
	if c.lost {
		return 0
	}
	return line
}

// startsJSON tells a JSON object from YAML: a brace, and then a name in quotes or nothing.
func startsJSON(start []byte) bool {
	start = bytes.TrimLeft(start, " \t\r\n\ufeff")
	if len(start) == 0 || start[0] != '{' {
		return false
	}
	start = bytes.TrimLeft(start[1:], " \t\r\n")
	return len(start) == 0 || start[0] == '"' || start[0] == '}'
}

// cutJSON reads objects one after the other and returns the text that follows them.
func (c *splitter) cutJSON(text *bufio.Reader) (io.Reader, error) {
	if start, _ := text.Peek(3); bytes.HasPrefix(start, []byte("\ufeff")) {
		_, _ = text.Discard(3)
	}
	decoder := jsontext.NewDecoder(text, lenient)
	for {
		switch decoder.PeekKind() {
		case '{':
			c.doc++
			if err := c.document(decoder); err != nil {
				return nil, err
			}
		default:
			rest := bytes.TrimLeft(bytes.Clone(decoder.UnreadBuffer()), " \t\r\n")
			return io.MultiReader(bytes.NewReader(rest), text), nil
		}
	}
}

// document reads one JSON object. The items of a list are handed on as they come, whatever stands behind them.
func (c *splitter) document(decoder *jsontext.Decoder) error {
	at := place{source: c.source, doc: c.doc}
	broken := func(err error) error { return c.broken(at, err) }
	if _, err := decoder.ReadToken(); err != nil {
		return broken(err)
	}
	rest, isList := []byte{'{'}, false
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadValue()
		if err != nil {
			return broken(err)
		}
		rest = append(append(rest, name...), ':')
		if string(name) == `"items"` && decoder.PeekKind() == '[' {
			isList = true
			if err := c.items(decoder, at, rest); err != nil {
				return err
			}
			rest = append(rest, '0', ',')
			continue
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return broken(err)
		}
		rest = append(append(rest, value...), ',')
	}
	if _, err := decoder.ReadToken(); err != nil { // the closing brace, or what is in its place
		return broken(err)
	}
	if isList {
		return nil
	}
	rest = append(bytes.TrimSuffix(rest, []byte{','}), '}')
	return c.add(&batch{at: at, text: rest, ends: []int{len(rest)}})
}

// items reads the items of a list. What stands before them says what kind they are, where it is said there.
func (c *splitter) items(decoder *jsontext.Decoder, at place, before []byte) error {
	is, _ := kindOf(append(bytes.Clone(before), '0', '}'))
	assumed := is.ofItems()
	if _, err := decoder.ReadToken(); err != nil {
		return c.broken(at, err)
	}
	next := &batch{at: at, assumed: assumed, first: 1}
	for n := 1; decoder.PeekKind() != ']'; n++ {
		value, err := decoder.ReadValue()
		if err != nil {
			if added := c.add(next); added != nil {
				return added
			}
			return c.broken(at.item(n), err)
		}
		next.text = append(next.text, value...)
		next.ends = append(next.ends, len(next.text))
		if len(next.text) >= batchBytes {
			if err := c.add(next); err != nil {
				return err
			}
			next = &batch{at: at, assumed: assumed, first: n + 1, text: make([]byte, 0, len(next.text))}
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return c.broken(at, err)
	}
	return c.add(next)
}

// broken ends the reading of a source: behind a mistake of syntax nothing can be said any more.
func (c *splitter) broken(at place, err error) error {
	what := "not JSON: " + err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		what = "not JSON: the text ends in the middle of an object"
	}
	return errors.Join(c.add(&batch{problem: &Problem{At: at, What: what}}), errStopped)
}

func (c *splitter) add(b *batch) error {
	if b.problem == nil && len(b.text) == 0 {
		return nil
	}
	if !c.out.add(b) {
		return errStopped
	}
	return nil
}
