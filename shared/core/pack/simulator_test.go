package pack

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A simulator's plans are those made from nothing, whatever was planned at it before, and whichever claims have come
// since.
func TestSimulatorPlansWhatIsPlannedFromNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRules(t)
		in := w.in
		simulator := NewSimulator(in)
		all := Pending(in.Snapshot)
		for part := 1; part <= 3; part++ {
			in.Pending = append([]int{}, all[:len(all)*part/3]...)
			plan := Plan(in)
			if got, want := encoded(t, simulator.Plan(in, 0)), encoded(t, plan); got != want {
				t.Fatalf("%d of %d pods: at the desk\n%s\nfrom nothing\n%s", len(in.Pending), len(all), got, want)
			}
			for i := range plan.Claims {
				in.Claims = append(slices.Clip(in.Claims), asLedger(plan.Claims[i]))
			}
		}
	})
}

// Nor does it matter which nodes were there before, which pods were elsewhere, and which index a pod had.
func TestSimulatorPlansWhatIsPlannedFromNothingWhileNodesAndPodsChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRules(t)
		in := w.in
		simulator := NewSimulator(in)
		nodes := in.Snapshot.Nodes
		for range rapid.IntRange(2, 6).Draw(t, "plans") {
			snapshot := *in.Snapshot
			snapshot.Nodes, snapshot.Pods = nil, slices.Clone(snapshot.Pods)
			for i := range nodes {
				if rapid.IntRange(0, 3).Draw(t, "there") > 0 {
					snapshot.Nodes = append(snapshot.Nodes, nodes[i])
				}
			}
			for i := range snapshot.Pods {
				switch pod := &snapshot.Pods[i]; rapid.IntRange(0, 9).Draw(t, "pod") {
				case 0:
					pod.NodeName = ""
				case 1:
					if len(nodes) > 0 {
						pod.NodeName = nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "node")].Name
					}
				case 2: // as where the lists of two plans are of some pods each
					other := rapid.IntRange(0, len(snapshot.Pods)-1).Draw(t, "other")
					snapshot.Pods[i], snapshot.Pods[other] = snapshot.Pods[other], snapshot.Pods[i]
				}
			}
			in.Snapshot, in.Pending, in.Churning = &snapshot, []int{}, map[string]bool{}
			for i := range snapshot.Pods {
				if rapid.IntRange(0, 2).Draw(t, "waits") == 0 && !snapshot.Pods[i].Terminal() {
					in.Pending = append(in.Pending, i)
				}
			}
			in.Settled = in.Pending[:len(in.Pending)/2]
			for i := range snapshot.Nodes {
				if rapid.IntRange(0, 4).Draw(t, "restless") == 0 {
					in.Churning[snapshot.Nodes[i].Name] = true
				}
			}
			plan := Plan(in)
			if got, want := encoded(t, simulator.Plan(in, 0)), encoded(t, plan); got != want {
				t.Fatalf("%d nodes, %d pods to place: at the desk\n%s\nfrom nothing\n%s", len(snapshot.Nodes), len(in.Pending), got, want)
			}
			if len(plan.Claims) > 0 {
				in.Claims = append(slices.Clip(in.Claims), asLedger(plan.Claims[0]))
			}
		}
	})
}

// What pods are worth is a bound on what any plan for them costs.
func TestRatesAreBelowWhatPlansCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawWorld(t).in
		in.Snapshot.Nodes, in.Claims, in.IgnorePreferences = nil, nil, true
		simulator := NewSimulator(in)
		for i := range simulator.pools {
			if p := simulator.pools[i]; p.Skip == nil && p.Reserving {
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
		rates := simulator.NewRates(in)
		for _, claim := range plan.Claims {
			for _, ref := range claim.Pods {
				if value, known := rates.Pod(pods[ref.Key()]); !known || value <= 0 {
					t.Fatalf("pod %s is planned and worth %v, %v", ref.Key(), value, known)
				}
			}
		}
	})
}
