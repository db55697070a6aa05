package conform

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// linuxTemplate makes a launch template for Linux on x86_64, changed as told, and returns its name.
func linuxTemplate(t T, c *ec2.Client, change func(*types.RequestLaunchTemplateData)) string {
	t.Helper()
	images, err := c.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{
		ec2Filter("architecture", "x86_64"), ec2Filter("state", "available"), ec2Filter("name", "am*")}})
	if err != nil || len(images.Images) == 0 {
		t.Fatalf("images: %v", err)
	}
	name, data := Unique("template"), &types.RequestLaunchTemplateData{ImageId: images.Images[0].ImageId}
	change(data)
	if _, err = c.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: data}); err != nil {
		t.Fatalf("create launch template: %v", err)
	}
	awaitTemplate(t, c, name)
	return name
}

// ec2DryRunCases are about asking without doing.
func ec2DryRunCases(c *ec2.Client) []Case {
	return []Case{
		{"a dry run of a launch launches nothing", func(t T) {
			template, o := newTemplate(t, c), ec2Override(t, c, "m5.large", 0)
			in := newFleet(template, 1, types.DefaultTargetCapacityTypeOnDemand, o)
			in.DryRun = aws.Bool(true)
			_, err := c.CreateFleet(t.Context(), in)
			wantCode(t, err, "DryRunOperation")
			_, err = c.RunInstances(t.Context(), &ec2.RunInstancesInput{DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large",
				SubnetId: o.SubnetId, LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: &template}})
			wantCode(t, err, "DryRunOperation")
		}},
		{"a dry run of a launch template makes none", func(t T) {
			name := Unique("dry")
			_, err := c.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{DryRun: aws.Bool(true), LaunchTemplateName: &name,
				LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: "m5.large"}})
			wantCode(t, err, "DryRunOperation")
			_, err = c.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{name}})
			wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
		}},
		{"a dry run finds an image that is not there", func(t T) {
			_, err := c.RunInstances(t.Context(), &ec2.RunInstancesInput{DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large",
				ImageId: aws.String("ami-00000000000000000")})
			wantCode(t, err, "InvalidAMIID.NotFound")
		}},
		{"launch templates are found by their tags", func(t T) {
			name, tag := Unique("tagged"), Unique("value")
			_, err := c.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name,
				LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: "m5.large"},
				TagSpecifications:  []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: []types.Tag{{Key: aws.String("case"), Value: &tag}}}}})
			if err != nil {
				t.Fatalf("create: %v", err)
			}
			out, err := c.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{ec2Filter("tag:case", tag)}})
			if err != nil || len(out.LaunchTemplates) != 1 || *out.LaunchTemplates[0].LaunchTemplateName != name {
				t.Errorf("found %+v, %v", out, err)
			}
		}},
		{"user data longer than its limit is refused", func(t T) {
			name := Unique("long")
			_, err := c.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name,
				LaunchTemplateData: &types.RequestLaunchTemplateData{UserData: aws.String(strings.Repeat("AAAA", 16384/3+1))}})
			wantCode(t, err, "InvalidUserData.Malformed")
		}},
	}
}

// reservedType is one no other case launches, so that reservations of it are nobody else's.
const reservedType = "z1d.6xlarge"

// newReservation reserves capacity in the zone of the first subnet for instances that name it.
func newReservation(t T, c *ec2.Client, n int32) string {
	t.Helper()
	made, err := c.CreateCapacityReservation(t.Context(), &ec2.CreateCapacityReservationInput{
		InstanceType: aws.String(reservedType), InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix, InstanceCount: &n,
		AvailabilityZone: ec2Override(t, c, reservedType, 0).AvailabilityZone, InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted,
	})
	if err != nil {
		t.Fatalf("reserve: %v", err)
	}
	return *made.CapacityReservation.CapacityReservationId
}

