package provision_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// An instance that is to end is no capacity, whether its node is still there or not, and holds its share until it is gone.
func TestTerminatingClaimIsNoCapacity(t *testing.T) {
	for name, after := range map[string]time.Duration{"on its way": 5 * time.Second, "joined": 22 * time.Second} {
		w := start(t, world.Options{Types: []string{"m5.large"}, Ready: time.Minute})
		pending(w, "web", 1, world.Shape(500, gib))
		pass(t, w, provision.TriggerBatch)
		w.Tick(after)
		if joined := len(w.Cluster.Nodes()) == 1; joined != (name == "joined") {
			t.Fatalf("%s: %d nodes", name, len(w.Cluster.Nodes()))
		}
		if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 || outcome.Nominated != 1 {
			t.Fatalf("%s: %+v, want the pod nominated", name, outcome)
		}
		claim := load(t, w).Claims[0]
		claim.State = model.Terminating
		if _, err := w.Ledger.Advance(t.Context(), world.Name, claim); err != nil {
			t.Fatal(err)
		}
		if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 1 || outcome.Nominated != 0 {
			t.Errorf("%s: %+v, want another machine for the pod", name, outcome)
		}
		if held, _ := w.Ledger.Held("default"); held[model.Nodes] != 2 {
			t.Errorf("%s: the pool holds %v, want 2 nodes", name, held)
		}
	}
}
