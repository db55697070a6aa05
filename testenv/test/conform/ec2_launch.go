package conform

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// ec2FleetCases are about fleets of type instant.
func ec2FleetCases(c *ec2.Client) []Case {
	return []Case{
		{"an instant fleet launches its target and tags it", func(t T) {
			tag := Unique("tag")
			in := newFleet(newTemplate(t, c), 2, types.DefaultTargetCapacityTypeOnDemand, ec2Override(t, c, "m5.large", 0))
			in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("case"), Value: &tag}}}}
			out := createFleet(t, c, in)
			ids := fleetIDs(out)
			if len(ids) != 2 || len(out.Errors) != 0 {
				t.Fatalf("launched %v, errors %+v", ids, out.Errors)
			}
			found := awaitInstances(t, c, 2, ec2Filter("tag:case", tag), ec2Filter("instance-state-name", "pending", "running"))
			for _, i := range found {
				if !slices.Contains(ids, *i.InstanceId) || i.InstanceType != "m5.large" || *i.SubnetId != *in.LaunchTemplateConfigs[0].Overrides[0].SubnetId {
					t.Errorf("found %s %s in %s", *i.InstanceId, i.InstanceType, *i.SubnetId)
				}
			}
		}},
		{"spot instances carry their lifecycle", func(t T) {
			out := createFleet(t, c, newFleet(newTemplate(t, c), 1, types.DefaultTargetCapacityTypeSpot, ec2Override(t, c, "m5.large", 0)))
			found := awaitInstances(t, c, 1, ec2Filter("instance-id", fleetIDs(out)...))
			if found[0].InstanceLifecycle != types.InstanceLifecycleTypeSpot || aws.ToString(found[0].SpotInstanceRequestId) == "" {
				t.Errorf("lifecycle %q, request %v", found[0].InstanceLifecycle, found[0].SpotInstanceRequestId)
			}
		}},
		{"an instant fleet takes the cheapest pool on demand", func(t T) {
			in := newFleet(newTemplate(t, c), 1, types.DefaultTargetCapacityTypeOnDemand,
				ec2Override(t, c, "m5.24xlarge", 0), ec2Override(t, c, "m5.large", 0), ec2Override(t, c, "m5.4xlarge", 1))
			in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice}
			out := createFleet(t, c, in)
			if len(out.Instances) != 1 || out.Instances[0].InstanceType != "m5.large" {
				t.Errorf("launched %+v", out.Instances)
			}
		}},
		{"a repeated client token gives the same fleet and instances", func(t T) {
			in := newFleet(newTemplate(t, c), 1, types.DefaultTargetCapacityTypeOnDemand, ec2Override(t, c, "m5.large", 0))
			in.ClientToken = aws.String(Unique("token"))
			first, again := createFleet(t, c, in), createFleet(t, c, in)
			if *first.FleetId != *again.FleetId || !slices.Equal(fleetIDs(first), fleetIDs(again)) {
				t.Errorf("first %s %v, again %s %v", *first.FleetId, fleetIDs(first), *again.FleetId, fleetIDs(again))
			}
		}},
		{"a client token with other parameters is refused", func(t T) {
			in := newFleet(newTemplate(t, c), 1, types.DefaultTargetCapacityTypeOnDemand, ec2Override(t, c, "m5.large", 0))
			in.ClientToken = aws.String(Unique("token"))
			createFleet(t, c, in)
			in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(2)
			_, err := c.CreateFleet(t.Context(), in)
			wantCode(t, err, "IdempotentParameterMismatch")
		}},
		{"a type that cannot be had is an error of its override", func(t T) {
			out := createFleet(t, c, newFleet(newTemplate(t, c), 1, types.DefaultTargetCapacityTypeOnDemand,
				ec2Override(t, c, "m5.gigantic", 0), ec2Override(t, c, "m5.large", 0)))
			if len(fleetIDs(out)) != 1 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InvalidFleetConfiguration" {
				t.Errorf("launched %v, errors %+v", fleetIDs(out), out.Errors)
			}
		}},
		{"two overrides of one type and zone are refused", func(t T) {
			o := ec2Override(t, c, "m5.large", 0)
			_, err := c.CreateFleet(t.Context(), newFleet(newTemplate(t, c), 1, types.DefaultTargetCapacityTypeOnDemand, o, o))
			wantCode(t, err, "InvalidFleetConfig")
		}},
		{"an instant fleet is described by its id", func(t T) {
			out := createFleet(t, c, newFleet(newTemplate(t, c), 1, types.DefaultTargetCapacityTypeOnDemand, ec2Override(t, c, "m5.large", 0)))
			got, err := c.DescribeFleets(t.Context(), &ec2.DescribeFleetsInput{FleetIds: []string{*out.FleetId}})
			if err != nil || len(got.Fleets) != 1 {
				t.Fatalf("describe: %+v, %v", got, err)
			}
			if f := got.Fleets[0]; f.Type != types.FleetTypeInstant || *f.TargetCapacitySpecification.TotalTargetCapacity != 1 || *f.FulfilledCapacity != 1 {
				t.Errorf("fleet %+v", f)
			}
		}},
	}
}

