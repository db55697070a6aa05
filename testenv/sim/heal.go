package sim

import (
	"strings"

	"github.com/joiner-sh/joiner/testenv/sim/audit"
)

// heal ends everything that goes wrong.
func (e *engine) heal() { e.healed = true }

// quiet holds what must be true once everything was well for long enough.
func (e *engine) quiet() {
	for _, checker := range e.checkers {
		e.found = append(e.found, checker.Quiet(e.now())...)
	}
}

// about returns which lines of a trace have to do with a violation.
func about(v audit.Violation) func(string) bool {
	return func(line string) bool { return v.Object == "" || strings.Contains(line, v.Object) }
}
