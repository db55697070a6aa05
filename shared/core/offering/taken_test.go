package offering

import (
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestLA07TakenCountsWhatWasLaunchedSinceTheStatusWasResolved(t *testing.T) {
	status := model.ClassStatus{ResolvedUnix: 100, Subnets: []model.Subnet{{ID: "s-1", FreeAddresses: 100}, {ID: "s-2", FreeAddresses: 10}},
		Reservations: []model.Reservation{{ID: "cr-1", Free: 2}, {ID: "cr-2", Free: 5}}}
	instance := func(launched int64, subnet, reservation string, pods int64) model.Claim {
		return model.Claim{State: model.Launched, InstanceID: "i", LaunchedUnix: launched, SubnetID: subnet, Reservation: reservation, Capacity: model.Resources{model.Pods: pods}}
	}
	ended := instance(150, "s-1", "cr-1", 29)
	ended.State = model.Gone
	unknown := instance(150, "s-1", "", 29)
	unknown.InstanceID, unknown.State = "", model.Intended
	taken := Taken(&status, []model.Claim{
		instance(99, "s-1", "cr-1", 29), instance(100, "s-1", "cr-1", 29), instance(101, "s-1", "", 58), instance(102, "s-2", "cr-2", 0), ended, unknown,
	})
	if want := map[string]int64{"s-1": 87, "s-2": 1, "cr-1": 1, "cr-2": 1}; !reflect.DeepEqual(taken, want) {
		t.Errorf("taken %v, want %v", taken, want)
	}
	taken["s-2"] = 50
	less := Less(status, taken, nil, 200)
	if got := []int64{less.Subnets[0].FreeAddresses, less.Subnets[1].FreeAddresses, less.Reservations[0].Free, less.Reservations[1].Free}; !reflect.DeepEqual(got, []int64{13, 0, 1, 4}) {
		t.Errorf("left %v", got)
	}
	if status.Subnets[0].FreeAddresses != 100 || status.Reservations[0].Free != 2 {
		t.Error("what was given has changed")
	}
}

func TestIC05ReservationThatGaveNothingIsEmptyUntilItIsLookedAtAgain(t *testing.T) {
	unavailable := model.UnavailableOffering{Reservation: "cr-1", AtUnix: 150, UntilUnix: 400}
	tests := []struct {
		name          string
		resolved, now int64
		want          int64
	}{
		{"failed since", 100, 200, 0},
		{"resolved since", 151, 200, 3},
		{"its time is over", 100, 400, 3},
	}
	for _, test := range tests {
		status := model.ClassStatus{ResolvedUnix: test.resolved, Reservations: []model.Reservation{{ID: "cr-1", Free: 3}, {ID: "cr-2", Free: 7}}}
		less := Less(status, nil, []model.UnavailableOffering{unavailable}, test.now)
		if less.Reservations[0].Free != test.want || less.Reservations[1].Free != 7 {
			t.Errorf("%s: %+v", test.name, less.Reservations)
		}
	}
}

func TestIC04UnavailabilityWithinAPlacementGroupConcernsNoOther(t *testing.T) {
	unavailableOfferings := []model.UnavailableOffering{{OfferingKey: model.OfferingKey{InstanceType: "m5.large"}}, {OfferingKey: model.OfferingKey{InstanceType: "c5.large"}, PlacementGroup: "pg-1"}}
	for group, want := range map[string]int{"": 1, "pg-1": 2, "pg-2": 1} {
		status := model.ClassStatus{}
		if group != "" {
			status.PlacementGroup = &model.PlacementGroup{ID: group}
		}
		if got := UnavailableForClass(unavailableOfferings, &status); len(got) != want || got[0].InstanceType != "m5.large" {
			t.Errorf("class in group %q: %+v", group, got)
		}
	}
}

func TestLA16OnlyWhatTheClaimForcesIsAskedFor(t *testing.T) {
	tests := []struct {
		name         string
		requirements []model.Requirement
		requests     model.Resources
		want         LaunchConstraints
	}{
		{"nothing", nil, nil, LaunchConstraints{}},
		{"either tenancy", []model.Requirement{in(model.LabelTenancy, "default", "dedicated")}, nil, LaunchConstraints{}},
		{"dedicated", []model.Requirement{in(model.LabelTenancy, "dedicated")}, nil, LaunchConstraints{Dedicated: true}},
		{"not default", []model.Requirement{{Key: model.LabelTenancy, Operator: model.NotIn, Values: []string{"default"}}}, nil, LaunchConstraints{Dedicated: true}},
		{"no tenancy there is", []model.Requirement{in(model.LabelTenancy, "host")}, nil, LaunchConstraints{}},
		{"enclaves", []model.Requirement{in(model.LabelNitroSandbox, "true")}, nil, LaunchConstraints{Enclaves: true}},
		{"enclaves as a resource", nil, model.Resources{model.LabelNitroSandbox: 1}, LaunchConstraints{Enclaves: true}},
		{"with or without enclaves", []model.Requirement{in(model.LabelNitroSandbox, "true", "false")}, nil, LaunchConstraints{}},
		{"partition by number, not by text", []model.Requirement{in(model.LabelPartition, "10", "2")}, nil, LaunchConstraints{Partition: 2}},
		{"another partition", []model.Requirement{{Key: model.LabelPartition, Operator: model.NotIn, Values: []string{"1", "2"}}}, nil, LaunchConstraints{Partition: 3}},
		{"any partition", []model.Requirement{{Key: model.LabelPartition, Operator: model.Exists}}, nil, LaunchConstraints{}},
	}
	for _, test := range tests {
		if got := LaunchConstraintsOf(test.requirements, test.requests, 12); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
