package proof

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// InstanceType is the type of the instances that probes run: the smallest there is.
const InstanceType = types.InstanceTypeT4gNano

// userData has an instance end itself after twenty minutes, whoever forgot it.
const userData = "#!/bin/sh\nshutdown -h +20\n"

// Place is where instances of the run are.
type Place struct {
	Subnet, Zone, VPC string
	Group             string   // a security group of the VPC's
	Others            []string // default subnets in other zones
}

// Where finds a subnet: the one given, else a default subnet where the type is sold.
func Where(ctx context.Context, e *Env) (Place, error) {
	return Shared(ctx, e, "place", func(ctx context.Context) (Place, error) {
		in := &ec2.DescribeSubnetsInput{}
		if e.SubnetID != "" {
			in.SubnetIds = []string{e.SubnetID}
		} else {
			in.Filters = []types.Filter{Filter("default-for-az", "true")}
		}
		out, err := e.EC2.DescribeSubnets(ctx, in)
		if err != nil {
			return Place{}, err
		}
		offerings, err := e.EC2.DescribeInstanceTypeOfferings(ctx, &ec2.DescribeInstanceTypeOfferingsInput{
			LocationType: types.LocationTypeAvailabilityZone, Filters: []types.Filter{Filter("instance-type", string(InstanceType))},
		})
		if err != nil {
			return Place{}, err
		}
		sold := map[string]bool{}
		for _, o := range offerings.InstanceTypeOfferings {
			sold[aws.ToString(o.Location)] = true
		}
		subnets := slices.DeleteFunc(out.Subnets, func(s types.Subnet) bool { return !sold[aws.ToString(s.AvailabilityZone)] })
		if len(subnets) == 0 {
			return Place{}, fmt.Errorf("region %s has no default subnet in a zone that sells %s: give --subnet", e.Region, InstanceType)
		}
		sort.Slice(subnets, func(i, j int) bool {
			return aws.ToString(subnets[i].AvailabilityZone) < aws.ToString(subnets[j].AvailabilityZone)
		})
		p := Place{Subnet: aws.ToString(subnets[0].SubnetId), Zone: aws.ToString(subnets[0].AvailabilityZone), VPC: aws.ToString(subnets[0].VpcId)}
		for _, s := range subnets[1:] {
			p.Others = append(p.Others, aws.ToString(s.SubnetId))
		}
		groups, err := e.EC2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{Filter("vpc-id", p.VPC)}})
		if err != nil {
			return Place{}, err
		}
		if len(groups.SecurityGroups) == 0 {
			return Place{}, fmt.Errorf("VPC %s has no security group", p.VPC)
		}
		for _, g := range groups.SecurityGroups {
			if p.Group == "" || aws.ToString(g.GroupName) == "default" {
				p.Group = aws.ToString(g.GroupId)
			}
		}
		return p, nil
	})
}

// Filter returns a filter with one value.
func Filter(name, value string) types.Filter {
	return types.Filter{Name: &name, Values: []string{value}}
}

// images are parameters that name an image for arm64, the smaller first.
var images = []string{
	"/aws/service/ami-amazon-linux-latest/al2023-ami-minimal-kernel-default-arm64",
	"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/standard/recommended/image_id",
}

// Image returns an image of Amazon's for InstanceType.
func Image(ctx context.Context, e *Env) (string, error) {
	return Shared(ctx, e, "image", func(ctx context.Context) (string, error) {
		var failed []error
		for _, name := range images {
			out, err := e.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
			if err == nil {
				return aws.ToString(out.Parameter.Value), nil
			}
			failed = append(failed, err)
		}
		return "", errors.Join(failed...)
	})
}

// EC2Tags returns Tags, and others, for EC2.
func EC2Tags(e *Env, more map[string]string) []types.Tag {
	all := e.Tags()
	maps.Copy(all, more)
	var out []types.Tag
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(all[key])})
	}
	return out
}

