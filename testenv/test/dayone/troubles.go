package dayone

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

// troubles are the lines of functions' logs that report a problem, and processes of theirs that ended otherwise than the service wanted: what
// a reader finds in CloudWatch when doctor says that messages could not be processed.
type troubles struct {
	mutex sync.Mutex
	lines []string
}

// line keeps a line that reports a problem.
func (s *troubles) line(l lambdaruntime.LogLine) {
	for _, sign := range []string{`"level":"ERROR"`, `"level":"WARN"`, `"problems":`, "timed out", "panic", "errorMessage"} {
		if strings.Contains(l.Text, sign) {
			s.add(l.Time, l.Function, l.Text)
			return
		}
	}
}

func (s *troubles) exit(e lambdaruntime.Exit) {
	if e.RequestID != "" { // it served an invocation
		s.add(time.Now(), e.Function, fmt.Sprintf("its process ended in invocation %s: %s, %s", e.RequestID, e.Reason, e.State))
	}
}

func (s *troubles) add(at time.Time, function, text string) {
	const most, longest = 200, 1500
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(text) > longest {
		text = text[:longest] + " …"
	}
	if s.lines = append(s.lines, fmt.Sprintf("%s %s: %s", at.Format("15:04:05.000"), function, text)); len(s.lines) > most {
		s.lines = s.lines[1:]
	}
}

// text returns the latest of them, a line each.
func (s *troubles) text() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return strings.Join(s.lines, "\n")
}
