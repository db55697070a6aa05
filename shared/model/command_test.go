package model

import "testing"

// What is kept of a command that has ended is small, whatever its replacements could have been; the command itself is not changed.
func TestOverKeepsWhatTellsReplacementsApart(t *testing.T) {
	command := Command{ID: "c", Replacements: []PlannedClaim{{
		Name: "r", Pool: "p", Class: "k", InstanceTypes: []string{"a", "b"}, Offering: OfferingKey{InstanceType: "a"}, Price: 5, Zones: []string{"z"},
		CapacityTypes: []string{Spot}, Requirements: []Requirement{{Key: "x"}}, Pods: []PodRef{{Name: "p"}}, Reserve: Resources{Nodes: 1},
	}}}
	r := command.Over().Replacements[0]
	if r.Name != "r" || r.Pool != "p" || r.Class != "k" || r.Offering.InstanceType != "a" || r.Price != 5 || len(r.Zones) != 1 || len(r.CapacityTypes) != 1 {
		t.Errorf("kept %+v", r)
	}
	if r.InstanceTypes != nil || r.Requirements != nil || r.Pods != nil || r.Reserve != nil {
		t.Errorf("kept too much: %+v", r)
	}
	if len(command.Replacements[0].InstanceTypes) != 2 {
		t.Errorf("the command was changed: %+v", command)
	}
}
