package e2e

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	lambdaruntime "github.com/joiner-sh/joiner/testenv/runtime"
)

// recorder keeps what was logged, and the outcomes of runs.
type recorder struct {
	mutex    sync.Mutex
	lines    []string
	outcomes []provision.Outcome
	ended    []lambdaruntime.Exit
	dropped  int // hints
}

func (r *recorder) exit(e lambdaruntime.Exit) {
	r.add("process ended: " + string(e.Reason) + ", " + e.State)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.ended = append(r.ended, e)
}

// exits returns the processes that ended so far.
func (r *recorder) exits() []lambdaruntime.Exit {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]lambdaruntime.Exit{}, r.ended...)
}

func (r *recorder) line(l lambdaruntime.LogLine) {
	r.add(l.Text)
	if n := droppedBy(l.Text); n > 0 {
		r.mutex.Lock()
		r.dropped += n
		r.mutex.Unlock()
	}
	var entry struct {
		Msg     string            `json:"msg"`
		Outcome provision.Outcome `json:"outcome"`
	}
	if json.Unmarshal([]byte(l.Text), &entry) == nil && entry.Msg == "provision" {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.outcomes = append(r.outcomes, entry.Outcome)
	}
}

func (r *recorder) add(text string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.lines = append(r.lines, time.Now().Format("15:04:05.000 ")+text)
	if len(r.lines) > 400 {
		r.lines = r.lines[1:]
	}
}

func (r *recorder) text() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return strings.Join(r.lines, "\n")
}

// runs returns the outcomes so far.
func (r *recorder) runs() []provision.Outcome {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]provision.Outcome{}, r.outcomes...)
}
