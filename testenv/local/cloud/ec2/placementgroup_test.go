package ec2_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// placed makes a launch template launch into a group, into a partition of it unless that is 0.
func placed(id string, partition int32) func(*types.RequestLaunchTemplateData) {
	return func(d *types.RequestLaunchTemplateData) {
		d.Placement = &types.LaunchTemplatePlacementRequest{GroupId: &id}
		if partition != 0 {
			d.Placement.PartitionNumber = &partition
		}
	}
}

func TestSpreadGroupTakesSevenInstancesAZone(t *testing.T) {
	b := newBench(t)
	id := b.AddPlacementGroup(ec2.PlacementGroup{Name: "apart", Strategy: ec2.PlaceSpread})
	b.template(t, "nodes", placed(id, 0))
	out := b.fleet(t, fleetOf(9, od, b.over("m5.large", "a")))
	ids := launchedIDs(out)
	if len(ids) != 7 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InsufficientInstanceCapacity" || !strings.Contains(*out.Errors[0].ErrorMessage, "spread placement group") {
		t.Fatalf("launched %v, errors %+v", ids, out.Errors)
	}
	if out := b.fleet(t, fleetOf(1, od, b.over("c5.large", "a"))); len(launchedIDs(out)) != 0 {
		t.Errorf("another type in the same zone: launched %v", got(out))
	}
	if out := b.fleet(t, fleetOf(2, od, b.over("c5.large", "b"))); len(launchedIDs(out)) != 2 {
		t.Errorf("another zone: launched %v, errors %+v", got(out), out.Errors)
	}
	b.clock.Advance(time.Minute)
	if _, err := b.sdk.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: ids[:1]}); err != nil {
		t.Fatal(err)
	}
	if out := b.fleet(t, fleetOf(1, od, b.over("m5.large", "a"))); len(launchedIDs(out)) != 1 {
		t.Errorf("once one has gone: launched %v, errors %+v", got(out), out.Errors)
	}
}

func TestClusterGroupStaysInOneZone(t *testing.T) {
	b := newBench(t)
	id := b.AddPlacementGroup(ec2.PlacementGroup{Name: "near", Strategy: ec2.PlaceCluster})
	b.template(t, "nodes", placed(id, 0))
	b.SetCapacity(ec2.Pool{Type: "m5.large", Zone: "us-west-2a", CapacityType: ec2.OnDemand}, 1)
	// The second could be had in zone b only, where the group is not.
	out := b.fleet(t, fleetOf(2, od, b.over("m5.large", "a"), b.over("m5.large", "b")))
	if len(launchedIDs(out)) != 1 || len(out.Errors) != 2 {
		t.Errorf("launched %v, errors %+v", got(out), out.Errors)
	}
	out = b.fleet(t, fleetOf(1, od, b.over("c5.large", "b")))
	if len(launchedIDs(out)) != 0 || *out.Errors[0].ErrorCode != "InsufficientInstanceCapacity" {
		t.Errorf("later, in another zone: launched %v, errors %+v", got(out), out.Errors)
	}
	out = b.fleet(t, fleetOf(1, od, b.over("t3.micro", "a")))
	if len(launchedIDs(out)) != 0 || *out.Errors[0].ErrorCode != "InvalidParameterCombination" {
		t.Errorf("a type that cannot be near others: launched %v, errors %+v", got(out), out.Errors)
	}
}

func TestPartitionGroupFillsItsPartitionsEvenlyUnlessOneIsNamed(t *testing.T) {
	b := newBench(t)
	id := b.AddPlacementGroup(ec2.PlacementGroup{Name: "parts", Strategy: ec2.PlacePartition, Partitions: 3})
	b.template(t, "nodes", placed(id, 0))
	b.template(t, "second", placed(id, 2))
	b.template(t, "fourth", placed(id, 4))
	b.fleet(t, fleetOf(4, od, b.over("m5.large", "a")))
	in := fleetOf(2, spot, b.over("m5.large", "b"))
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("second")
	b.fleet(t, in)
	count := map[int]int{}
	for _, i := range b.Instances() {
		count[i.Partition]++
	}
	if count[1] != 2 || count[2] != 3 || count[3] != 1 {
		t.Errorf("partitions %v, want 2, 3 and 1", count)
	}
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("fourth")
	in.ClientToken = nil // the SDK has filled it in
	if out := b.fleet(t, in); len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InvalidParameterValue" {
		t.Errorf("a partition there is not: %+v", out.Errors)
	}
	b.clock.Advance(time.Minute)
	for _, i := range b.describe(t, by("placement-partition-number", "3")) {
		if p := i.Placement; *p.GroupId != id || *p.GroupName != "parts" || *p.PartitionNumber != 3 {
			t.Errorf("placement %+v", p)
		}
	}
	if n := len(b.describe(t, by("placement-group-name", "parts"))); n != 6 {
		t.Errorf("%d instances in the group, want 6", n)
	}
}

