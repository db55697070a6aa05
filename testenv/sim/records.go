package sim

import (
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// unrecorded is D5: of each instance we launched for the cluster that ended some minutes ago there is a record that says why. Of instances
// that others made for it there is none, and need be none of those whose claim somebody deleted from the ledger, or
// whose launch was settled too late, as EC2 shows what ended for an hour.
func unrecorded(w *world.World) (found []audit.Violation) {
	known := map[string]bool{}
	settled := map[string]time.Time{} // by launch
	for _, entry := range w.Log.Since(0) {
		switch fact := entry.Fact.(type) {
		case world.LedgerMeddled:
			if fact.Claim == nil {
				continue
			}
			m, there := w.Fleet.Instance(fact.Claim.InstanceID)
			if there && m.Terminated && w.Clock.Now().Sub(m.EndedAt) >= audit.DefaultRules.Listed {
				known[m.ID] = true
			}
		case world.LedgerWritten:
			if fact.Op != "settle" {
				continue
			}
			for i := range fact.Intents {
				settled[fact.Intents[i].ID] = entry.At
			}
		}
	}
	for _, m := range w.Fleet.Instances() {
		at, ok := settled[m.Tags["joiner.sh/intent"]]
		known[m.ID] = known[m.ID] || ok && m.Terminated && at.Sub(m.EndedAt) >= audit.DefaultRules.Listed
	}
	for _, r := range w.Store.Removals() {
		known[r.Claim.InstanceID] = known[r.Claim.InstanceID] || r.Reason != "" && r.By != "" && r.Message != ""
	}
	for _, m := range w.Fleet.Instances() {
		if m.Terminated && m.OwnedBy(world.Name) && !known[m.ID] && w.Clock.Now().Sub(m.EndedAt) >= 3*time.Minute { // else its claim may be yet to be closed
			text := fmt.Sprintf("it ended at %s and no record says why", m.EndedAt.Sub(world.Start).Round(time.Second))
			found = append(found, audit.Violation{Rule: "D5", At: w.Clock.Now(), Object: m.ID, Text: text})
		}
	}
	return found
}
