package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// A pod that waits for a label no node will have must not take down the pods it would have been put beside.
func TestUnitsThatFindNoPlaceArePlacedApart(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	w.pods("stuck", 1, asPod(appPod("db"), nearApp("example.com/rack", "db")))
	w.pods("db", 1, asPod(appPod("db"), nearApp(model.LabelHostname, "db")))
	plan := w.sound(t)
	refusedWith(t, plan, "stuck-00000", PodAffinity)
	if claimOf(plan, "db-00000") == nil {
		t.Errorf("db-00000 has no claim: %+v", plan.Unschedulable)
	}
}