// ec2ReservationCases are about capacity reservations.
func ec2ReservationCases(c *ec2.Client) []Case {
	available := func(t T, id string) int32 {
		t.Helper()
		out, err := c.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}})
		if err != nil || len(out.CapacityReservations) != 1 {
			t.Fatalf("describe %s: %+v, %v", id, out, err)
		}
		return *out.CapacityReservations[0].AvailableInstanceCount
	}
	target := func(id string) func(*types.RequestLaunchTemplateData) {
		return func(d *types.RequestLaunchTemplateData) {
			d.CapacityReservationSpecification = &types.LaunchTemplateCapacityReservationSpecificationRequest{
				CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly,
				CapacityReservationTarget:     &types.CapacityReservationTarget{CapacityReservationId: &id}}
		}
	}
	return []Case{
		{"a reservation is full when as many were launched into it", func(t T) {
			id := newReservation(t, c, 1)
			in := newFleet(linuxTemplate(t, c, target(id)), 2, types.DefaultTargetCapacityTypeOnDemand, ec2Override(t, c, reservedType, 0))
			out := createFleet(t, c, in)
			if len(fleetIDs(out)) != 1 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "ReservationCapacityExceeded" {
				t.Fatalf("launched %v, errors %+v", fleetIDs(out), out.Errors)
			}
			if n := available(t, id); n != 0 {
				t.Errorf("%d available, want none", n)
			}
			if i := awaitInstances(t, c, 1, ec2Filter("instance-id", fleetIDs(out)...))[0]; aws.ToString(i.CapacityReservationId) != id {
				t.Errorf("runs in %s, want %s", aws.ToString(i.CapacityReservationId), id)
			}
		}},
		{"a cancelled reservation takes no launch", func(t T) {
			id := newReservation(t, c, 1)
			if _, err := c.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: &id}); err != nil {
				t.Fatalf("cancel: %v", err)
			}
			out := createFleet(t, c, newFleet(linuxTemplate(t, c, target(id)), 1, types.DefaultTargetCapacityTypeOnDemand, ec2Override(t, c, reservedType, 0)))
			if len(fleetIDs(out)) != 0 || len(out.Errors) != 1 {
				t.Errorf("launched %v, errors %+v", fleetIDs(out), out.Errors)
			}
		}},
		{"an unknown reservation is refused by its code", func(t T) {
			_, err := c.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{"cr-00000000000000000"}})
			wantCode(t, err, "InvalidCapacityReservationId.NotFound")
		}},
	}
}

// ec2PlacementCases are about placement groups.
func ec2PlacementCases(c *ec2.Client) []Case {
	newGroup := func(t T, strategy types.PlacementStrategy, partitions *int32) string {
		t.Helper()
		name := Unique("group")
		if _, err := c.CreatePlacementGroup(t.Context(), &ec2.CreatePlacementGroupInput{GroupName: &name, Strategy: strategy, PartitionCount: partitions}); err != nil {
			t.Fatalf("create: %v", err)
		}
		return name
	}
	into := func(name string) func(*types.RequestLaunchTemplateData) {
		return func(d *types.RequestLaunchTemplateData) {
			d.Placement = &types.LaunchTemplatePlacementRequest{GroupName: &name}
		}
	}
	return []Case{
		{"a spread group takes seven instances a zone", func(t T) {
			name := newGroup(t, types.PlacementStrategySpread, nil)
			out := createFleet(t, c, newFleet(linuxTemplate(t, c, into(name)), 8, types.DefaultTargetCapacityTypeOnDemand, ec2Override(t, c, "m5.large", 0)))
			if len(fleetIDs(out)) != 7 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InsufficientInstanceCapacity" {
				t.Errorf("launched %v, errors %+v", fleetIDs(out), out.Errors)
			}
		}},
		{"instances say which partition they are in", func(t T) {
			name := newGroup(t, types.PlacementStrategyPartition, aws.Int32(2))
			out := createFleet(t, c, newFleet(linuxTemplate(t, c, into(name)), 2, types.DefaultTargetCapacityTypeOnDemand, ec2Override(t, c, "m5.large", 0)))
			var partitions []int32
			for _, i := range awaitInstances(t, c, 2, ec2Filter("instance-id", fleetIDs(out)...)) {
				partitions = append(partitions, aws.ToInt32(i.Placement.PartitionNumber))
			}
			if slices.Sort(partitions); !slices.Equal(partitions, []int32{1, 2}) {
				t.Errorf("partitions %v, want both", partitions)
			}
		}},
		{"an unknown placement group is refused by its code", func(t T) {
			_, err := c.DescribePlacementGroups(t.Context(), &ec2.DescribePlacementGroupsInput{GroupNames: []string{Unique("absent")}})
			wantCode(t, err, "InvalidPlacementGroup.Unknown")
		}},
	}
}

// ec2ImageCases are about looking images up.
func ec2ImageCases(c *ec2.Client) []Case {
	return []Case{
		{"images are found by owner and by a pattern of their name", func(t T) {
			out, err := c.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{ec2Filter("name", "am*"), ec2Filter("architecture", "x86_64")}})
			if err != nil || len(out.Images) == 0 {
				t.Fatalf("images %+v, %v", out, err)
			}
			for _, i := range out.Images {
				if !strings.HasPrefix(*i.Name, "am") || i.Architecture != types.ArchitectureValuesX8664 || aws.ToString(i.CreationDate) == "" {
					t.Errorf("image %+v", i)
				}
			}
			none, err := c.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Owners: []string{"self"}, Filters: []types.Filter{ec2Filter("name", Unique("absent"))}})
			if err != nil || len(none.Images) != 0 {
				t.Errorf("images of nobody: %+v, %v", none, err)
			}
		}},
	}
}
