package read

import (
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
	yaml    bool   // the text is YAML: one value, or the lines of a list
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
	if b.yaml {
		b.runYAML()
		return
	}
	start := 0
	for i, end := range b.ends {
		b.one(b.text[start:end], i)
		start = end
	}
}

func (b *batch) one(raw []byte, i int) {
	at := b.at
	if b.first > 0 {
		at = at.item(b.first + i)
	}
	b.read.value(raw, b.assumed, at, 0)
}

func (b *batch) runYAML() {
	raw, err := yaml.YAMLToJSONStrict(b.text)
	if err != nil {
		b.read.problems = append(b.read.problems, &Problem{At: b.at, What: b.inSource(err)})
		return
	}
	if string(raw) == "null" {
		return
	}
	if b.first == 0 {
		b.one(raw, 0)
		return
	}
	items, err := elements(raw)
	if err != nil {
		b.read.problems = append(b.read.problems, &Problem{At: b.at, What: err.Error()})
	}
	for i, item := range items {
		b.one(item, i)
	}
}

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// inSource turns the lines an error speaks of into lines of the source.
func (b *batch) inSource(err error) string {
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
		return fmt.Sprintf("line %d", n+b.line-1)
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
