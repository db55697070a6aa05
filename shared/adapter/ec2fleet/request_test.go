package ec2fleet

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// asked returns what CreateFleet is given of a launch, by way of the stored bytes.
func (r *region) asked(t *testing.T, launch model.Launch) *ec2.CreateFleetInput {
	t.Helper()
	stored, err := decodeRequest(r.request(t, launch))
	if err != nil {
		t.Fatal(err)
	}
	return stored.input()
}

func TestLA06EveryKindOfCapacityIsBoughtItsOwnWay(t *testing.T) {
	r := start(t)
	tests := []struct {
		name, capacityType string
		template           model.LaunchTemplate
		prioritized        bool
		target             types.DefaultTargetCapacityType
		spot, onDemand     string
		reserved           []types.FleetReservationType
		version            int
	}{
		{"spot", model.Spot, model.LaunchTemplate{}, false, "spot", "price-capacity-optimized", "", nil, 1},
		{"on demand", model.OnDemand, model.LaunchTemplate{}, false, "on-demand", "", "lowest-price", nil, 1},
		{"plain reservation", model.Reserved, model.LaunchTemplate{Reservation: "cr-1"}, false, "on-demand", "",
			"lowest-price", nil, 2},
		{"block", model.Reserved, model.LaunchTemplate{Reservation: "cr-1", Block: true}, false, "capacity-block", "",
			"", nil, 2},
		{"interruptible", model.Reserved, model.LaunchTemplate{Reservation: "cr-1", Interruptible: true}, false,
			"reserved-capacity", "", "",
			[]types.FleetReservationType{types.FleetReservationTypeInterruptibleCapacityReservation}, 2},
		{"F092 spot at prices of overlays", model.Spot, model.LaunchTemplate{}, true, "spot",
			"capacity-optimized-prioritized", "", nil, 3},
		{"F092 on demand at prices of overlays", model.OnDemand, model.LaunchTemplate{}, true, "on-demand", "",
			"prioritized", nil, 3},
		{"F092 plain reservation at prices of overlays", model.Reserved, model.LaunchTemplate{Reservation: "cr-1"},
			true, "on-demand", "", "prioritized", nil, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			launch := r.launch(t, "01A", test.capacityType, "a", "b")
			launch.Prioritized = test.prioritized
			launch.Templates[0].Reservation, launch.Templates[0].Block, launch.Templates[0].Interruptible = test.template.Reservation, test.template.Block, test.template.Interruptible
			in := r.asked(t, launch)
			spot, onDemand := "", ""
			var reserved []types.FleetReservationType
			if in.SpotOptions != nil {
				spot = string(in.SpotOptions.AllocationStrategy)
			}
			if in.OnDemandOptions != nil {
				onDemand = string(in.OnDemandOptions.AllocationStrategy)
			}
			if in.ReservedCapacityOptions != nil {
				reserved = in.ReservedCapacityOptions.ReservationTypes
			}
			if in.TargetCapacitySpecification.DefaultTargetCapacityType != test.target || spot != test.spot || onDemand != test.onDemand ||
				len(reserved) != len(test.reserved) || len(reserved) == 1 && reserved[0] != test.reserved[0] {
				t.Errorf("target %s, spot %q, on demand %q, reserved %v", in.TargetCapacitySpecification.DefaultTargetCapacityType, spot, onDemand, reserved)
			}
			if aws.ToInt32(in.TargetCapacitySpecification.TotalTargetCapacity) != 2 || in.Type != types.FleetTypeInstant || aws.ToString(in.ClientToken) != "token-01A" {
				t.Errorf("%+v", in)
			}
			stored, _ := decodeRequest(r.request(t, launch))
			if stored.Version != test.version {
				t.Errorf("version %d, want %d: a build that knows less would launch something else", stored.Version, test.version)
			}
		})
	}
}

func TestLA16ContextIsHandedOn(t *testing.T) {
	r := start(t)
	launch := r.launch(t, "01A", model.Spot, "a")
	if in := r.asked(t, launch); in.Context != nil {
		t.Errorf("context %q without one", *in.Context)
	}
	launch.Context = "ctx-1"
	if in := r.asked(t, launch); aws.ToString(in.Context) != "ctx-1" {
		t.Errorf("context %q", aws.ToString(in.Context))
	}
}

func TestOverridesCarrySubnetZoneAndPrice(t *testing.T) {
	r := start(t)
	in := r.asked(t, r.launch(t, "01A", model.OnDemand, "a"))
	config := in.LaunchTemplateConfigs[0]
	if len(in.LaunchTemplateConfigs) != 1 || aws.ToString(config.LaunchTemplateSpecification.Version) != "$Latest" || len(config.Overrides) != 2 {
		t.Fatalf("%+v", config)
	}
	if o := config.Overrides[1]; o.InstanceType != "c5.large" || aws.ToString(o.AvailabilityZone) != "us-west-2a" || aws.ToString(o.SubnetId) == "" || aws.ToFloat64(o.Priority) != 0.085 {
		t.Errorf("%+v", o)
	}
	var resources []string
	for _, s := range in.TagSpecifications {
		resources = append(resources, string(s.ResourceType))
	}
	if strings.Join(resources, " ") != "instance volume fleet" {
		t.Errorf("tags go to %v", resources)
	}
}

