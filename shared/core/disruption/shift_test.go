package disruption

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// CT-07, M77: while a zonal shift is in force no node of its zone is disrupted voluntarily, not even an empty one; once
// it is over it may be.
func TestCT07NodesOfAShiftedZoneStay(t *testing.T) {
	for name, c := range map[string]struct {
		zone  string
		until int64
		kept  bool
	}{
		"in force":        {"usw2-az1", testNow + 600, true},
		"over":            {"usw2-az1", testNow, false},
		"of another zone": {"usw2-az2", testNow + 600, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld().pool("general", after(300)).node("n", "general")
			labels := map[string]string{model.LabelZoneID: "usw2-az1"}
			for key, value := range w.in.Snapshot.Nodes[0].Labels {
				labels[key] = value
			}
			w.in.Snapshot.Nodes[0].Labels = labels
			w.in.UnavailableOfferings = []model.UnavailableOffering{{ZoneID: c.zone, UntilUnix: c.until,
				Reason: model.ReasonZonalShift}}
			if !c.kept {
				wantCandidate(t, w, "n", model.ReasonEmpty)
				return
			}
			wantKept(t, w, "n", ZoneShifted)
			if plan := Plan(w.in); len(plan.Commands) != 0 || plan.ReplanUnix != c.until {
				t.Errorf("%d commands; to be looked at again at now+%d", len(plan.Commands), plan.ReplanUnix-testNow)
			}
		})
	}
}
