package interruption_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// R36: a bad image, of which no instance joins: every old node has drifted, new instances never join, and none of the old ones is
// given up for that. Drift alone ends nothing; what replaces drifted nodes will have to see new ones join first.
func TestR36_DriftedNodesStayWhileNewInstancesDoNotJoin(t *testing.T) {
	w := settled(t, 4, world.Options{})
	for _, claim := range load(t, w).Claims {
		claim.Drift, claim.DriftMessage, claim.DriftUnix = "AMIDrift", "the machine booted ami-old", w.Clock.Now().Unix()
		if _, err := w.Ledger.Advance(t.Context(), world.Name, claim); err != nil {
			t.Fatal(err)
		}
	}
	was := load(t, w).Claims
	sum := pass(t, w, time.Hour)
	nothing(t, w, sum)
	for _, claim := range load(t, w).Claims {
		if claim.State != model.Initialized || claim.Drift == "" {
			t.Errorf("%s is %s", claim.Name, claim.State)
		}
	}
	if n := len(load(t, w).Claims); n != len(was) {
		t.Errorf("%d claims of %d are left", n, len(was))
	}
	sound(t, w)
}
