package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// runOver launches from a template that tags instances template=yes, with a request that tags them request=yes and says of the
// metadata options and the interface a part only.
func (b bench) runOver(t *testing.T) types.Instance {
	t.Helper()
	tag := func(key string) []types.Tag { return []types.Tag{{Key: &key, Value: aws.String("yes")}} }
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
		d.TagSpecifications = []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeInstance, Tags: tag("template")}}
		d.MetadataOptions = &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpPutResponseHopLimit: aws.Int32(3)}
		d.NetworkInterfaces = []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0), Groups: d.SecurityGroupIds}}
		d.SecurityGroupIds = nil
	})
	_, err := b.sdk.RunInstances(t.Context(), &sdk.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large",
		LaunchTemplate:    &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("nodes")},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: tag("request")}},
		MetadataOptions:   &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired},
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: aws.String(b.subnetIn("b"))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	found := b.describe(t)
	if len(found) != 1 || *found[0].SubnetId != b.subnetIn("b") || found[0].MetadataOptions.HttpTokens != types.HttpTokensStateRequired {
		t.Fatalf("launched %+v", found)
	}
	return found[0]
}

func TestRunInstancesTakesTheTemplatesTagsToItsOwnOrNot(t *testing.T) {
	for reads, want := range map[*reading.Set]int{reading.Strict(reading.RunInstancesTags): 0, reading.Other(reading.RunInstancesTags): 1} {
		tags := 0
		for _, tag := range readAs(t, reads.Without(delays...)).runOver(t).Tags {
			if *tag.Key == "template" {
				tags++
			}
		}
		if tags != want {
			t.Errorf("%q: %d tags of the template, want %d", reads, tags, want)
		}
	}
}

func TestRunInstancesReplacesParametersOrJoinsThem(t *testing.T) {
	for reads, want := range map[*reading.Set]struct {
		hops   int32
		groups int
	}{reading.Strict(reading.RunInstancesParameters): {2, 0}, reading.Other(reading.RunInstancesParameters): {3, 1}} {
		i := readAs(t, reads.Without(delays...)).runOver(t)
		if *i.MetadataOptions.HttpPutResponseHopLimit != want.hops || len(i.SecurityGroups) != want.groups {
			t.Errorf("%q: hop limit %d and groups %v, want %+v", reads, *i.MetadataOptions.HttpPutResponseHopLimit, i.SecurityGroups, want)
		}
	}
}

// Describing, launch templates and profiles may lag behind.
func TestWhatWasJustMadeIsThereAtOnceOrLater(t *testing.T) {
	b := readAs(t, reading.Other(delays...))
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
		d.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("fresh")}
	})
	b.AddInstanceProfile("fresh", "role")
	in := func() *sdk.CreateFleetInput { return fleetOf(1, onDemand, b.over("m5.large", "a")) }
	_, err := b.sdk.CreateFleet(t.Context(), in())
	wantCode(t, "a template just made", err, "InvalidLaunchTemplateName.NotFoundException")
	b.clock.Advance(reading.TemplateDelay)
	if failed := failures(b.fleet(t, in())); len(failed) != 1 {
		t.Errorf("a profile just made: %v", failed)
	}
	b.clock.Advance(reading.ProfileDelay)
	id := launchedIDs(b.fleet(t, in()))[0]
	b.clock.Advance(reading.DescribeDelay - time.Second)
	if found := b.describe(t, by("instance-id", id)); len(found) != 0 {
		t.Errorf("shown after %v", reading.DescribeDelay-time.Second)
	}
	b.clock.Advance(time.Second)
	if found := b.describe(t, by("instance-id", id)); len(found) != 1 {
		t.Errorf("not shown after %v", reading.DescribeDelay)
	}
}