func TestPlacementIsRefused(t *testing.T) {
	place := func(p types.LaunchTemplatePlacementRequest) func(*types.RequestLaunchTemplateData) {
		return func(d *types.RequestLaunchTemplateData) { d.Placement = &p }
	}
	for name, tt := range map[string]struct {
		placement types.LaunchTemplatePlacementRequest
		code      string
	}{
		"unknown id":            {types.LaunchTemplatePlacementRequest{GroupId: aws.String("pg-00000000000000000")}, "InvalidPlacementGroup.Unknown"},
		"unknown name":          {types.LaunchTemplatePlacementRequest{GroupName: aws.String("nowhere")}, "InvalidPlacementGroup.Unknown"},
		"name and id":           {types.LaunchTemplatePlacementRequest{GroupName: aws.String("apart"), GroupId: aws.String("pg-1")}, "InvalidParameterCombination"},
		"partition of no group": {types.LaunchTemplatePlacementRequest{PartitionNumber: aws.Int32(1)}, "InvalidParameterCombination"},
		"partition of a spread": {types.LaunchTemplatePlacementRequest{GroupName: aws.String("apart"), PartitionNumber: aws.Int32(1)}, "InvalidParameterCombination"},
		"dedicated and spread":  {types.LaunchTemplatePlacementRequest{GroupName: aws.String("apart"), Tenancy: types.TenancyDedicated}, "InvalidParameterCombination"},
		"a host of one's own":   {types.LaunchTemplatePlacementRequest{Tenancy: types.TenancyHost}, "UnsupportedOperation"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.AddPlacementGroup(ec2.PlacementGroup{Name: "apart", Strategy: ec2.PlaceSpread})
			b.template(t, "nodes", place(tt.placement))
			out := b.fleet(t, fleetOf(1, od, b.over("m5.large", "a")))
			if len(launchedIDs(out)) != 0 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != tt.code {
				t.Errorf("launched %v, errors %+v, want %s", got(out), out.Errors, tt.code)
			}
		})
	}
}

func TestPlacementGroupsAreMadeFoundAndDeletedOverTheWire(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	made, err := b.sdk.CreatePlacementGroup(ctx, &sdk.CreatePlacementGroupInput{GroupName: aws.String("parts"), Strategy: types.PlacementStrategyPartition, PartitionCount: aws.Int32(5)})
	if err != nil {
		t.Fatal(err)
	}
	id := *made.PlacementGroup.GroupId
	b.AddPlacementGroup(ec2.PlacementGroup{Name: "apart", Strategy: ec2.PlaceSpread})
	out, err := b.sdk.DescribePlacementGroups(ctx, &sdk.DescribePlacementGroupsInput{GroupIds: []string{id}, Filters: []types.Filter{by("state", "available")}})
	if err != nil || len(out.PlacementGroups) != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	if g := out.PlacementGroups[0]; *g.GroupName != "parts" || *g.PartitionCount != 5 || g.Strategy != "partition" || g.State != "available" {
		t.Errorf("group %+v", g)
	}
	out, err = b.sdk.DescribePlacementGroups(ctx, &sdk.DescribePlacementGroupsInput{GroupNames: []string{"apart"}})
	if err != nil || len(out.PlacementGroups) != 1 || out.PlacementGroups[0].SpreadLevel != "rack" {
		t.Errorf("by name: %+v %v", out, err)
	}
	_, err = b.sdk.DescribePlacementGroups(ctx, &sdk.DescribePlacementGroupsInput{GroupNames: []string{"nowhere"}})
	wantCode(t, "an unknown group", err, "InvalidPlacementGroup.Unknown")
	_, err = b.sdk.CreatePlacementGroup(ctx, &sdk.CreatePlacementGroupInput{GroupName: aws.String("parts"), Strategy: types.PlacementStrategyCluster})
	wantCode(t, "a name taken", err, "InvalidPlacementGroup.Duplicate")
	b.template(t, "nodes", placed(id, 0))
	b.launchOne(t)
	_, err = b.sdk.DeletePlacementGroup(ctx, &sdk.DeletePlacementGroupInput{GroupName: aws.String("parts")})
	wantCode(t, "a group in use", err, "InvalidPlacementGroup.InUse")
	if _, err = b.sdk.DeletePlacementGroup(ctx, &sdk.DeletePlacementGroupInput{GroupName: aws.String("apart")}); err != nil {
		t.Error(err)
	}
}
