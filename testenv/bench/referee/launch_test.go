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
	Evaluate(t, "launch", found)
}

// TestA62DefaultsAreKarpenters: what an API server fills in of a class and a pool by our definitions and by Karpenter's.
func TestA62DefaultsAreKarpenters(t *testing.T) {
	ours, theirs := OurSchemas(t), TheirSchemas(t)
	filled := 0
	for _, scenario := range Scenarios(t, "nodes") {
		for _, object := range []map[string]any{scenario.Class, scenario.Pool} {
			written, got, want := flattenAny(object), flattenAny(Defaulted(ours, object).Object), flattenAny(Defaulted(theirs, object).Object)
			filled += len(want) - len(written)
			for _, d := range Compare(scenario.Name, want, got) {
				t.Errorf("%s: %s", d.Where, d.What)
			}
		}
	}
	if filled == 0 {
		t.Error("no default was filled in")
	}
}
