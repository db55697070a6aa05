package conform

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// newTemplate makes a launch template for x86_64 and returns its name.
func newTemplate(t T, c *ec2.Client) string {
	t.Helper()
	images, err := c.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{
		ec2Filter("architecture", "x86_64"), ec2Filter("state", "available")}})
	if err != nil || len(images.Images) == 0 {
		t.Fatalf("images: %v", err)
	}
	name := Unique("template")
	_, err = c.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name,
		LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: images.Images[0].ImageId, UserData: aws.String("Ym9vdA==")}})
	if err != nil {
		t.Fatalf("create launch template: %v", err)
	}
	awaitTemplate(t, c, name)
	return name
}

// awaitTemplate waits until launches know a launch template that was just made, or ends the case.
func awaitTemplate(t T, c *ec2.Client, name string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := c.RunInstances(t.Context(), &ec2.RunInstancesInput{
			DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large",
			LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: &name},
		})
		if err == nil || !strings.Contains(err.Error(), "InvalidLaunchTemplate") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("launch template %s is not known to launches: %v", name, err)
		}
	}
}

// ec2Override is a type in the nth subnet.
func ec2Override(t T, c *ec2.Client, typeName types.InstanceType, n int) types.FleetLaunchTemplateOverridesRequest {
	t.Helper()
	out, err := c.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{ec2Filter("default-for-az", "true")}})
	if err != nil || len(out.Subnets) <= n {
		t.Fatalf("subnets: %+v, %v", out, err)
	}
	slices.SortFunc(out.Subnets, func(a, b types.Subnet) int { return strings.Compare(*a.AvailabilityZone, *b.AvailabilityZone) })
	return types.FleetLaunchTemplateOverridesRequest{InstanceType: typeName, SubnetId: out.Subnets[n].SubnetId, AvailabilityZone: out.Subnets[n].AvailabilityZone}
}

func newFleet(template string, n int32, capacityType types.DefaultTargetCapacityType, overrides ...types.FleetLaunchTemplateOverridesRequest) *ec2.CreateFleetInput {
	return &ec2.CreateFleetInput{
		Type:                        types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: &n, DefaultTargetCapacityType: capacityType},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &template, Version: aws.String("$Latest")},
			Overrides:                   overrides,
		}},
	}
}

// createFleet makes a fleet, or ends the case.
func createFleet(t T, c *ec2.Client, in *ec2.CreateFleetInput) *ec2.CreateFleetOutput {
	t.Helper()
	out, err := c.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatalf("create fleet: %v", err)
	}
	return out
}

func fleetIDs(out *ec2.CreateFleetOutput) []string {
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, i.InstanceIds...)
	}
	return ids
}

func launchOne(t T, c *ec2.Client) string {
	t.Helper()
	out := createFleet(t, c, newFleet(newTemplate(t, c), 1, types.DefaultTargetCapacityTypeOnDemand, ec2Override(t, c, "m5.large", 0)))
	ids := fleetIDs(out)
	if len(ids) != 1 {
		t.Fatalf("launched %v, errors %+v", ids, out.Errors)
	}
	return ids[0]
}

// freshSubnet returns a subnet no other case launches into: the last zone's.
func freshSubnet(t T, c *ec2.Client) (string, error) {
	out, err := c.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{ec2Filter("availability-zone", "us-west-2c")}})
	if err != nil {
		return "", err
	}
	if len(out.Subnets) == 0 {
		return "", errors.New("none in us-west-2c")
	}
	return *out.Subnets[0].SubnetId, nil
}

func freeAddresses(t T, c *ec2.Client, subnet string) int32 {
	t.Helper()
	out, err := c.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{subnet}})
	if err != nil || len(out.Subnets) != 1 {
		t.Fatalf("subnet %s: %+v, %v", subnet, out, err)
	}
	return *out.Subnets[0].AvailableIpAddressCount
}

func dashed(address string) string { return strings.ReplaceAll(address, ".", "-") }
