package read

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// batchBytes is how much text is read at a time by one goroutine, unless one object is longer.
const batchBytes = 256 << 10

// batch is a piece of text to read, and what was read of it.
type batch struct {
	at      place
	assumed kind   // of objects that do not say theirs
	text    []byte // values one after the other
	ends    []int  // in text, of each value
	first   int    // number of the first value in its list; 0 = the text is one value, not of a list
	yaml    bool   // the values are YAML: one, or lists of one item each
	line    int    // of the source, where the text starts, from 1; 0 = not known

	problem *Problem // the text could not be cut further
	read    decoder
	done    chan struct{}
}

// run reads the batch.
func (b *batch) run() {
	defer close(b.done)
	if b.problem != nil {
		return
	}
	start := 0
	for i, end := range b.ends {
		raw := b.text[start:end]
		at := b.at
		if b.first > 0 {
			at = at.item(b.first + i)
		}
		if b.yaml {
			raw = b.json(raw, start, at)
		}
		if raw != nil {
			b.read.value(raw, b.assumed, at, 0)
		}
		start = end
	}
}

// json returns a YAML value as JSON, nil where there is none or where it cannot be read.
func (b *batch) json(text []byte, start int, at place) []byte {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		b.read.problems = append(b.read.problems, &Problem{At: at, What: b.inSource(err, start)})
		return nil
	}
	raw = bytes.TrimSpace(raw)
	if b.first > 0 { // a list of one item
		raw = bytes.TrimSuffix(bytes.TrimPrefix(raw, []byte{'['}), []byte{']'})
	}
	if len(raw) == 0 || b.first == 0 && string(raw) == "null" {
		return nil
	}
	return raw
}

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// inSource turns the lines that an error of the text from start on names into lines of the source.
func (b *batch) inSource(err error, start int) string {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	text = strings.Join(strings.Fields(strings.TrimPrefix(text, "unmarshal errors:")), " ")
	return "not YAML: " + lineNumber.ReplaceAllStringFunc(text, func(found string) string {
		n, err := strconv.Atoi(found[len("line "):])
		if err != nil {
			return found
		}
		if b.line == 0 {
			return fmt.Sprintf("line %d of the document", n)
		}
		return fmt.Sprintf("line %d", n+b.line-1+bytes.Count(b.text[:start], []byte{'\n'}))
	})
}

// workers reads batches beside each other and hands them on in the order they came.
type workers struct {
	work    chan *batch
	ordered chan *batch
	stop    chan struct{} // closed when nobody wants more
	wait    sync.WaitGroup
}

func newWorkers() *workers {
	n := runtime.GOMAXPROCS(0)
	w := &workers{work: make(chan *batch, n), ordered: make(chan *batch, 2*n), stop: make(chan struct{})}
	for range n {
		w.wait.Go(func() {
			for b := range w.work {
				b.run()
			}
		})
	}
	return w
}

// add takes a batch; false where no more is wanted.
func (w *workers) add(b *batch) bool {
	b.done = make(chan struct{})
	select {
	case <-w.stop:
		return false
	case w.ordered <- b:
	}
	w.work <- b // always taken: workers wait for nothing but work
	return true
}

// end says that no batch comes any more.
func (w *workers) end() {
	close(w.ordered)
	close(w.work)
	w.wait.Wait()
}