// ec2InstanceCases are about the life of instances and their tags.
func ec2InstanceCases(c *ec2.Client) []Case {
	return []Case{
		{"an instance runs, is terminated and stays visible", func(t T) {
			id := launchOne(t, c)
			awaitInstances(t, c, 1, ec2Filter("instance-id", id), ec2Filter("instance-state-name", "running"))
			out, err := c.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
			if err != nil || len(out.TerminatingInstances) != 1 || out.TerminatingInstances[0].CurrentState.Name != types.InstanceStateNameShuttingDown {
				t.Fatalf("terminate: %+v, %v", out, err)
			}
			found := awaitInstances(t, c, 1, ec2Filter("instance-id", id), ec2Filter("instance-state-name", "terminated"))
			if found[0].StateReason == nil || *found[0].StateReason.Code != "Client.UserInitiatedShutdown" {
				t.Errorf("reason %+v", found[0].StateReason)
			}
			if _, err := c.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
				t.Errorf("terminate again: %v", err)
			}
		}},
		{"an instance has the name its address gives it", func(t T) {
			i := awaitInstances(t, c, 1, ec2Filter("instance-id", launchOne(t, c)))[0]
			want := "ip-" + dashed(*i.PrivateIpAddress) + ".us-west-2.compute.internal"
			if *i.PrivateDnsName != want {
				t.Errorf("private name %s, want %s", *i.PrivateDnsName, want)
			}
		}},
		{"an unknown instance is refused by its code", func(t T) {
			_, err := c.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{"i-00000000000000000"}})
			wantCode(t, err, "InvalidInstanceID.NotFound")
			_, err = c.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{"i-00000000000000000"}})
			wantCode(t, err, "InvalidInstanceID.NotFound")
		}},
		{"a filter that matches nothing is no error", func(t T) {
			out, err := c.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{Filters: []types.Filter{ec2Filter("instance-id", "i-00000000000000000")}})
			if err != nil || len(out.Reservations) != 0 {
				t.Errorf("got %+v, %v", out, err)
			}
		}},
		{"a subnet has an address less for each instance", func(t T) {
			id, err := freshSubnet(t, c)
			if err != nil {
				t.Fatalf("subnet: %v", err)
			}
			before := freeAddresses(t, c, id)
			o := types.FleetLaunchTemplateOverridesRequest{InstanceType: "m5.large", SubnetId: &id}
			if out := createFleet(t, c, newFleet(newTemplate(t, c), 3, types.DefaultTargetCapacityTypeOnDemand, o)); len(fleetIDs(out)) != 3 {
				t.Fatalf("launched %v, errors %+v", fleetIDs(out), out.Errors)
			}
			if after := freeAddresses(t, c, id); after > before-3 {
				t.Errorf("%d addresses free, %d before three launches", after, before)
			}
		}},
		{"tags are set, replaced and removed", func(t T) {
			id, key := launchOne(t, c), Unique("key")
			awaitInstances(t, c, 1, ec2Filter("instance-id", id))
			for _, value := range []string{"one", "two"} {
				if _, err := c.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: &key, Value: &value}}}); err != nil {
					t.Fatalf("tag: %v", err)
				}
				awaitInstances(t, c, 1, ec2Filter("tag:"+key, value))
			}
			tags, err := c.DescribeTags(t.Context(), &ec2.DescribeTagsInput{Filters: []types.Filter{ec2Filter("resource-id", id), ec2Filter("key", key)}})
			if err != nil || len(tags.Tags) != 1 || *tags.Tags[0].Value != "two" || tags.Tags[0].ResourceType != types.ResourceTypeInstance {
				t.Errorf("tags %+v, %v", tags, err)
			}
			if _, err := c.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: &key}}}); err != nil {
				t.Fatalf("untag: %v", err)
			}
			awaitInstances(t, c, 0, ec2Filter("tag-key", key))
		}},
		{"a tag key of AWS is refused", func(t T) {
			id := launchOne(t, c)
			awaitInstances(t, c, 1, ec2Filter("instance-id", id))
			_, err := c.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("aws:x"), Value: aws.String("y")}}})
			wantCode(t, err, "InvalidParameterValue")
		}},
		{"an image that does not exist is refused by its code", func(t T) {
			_, err := c.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{"ami-00000000000000000"}})
			wantCode(t, err, "InvalidAMIID.NotFound")
		}},
	}
}

// awaitInstances returns the instances that pass the filters once there are n.
func awaitInstances(t T, c *ec2.Client, n int, filters ...types.Filter) []types.Instance {
	t.Helper()
	var found []types.Instance
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		found = nil
		out, err := c.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{Filters: filters})
		if err != nil {
			t.Fatalf("describe instances: %v", err)
		}
		for _, r := range out.Reservations {
			found = append(found, r.Instances...)
		}
		if len(found) == n {
			return found
		}
	}
	t.Fatalf("%d instances pass the filters in the end, want %d", len(found), n)
	return nil
}
