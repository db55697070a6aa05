package provision_test

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// What waits for calls of EC2's API does not wait for the next resync: calls come back each second.
func TestLaunchesThatWaitForCallsAreLookedAtAgain(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 1, world.Shape(1500, gib))
	empty := model.Allowance{AtUnix: w.Clock.Now().Unix(), ReadsMilli: 80_000}
	if err := w.Ledger.Spend(t.Context(), world.Registration(), empty); err != nil {
		t.Fatal(err)
	}
	before := w.Plan.Len()
	if out := pass(t, w, provision.TriggerBatch); out.Claims != 0 {
		t.Fatalf("launched without a call: %+v", out)
	}
	asked := w.Plan.Peek()[before:]
	if len(asked) != 1 || asked[0].Group != world.Name || !strings.Contains(asked[0].Body, "again/") {
		t.Fatalf("%d hints: %+v", len(asked), asked)
	}
	w.Clock.Advance(time.Second)
	if out := pass(t, w, provision.TriggerResync); out.Claims != 1 {
		t.Errorf("a second later %+v", out)
	}
	if n := w.Plan.Len(); n != before+1 {
		t.Errorf("%d hints though nothing waits any more", n-before)
	}
}
