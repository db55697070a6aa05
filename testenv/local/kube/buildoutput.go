package kube

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// buildOutput reads what "go build -v" prints: a line for each package as it
// is compiled, "go: downloading …" before, errors in between.
type buildOutput struct {
	mu          sync.Mutex
	line        bytes.Buffer
	last        []string // the last lines that are neither of the first two
	packages    int
	downloading int
}

func (o *buildOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range p {
		if c != '\n' {
			o.line.WriteByte(c)
			continue
		}
		o.take(o.line.String())
		o.line.Reset()
	}
	return len(p), nil
}

func (o *buildOutput) take(line string) {
	const keptLines = 40
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		o.downloading++
	case line != "" && !strings.ContainsAny(line, " \t:"):
		o.packages++
	default:
		o.last = append(o.last, line)
		if len(o.last) > keptLines {
			o.last = o.last[1:]
		}
	}
}

// summary says how far the build is.
func (o *buildOutput) summary() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.packages == 0 && o.downloading > 0 {
		return fmt.Sprintf("%d modules fetched", o.downloading)
	}
	return fmt.Sprintf("%d packages compiled", o.packages)
}

// tail returns what was printed beside the packages: the errors, if any.
func (o *buildOutput) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(strings.Join(append(o.last[:len(o.last):len(o.last)], o.line.String()), "\n"))
}
