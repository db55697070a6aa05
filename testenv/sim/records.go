package sim

import (
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/world"
)

// unrecorded is D5: of each machine we launched for the cluster that ended some minutes ago there is a record that says why. Of machines
// that others made for it there is none.
func unrecorded(w *world.World) (found []audit.Violation) {
	known := map[string]bool{}
	for _, r := range w.Store.Removals() {
		known[r.Claim.InstanceID] = known[r.Claim.InstanceID] || r.Reason != "" && r.By != "" && r.Message != ""
	}
	for _, m := range w.Fleet.Machines() {
		if m.Terminated && m.OwnedBy(world.Name) && !known[m.ID] && w.Clock.Now().Sub(m.EndedAt) >= 3*time.Minute { // else its claim may be yet to be closed
			text := fmt.Sprintf("it ended at %s and no record says why", m.EndedAt.Sub(world.Start).Round(time.Second))
			found = append(found, audit.Violation{Rule: "D5", At: w.Clock.Now(), Object: m.ID, Text: text})
		}
	}
	return found
}
