package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

// recorder keeps what was logged, and the outcomes of runs.
type recorder struct {
	mutex    sync.Mutex
	lines    []string
	outcomes []provision.Outcome
	ended    []lambdaruntime.Exit
	dropped  int // hints
	reports  []report
}

// report is what the service said of an invocation.
type report struct {
	function string
	took     time.Duration
	billed   time.Duration
	peakMB   int // of the process, so far
}

// reported reads a line of the service; nil for any other.
func reported(l lambdaruntime.LogLine) *report {
	r := report{function: l.Function}
	for part := range strings.SplitSeq(strings.TrimPrefix(l.Text, "REPORT "), "\t") {
		switch name, value, _ := strings.Cut(part, ": "); name {
		case "Duration":
			r.took, _ = time.ParseDuration(strings.Replace(value, " ", "", 1))
		case "Billed Duration":
			r.billed, _ = time.ParseDuration(strings.Replace(value, " ", "", 1))
		case "Max Memory Used":
			r.peakMB, _ = strconv.Atoi(strings.TrimSuffix(value, " MB"))
		}
	}
	if r.peakMB == 0 {
		return nil
	}
	return &r
}

// used returns the longest invocation of a function so far, and the most memory one of its processes had.
func (r *recorder) used(function string) (longest time.Duration, peakMB int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, report := range r.reports {
		if report.function == function {
			longest, peakMB = max(longest, report.took), max(peakMB, report.peakMB)
		}
	}
	return longest, peakMB
}

// invoked returns how often each function was invoked so far, and what all of that is billed.
func (r *recorder) invoked() (times map[string]int, billed time.Duration) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	times = map[string]int{}
	for _, report := range r.reports {
		times[report.function]++
		billed += report.billed
	}
	return times, billed
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
	if report := reported(l); report != nil {
		r.mutex.Lock()
		r.reports = append(r.reports, *report)
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
