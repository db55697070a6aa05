package pack

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A desk's plans are those made from nothing, whatever was planned at it before, and whichever claims have come since.
func TestDeskPlansWhatIsPlannedFromNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRules(t)
		in := w.in
		desk := NewDesk(in)
		all := Pending(in.Snapshot)
		for part := 1; part <= 3; part++ {
			in.Pending = append([]int{}, all[:len(all)*part/3]...)
			plan := Plan(in)
			if got, want := encoded(t, desk.Plan(in, 0)), encoded(t, plan); got != want {
				t.Fatalf("%d of %d pods: at the desk\n%s\nfrom nothing\n%s", len(in.Pending), len(all), got, want)
			}
			for i := range plan.Claims {
				in.Claims = append(slices.Clip(in.Claims), asLedger(plan.Claims[i]))
			}
		}
	})
}

// What pods are worth is a bound on what any plan for them costs.
func TestRatesAreBelowWhatPlansCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawWorld(t).in
		in.Snapshot.Nodes, in.Claims, in.IgnorePreferences = nil, nil, true
		desk := NewDesk(in)
		for i := range desk.pools {
			if p := desk.pools[i]; p.skip == nil && p.reserving {
				t.Skip("what is reserved has no price")
			}
		}
		plan := Plan(in)
		pods := make(map[string]int)
		for i := range in.Snapshot.Pods {
			pods[in.Snapshot.Pods[i].Key()] = i
		}
		in.Pending = []int{}
		for _, claim := range plan.Claims {
			for _, ref := range claim.Pods {
				in.Pending = append(in.Pending, pods[ref.Key()])
			}
		}
		rates := desk.NewRates(in)
		for _, claim := range plan.Claims {
			for _, ref := range claim.Pods {
				if worth, known := rates.Pod(pods[ref.Key()]); !known || worth <= 0 {
					t.Fatalf("pod %s is planned and worth %v, %v", ref.Key(), worth, known)
				}
			}
		}
	})
}