// TemplateData returns what an instance of the run is launched from: no public address, metadata by token alone, tagged, and ended
// for good when it shuts itself down.
func TemplateData(ctx context.Context, e *Env) (*types.RequestLaunchTemplateData, error) {
	place, err := Where(ctx, e)
	if err != nil {
		return nil, err
	}
	image, err := Image(ctx, e)
	if err != nil {
		return nil, err
	}
	data := &types.RequestLaunchTemplateData{
		ImageId: &image, InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
		UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(userData))),
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpTokens: types.LaunchTemplateHttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(1),
		},
		NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
			DeviceIndex: aws.Int32(0), Groups: []string{place.Group}, AssociatePublicIpAddress: aws.Bool(false),
		}},
	}
	for _, resource := range []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface} {
		data.TagSpecifications = append(data.TagSpecifications, types.LaunchTemplateTagSpecificationRequest{ResourceType: resource, Tags: EC2Tags(e, nil)})
	}
	return data, nil
}

// MakeTemplate makes a launch template of the run's and returns its name.
func MakeTemplate(ctx context.Context, e *Env, what string, data *types.RequestLaunchTemplateData) (string, error) {
	name := e.Name(what)
	_, err := e.EC2.CreateLaunchTemplate(ctx, TemplateInput(e, name, data))
	return name, err
}

// TemplateInput returns the request for a launch template.
func TemplateInput(e *Env, name string, data *types.RequestLaunchTemplateData) *ec2.CreateLaunchTemplateInput {
	return &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, LaunchTemplateData: data, ClientToken: aws.String(e.Token("template", name)),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: EC2Tags(e, nil)}},
	}
}

// Plain returns the name of a launch template of TemplateData.
func Plain(ctx context.Context, e *Env) (string, error) {
	return Shared(ctx, e, "template", func(ctx context.Context) (string, error) {
		data, err := TemplateData(ctx, e)
		if err != nil {
			return "", err
		}
		return MakeTemplate(ctx, e, "plain", data)
	})
}

// RunInput returns the request for one instance from a launch template, in the run's subnet.
func RunInput(ctx context.Context, e *Env, template string) (*ec2.RunInstancesInput, error) {
	place, err := Where(ctx, e)
	if err != nil {
		return nil, err
	}
	return &ec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: InstanceType,
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: &template, Version: aws.String("$Latest")},
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: &place.Subnet, Groups: []string{place.Group}, AssociatePublicIpAddress: aws.Bool(false),
		}},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: EC2Tags(e, nil)}, {ResourceType: types.ResourceTypeVolume, Tags: EC2Tags(e, nil)},
		},
	}, nil
}

// FleetInput returns the request for an instant fleet of one instance from a launch template, in the run's subnet.
func FleetInput(ctx context.Context, e *Env, template, token string, market types.DefaultTargetCapacityType) (*ec2.CreateFleetInput, error) {
	place, err := Where(ctx, e)
	if err != nil {
		return nil, err
	}
	in := &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant, ClientToken: &token,
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &template, Version: aws.String("$Latest")},
			Overrides:                   []types.FleetLaunchTemplateOverridesRequest{{InstanceType: InstanceType, SubnetId: &place.Subnet}},
		}},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: market},
	}
	for _, resource := range []types.ResourceType{types.ResourceTypeFleet, types.ResourceTypeInstance, types.ResourceTypeVolume} {
		in.TagSpecifications = append(in.TagSpecifications, types.TagSpecification{ResourceType: resource, Tags: EC2Tags(e, nil)})
	}
	return in, nil
}

// End terminates instances, once EC2 knows of them.
func End(ctx context.Context, e *Env, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	_, _, err := e.Until(ctx, workLimit, workEvery, func() (bool, error) {
		_, err := e.EC2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
		if Code(err) == "InvalidInstanceID.NotFound" {
			return false, nil
		}
		return err == nil, err
	})
	return err
}
