package ec2_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

func TestFleetReportsABadOverrideAndLaunchesFromTheOthers(t *testing.T) {
	tests := map[string]struct {
		prepare func(b bench)
		change  func(o *types.FleetLaunchTemplateOverridesRequest)
		code    string
	}{
		"no such type":               {change: func(o *types.FleetLaunchTemplateOverridesRequest) { o.InstanceType = "m5.gigantic" }, code: "InvalidFleetConfiguration"},
		"type not offered in zone":   {change: func(o *types.FleetLaunchTemplateOverridesRequest) { o.InstanceType = "dl1.24xlarge" }, code: "InvalidFleetConfiguration"},
		"no such image":              {change: func(o *types.FleetLaunchTemplateOverridesRequest) { o.ImageId = aws.String("ami-00000000000000000") }, code: "InvalidAMIID.NotFound"},
		"no image id":                {change: func(o *types.FleetLaunchTemplateOverridesRequest) { o.ImageId = aws.String("image") }, code: "InvalidAMIID.Malformed"},
		"image of another processor": {change: func(o *types.FleetLaunchTemplateOverridesRequest) { o.ImageId = aws.String(imageFor(catalog.ARM64)) }, code: "InvalidParameterValue"},
		"no such subnet":             {change: func(o *types.FleetLaunchTemplateOverridesRequest) { o.SubnetId = aws.String("subnet-0") }, code: "InvalidSubnetID.NotFound"},
		"subnet of another zone":     {change: func(o *types.FleetLaunchTemplateOverridesRequest) { o.AvailabilityZone = aws.String("us-west-2c") }, code: "InvalidParameterValue"},
		"no such profile":            {prepare: func(b bench) { b.AddInstanceProfile("other", "role") }, code: "InvalidParameterValue"},
		"max price under the market": {change: func(o *types.FleetLaunchTemplateOverridesRequest) { o.MaxPrice = aws.String("0.001") }, code: "SpotMaxPriceTooLow"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.template(t, "good")
			b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
				d.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes")}
			})
			if tt.prepare != nil {
				tt.prepare(b)
			}
			bad := b.over("m5.large", "b")
			if tt.change != nil {
				tt.change(&bad)
			}
			in := fleetOf(1, spot, bad)
			in.LaunchTemplateConfigs = append(in.LaunchTemplateConfigs, types.FleetLaunchTemplateConfigRequest{
				LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String("good"), Version: aws.String("1")},
				Overrides:                   []types.FleetLaunchTemplateOverridesRequest{b.over("m5.large", "a")},
			})
			out := b.fleet(t, in)
			if len(launchedIDs(out)) != 1 {
				t.Errorf("launched %v, want one instance", got(out))
			}
			if len(out.Errors) != 1 || *out.Errors[0].ErrorCode != tt.code {
				t.Fatalf("errors %+v, want %s", out.Errors, tt.code)
			}
			if o := out.Errors[0].LaunchTemplateAndOverrides.Overrides; o.InstanceType != bad.InstanceType {
				t.Errorf("error names %s, want %s", o.InstanceType, bad.InstanceType)
			}
		})
	}
}

func TestFleetChecksTheTemplateAtLaunch(t *testing.T) {
	otherVPC := ec2.SecurityGroup{ID: "sg-elsewhere", VPCID: "vpc-elsewhere", Name: "elsewhere"}
	face := func(card, device int32, kind string) types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
		return types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{NetworkCardIndex: &card, DeviceIndex: &device, InterfaceType: &kind}
	}
	tests := map[string]struct {
		change  func(d *types.RequestLaunchTemplateData)
		code    string
		message string
	}{
		"no such security group":        {func(d *types.RequestLaunchTemplateData) { d.SecurityGroupIds = []string{"sg-0"} }, "InvalidGroup.NotFound", ""},
		"security group of another VPC": {func(d *types.RequestLaunchTemplateData) { d.SecurityGroupIds = []string{otherVPC.ID} }, "InvalidParameter", "different networks"},
		"tags of a spot request on demand": {func(d *types.RequestLaunchTemplateData) {
			d.TagSpecifications = []types.LaunchTemplateTagSpecificationRequest{{ResourceType: "spot-instances-request", Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}}
		}, "InvalidParameterValue", "Spot instances requests"},
		"disk smaller than the image": {func(d *types.RequestLaunchTemplateData) {
			d.BlockDeviceMappings = []types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(8)}}}
		}, "InvalidBlockDeviceMapping", "20GB"},
		"more fabric adapters than the type has": {func(d *types.RequestLaunchTemplateData) {
			d.SecurityGroupIds, d.NetworkInterfaces = nil, []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{face(0, 0, "efa")}
		}, "AttachmentLimitExceeded", ""},
		"a network card the type lacks": {func(d *types.RequestLaunchTemplateData) {
			d.SecurityGroupIds, d.NetworkInterfaces = nil, []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{face(0, 0, "interface"), face(1, 1, "interface")}
		}, "InvalidNetworkCardIndex", ""},
		"a public address with several interfaces": {func(d *types.RequestLaunchTemplateData) {
			first := face(0, 0, "interface")
			first.AssociatePublicIpAddress = aws.Bool(true)
			d.SecurityGroupIds, d.NetworkInterfaces = nil, []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{first, face(0, 1, "interface")}
		}, "InvalidParameterCombination", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.AddSecurityGroup(otherVPC)
			b.template(t, "nodes", tt.change)
			out := b.fleet(t, fleetOf(1, onDemand, b.over("m5.large", "a")))
			if len(out.Instances) != 0 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != tt.code || !strings.Contains(*out.Errors[0].ErrorMessage, tt.message) {
				t.Errorf("launched %v, errors %v %+v; want %s with %q", got(out), failures(out), out.Errors, tt.code, tt.message)
			}
		})
	}
}

