package disrupt_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// M91: a command waits longer for replacements whose NodePool lets its instances take longer to join.
func TestM91ACommandWaitsAsLongAsItsReplacementsMayTake(t *testing.T) {
	for value, undone := range map[string]bool{"": true, "3m": true, "30m": false} {
		h := newHouse(t, 4)
		h.annotations = map[string]string{model.AnnotationJoinWithin: value}
		h.publish()
		h.wants(planned(model.ReasonDrifted, 1, "n0"))
		h.boots = 10_000
		h.check()
		h.pass(30)
		if !tainted(&h.nodes["n0"].Node) {
			t.Fatalf("%q: %s", value, h.state())
		}
		h.plan = nil
		h.settings.ReplaceWithin = 4 * time.Minute
		h.pass(600)
		commands := h.load().Commands
		if len(commands) != 1 || (commands[0].State == model.CommandUndone) != undone {
			t.Errorf("%q: %+v, want it undone: %v", value, commands, undone)
		}
	}
}