func TestLA05WhatOneFleetCannotBuyIsRefused(t *testing.T) {
	r := start(t)
	override := func(zone string) []model.Override {
		return []model.Override{{InstanceType: "m5.large", Zone: zone, SubnetID: r.subnet(t, zone)}}
	}
	reserved := func(id, zone string) model.LaunchTemplate {
		return model.LaunchTemplate{ImageID: "ami-1", Reservation: id, Overrides: override(zone)}
	}
	kind := func(t model.LaunchTemplate, block, interruptible bool) model.LaunchTemplate {
		t.Block, t.Interruptible = block, interruptible
		return t
	}
	tests := []struct {
		name, capacityType string
		templates          []model.LaunchTemplate
		want               string
	}{
		{"one type and zone twice", model.OnDemand, []model.LaunchTemplate{{ImageID: "ami-1", Overrides: override("us-west-2a")}, {ImageID: "ami-2", Overrides: override("us-west-2a")}}, "m5.large in us-west-2a is named twice"},
		{"reserved without reservation", model.Reserved, []model.LaunchTemplate{{ImageID: "ami-1", Overrides: override("us-west-2a")}}, "reservation \"\""},
		{"reservation on demand", model.OnDemand, []model.LaunchTemplate{reserved("cr-1", "us-west-2a")}, "reservation \"cr-1\""},
		{"two kinds", model.Reserved, []model.LaunchTemplate{reserved("cr-1", "us-west-2a"), kind(reserved("cr-2", "us-west-2b"), false, true)}, "several kinds"},
		{"two blocks", model.Reserved, []model.LaunchTemplate{kind(reserved("cr-1", "us-west-2a"), true, false), kind(reserved("cr-2", "us-west-2b"), true, false)}, "a fleet takes one"},
		{"two plain ones", model.Reserved, []model.LaunchTemplate{reserved("cr-1", "us-west-2a"), reserved("cr-2", "us-west-2b")}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			launch := r.launch(t, "01A", test.capacityType, "a")
			launch.Templates = test.templates
			_, err := r.fleet.PrepareRequest(t.Context(), launch)
			if test.want == "" && err != nil || test.want != "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// The answer says neither what an instance boots nor which reservation it is in: both are the template's.
func TestAnswerNamesTheReservation(t *testing.T) {
	r := request{CapacityType: model.Reserved, Templates: []template{
		{ImageID: "ami-1", Reservation: "cr-1", Overrides: []override{{InstanceType: "m5.large", Zone: "a", SubnetID: "s-a"}}},
		{ImageID: "ami-2", Reservation: "cr-2", Overrides: []override{{InstanceType: "m5.large", Zone: "b", SubnetID: "s-b"}}},
	}}
	got := r.result(&ec2.CreateFleetOutput{Instances: []types.CreateFleetInstance{{
		InstanceIds: []string{"i-1"}, InstanceType: "m5.large",
		LaunchTemplateAndOverrides: &types.LaunchTemplateAndOverridesResponse{Overrides: &types.FleetLaunchTemplateOverrides{SubnetId: aws.String("s-b")}},
	}}})
	if i := got.Instances[0]; i.Reservation != "cr-2" || i.ImageID != "ami-2" || i.CapacityType != model.Reserved || i.Zone != "b" {
		t.Errorf("%+v", i)
	}
}

func TestDescribedInstanceTellsHowItWasBoughtAndPlaced(t *testing.T) {
	only := &types.CapacityReservationSpecificationResponse{CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly}
	open := &types.CapacityReservationSpecificationResponse{CapacityReservationPreference: types.CapacityReservationPreferenceOpen}
	for name, test := range map[string]struct {
		in   types.Instance
		want string
	}{
		"on demand":           {types.Instance{}, model.OnDemand},
		"spot":                {types.Instance{SpotInstanceRequestId: aws.String("sir-1")}, model.Spot},
		"reserved":            {types.Instance{CapacityReservationId: aws.String("cr-1"), CapacityReservationSpecification: only}, model.Reserved},
		"by chance":           {types.Instance{CapacityReservationId: aws.String("cr-1"), CapacityReservationSpecification: open}, model.OnDemand},
		"reservation expired": {types.Instance{CapacityReservationSpecification: only}, model.OnDemand},
	} {
		if got := instanceOf(&test.in); got.CapacityType != test.want || got.Reservation != aws.ToString(test.in.CapacityReservationId) {
			t.Errorf("%s: %+v, want %s", name, got, test.want)
		}
	}
	group := func(id string) types.GroupIdentifier { return types.GroupIdentifier{GroupId: aws.String(id)} }
	got := instanceOf(&types.Instance{
		Placement:          &types.Placement{AvailabilityZone: aws.String("a"), GroupId: aws.String("pg-1"), PartitionNumber: aws.Int32(3)},
		IamInstanceProfile: &types.IamInstanceProfile{Arn: aws.String("arn:aws:iam::1:instance-profile/karpenter/us-west-2/web/nodes")},
		SecurityGroups:     []types.GroupIdentifier{group("sg-9")},
		NetworkInterfaces: []types.InstanceNetworkInterface{
			{Attachment: &types.InstanceNetworkInterfaceAttachment{DeviceIndex: aws.Int32(1), NetworkCardIndex: aws.Int32(1)}, Groups: []types.GroupIdentifier{group("sg-3")}},
			{Attachment: &types.InstanceNetworkInterfaceAttachment{DeviceIndex: aws.Int32(0)}, Groups: []types.GroupIdentifier{group("sg-2"), group("sg-1")}},
		},
	})
	if got.PlacementGroup != "pg-1" || got.Partition != 3 || got.Profile != "nodes" || strings.Join(got.SecurityGroups, " ") != "sg-1 sg-2" {
		t.Errorf("%+v", got)
	}
}
