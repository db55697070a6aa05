package referee

import "testing"

// TestA62LaunchesAreKarpentersFieldByField: launch templates, fleets, dry runs and user data of every scenario beside Karpenter's own.
func TestA62LaunchesAreKarpentersFieldByField(t *testing.T) {
	var found []Difference
	for _, scenario := range Scenarios(t, "") {
		t.Run(scenario.Name, func(t *testing.T) {
			s := Open(t, few...)
			scenario := s.Scenario(scenario.Name)
			k := s.Karpenter(scenario)
			k.Try()
			k.Create(scenario)
			s.Apply(scenario)
			if out := s.Try(); len(out.NotReady)+len(out.Problems) > 0 {
				t.Fatalf("classes: %+v", out)
			}
			if out := s.Provision(scenario); out.Claims != 1 || out.Failed > 0 || len(out.Problems) > 0 {
				t.Fatalf("provisioning: %+v", out)
			}
			theirs := LaunchOf(s, Exchange.Theirs)
			ours := LaunchOf(s, func(e Exchange) bool { return !e.Theirs() })
			found = append(found, CompareLaunches(scenario.Name, theirs, ours)...)
		})
	}
	Judge(t, "launch", found)
}
