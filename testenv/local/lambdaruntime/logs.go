package lambdaruntime

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// maxLogLineBytes is the size of one CloudWatch log event; a longer line is cut into several.
	maxLogLineBytes = 256 * 1024
	// keptPerFunction bounds the log lines, and the metrics, that are kept for each function.
	keptPerFunction = 10_000
)

// LogLine is one line of a function's log.
type LogLine struct {
	Time      time.Time
	Function  string
	SandboxID string
	// RequestID is empty for lines written outside an invocation, such as those of the init phase.
	RequestID string
	// Text has no line end. Lines of the service start with INIT_START, START, END or REPORT.
	Text string
}

// recorder keeps what functions logged and measured, and passes it on, one call at a time.
type recorder struct {
	onLine   func(LogLine)
	onMetric func(Metric)

	mu      sync.Mutex
	lines   map[string][]LogLine // keyed by function, oldest first
	metrics map[string][]Metric  // keyed by function, oldest first
}

func newRecorder(onLine func(LogLine), onMetric func(Metric)) *recorder {
	return &recorder{onLine: onLine, onMetric: onMetric, lines: map[string][]LogLine{}, metrics: map[string][]Metric{}}
}

func (c *recorder) record(line LogLine) {
	metrics := parseEMF(line)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines[line.Function] = appendBounded(c.lines[line.Function], line)
	c.metrics[line.Function] = appendBounded(c.metrics[line.Function], metrics...)
	if c.onLine != nil {
		c.onLine(line)
	}
	if c.onMetric != nil {
		for _, metric := range metrics {
			c.onMetric(metric)
		}
	}
}

func (c *recorder) linesOf(function string) []LogLine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines[function])
}

func (c *recorder) metricsOf(function string) []Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.metrics[function])
}

// appendBounded drops the oldest half when the bound is reached, so that dropping stays cheap.
func appendBounded[T any](kept []T, more ...T) []T {
	kept = append(kept, more...)
	if len(kept) > keptPerFunction {
		kept = slices.Clone(kept[len(kept)-keptPerFunction/2:])
	}
	return kept
}

// logPipe carries one process's stdout and stderr, in the order they were written, line by line to emit.
type logPipe struct {
	// write is given to the process; the parent keeps its own end open so that it can write marks behind what the process
	// has written so far.
	write *os.File
	read  *os.File
	emit  func(text string)
	ended chan struct{}

	mu     sync.Mutex
	marks  map[string]chan struct{} // keyed by the mark's text
	nextID int
}

func newLogPipe(emit func(text string)) (*logPipe, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open log pipe: %w", err)
	}
	p := &logPipe{write: write, read: read, emit: emit, ended: make(chan struct{}), marks: map[string]chan struct{}{}}
	go p.copyLines()
	return p, nil
}

func (p *logPipe) copyLines() {
	defer close(p.ended)
	defer p.read.Close()
	reader := bufio.NewReaderSize(p.read, maxLogLineBytes)
	for {
		line, err := reader.ReadSlice('\n')
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 0 && !p.reached(string(line)) {
			p.emit(string(line))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return // io.EOF, or the read end was closed
		}
	}
}

// reached says whether the line is a mark, and wakes the one who waits for it.
func (p *logPipe) reached(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, ok := p.marks[line]
	if ok {
		close(waiting)
		delete(p.marks, line)
	}
	return ok
}

// sync returns when everything the process had written by now has been emitted. A line begun and not ended counts as
// ended.
func (p *logPipe) sync() {
	p.mu.Lock()
	p.nextID++
	mark := fmt.Sprintf("\x00mark%d\x00", p.nextID)
	waiting := make(chan struct{})
	p.marks[mark] = waiting
	p.mu.Unlock()
	// One short write is atomic on a pipe, so the mark stands on a line of its own.
	if _, err := io.WriteString(p.write, "\n"+mark+"\n"); err != nil {
		return // closed: the process is gone and close has waited for its last line
	}
	select {
	case <-waiting:
	case <-p.ended:
	}
}

// close returns when the last line has been emitted. A grandchild that escaped its process group may hold the pipe open:
// it is not waited for longer than a second.
func (p *logPipe) close() {
	p.write.Close()
	select {
	case <-p.ended:
	case <-time.After(time.Second):
		p.read.Close()
		<-p.ended
	}
}