func TestFleetRefusesTheWholeRequest(t *testing.T) {
	tests := map[string]struct {
		change func(b bench, in *sdk.CreateFleetInput)
		code   string
	}{
		"same pool twice": {func(b bench, in *sdk.CreateFleetInput) {
			o := &in.LaunchTemplateConfigs[0].Overrides
			*o = append(*o, b.over("m5.large", "a"))
		}, "InvalidFleetConfig"},
		"more than 300 templates and overrides": {func(b bench, in *sdk.CreateFleetInput) {
			o := &in.LaunchTemplateConfigs[0].Overrides
			for i := range 299 {
				*o = append(*o, b.over(fmt.Sprintf("m5.%dxlarge", i), "a"))
			}
		}, "InvalidParameterValue"},
		"no template": {func(_ bench, in *sdk.CreateFleetInput) {
			in.LaunchTemplateConfigs = []types.FleetLaunchTemplateConfigRequest{}
		}, "MissingParameter"},
		"unknown template name": {func(_ bench, in *sdk.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("gone")
		}, "InvalidLaunchTemplateName.NotFoundException"},
		"unknown template id": {func(_ bench, in *sdk.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification = &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateId: aws.String("lt-0"), Version: aws.String("1")}
		}, "InvalidLaunchTemplateId.NotFound"},
		"unknown template version": {func(_ bench, in *sdk.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.Version = aws.String("2")
		}, "InvalidLaunchTemplateId.VersionNotFound"},
		"nothing wanted": {func(_ bench, in *sdk.CreateFleetInput) {
			in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(0)
		}, "InvalidParameterValue"},
		"unknown strategy": {func(_ bench, in *sdk.CreateFleetInput) { in.SpotOptions.AllocationStrategy = "dearest" }, "InvalidParameterValue"},
		"tags of AWS":      {func(_ bench, in *sdk.CreateFleetInput) { in.TagSpecifications = tagged("instance", "aws:x") }, "InvalidParameterValue"},
		"tags of a VPC":    {func(_ bench, in *sdk.CreateFleetInput) { in.TagSpecifications = tagged("vpc", "x") }, "InvalidParameterValue"},
		"a token too long": {func(_ bench, in *sdk.CreateFleetInput) { in.ClientToken = aws.String(strings.Repeat("x", 65)) }, "InvalidParameterValue"},
		"a lasting fleet":  {func(_ bench, in *sdk.CreateFleetInput) { in.Type = types.FleetTypeMaintain }, "UnsupportedOperation"},
		"unmodelled weight": {func(_ bench, in *sdk.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides[0].WeightedCapacity = aws.Float64(2)
		}, "UnknownParameter"},
		"dry run": {func(_ bench, in *sdk.CreateFleetInput) { in.DryRun = aws.Bool(true) }, "DryRunOperation"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.template(t, "nodes")
			in := fleetOf(1, spot, b.over("m5.large", "a"))
			tt.change(b, in)
			_, err := b.sdk.CreateFleet(t.Context(), in)
			wantCode(t, "create fleet", err, tt.code)
			if n := len(b.Launches()); n != 0 {
				t.Errorf("%d launches, want none", n)
			}
		})
	}
}

func tagged(kind types.ResourceType, keys ...string) []types.TagSpecification {
	s := types.TagSpecification{ResourceType: kind}
	for _, k := range keys {
		s.Tags = append(s.Tags, types.Tag{Key: aws.String(k), Value: aws.String("value of " + k)})
	}
	return []types.TagSpecification{s}
}
