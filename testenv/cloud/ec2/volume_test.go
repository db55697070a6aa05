package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestVolumesThatCannotBeMadeAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		ebs  types.LaunchTemplateEbsBlockDeviceRequest
		code string // "" when it can be made
	}{
		"gp3 with all it takes":     {types.LaunchTemplateEbsBlockDeviceRequest{VolumeType: "gp3", VolumeSize: aws.Int32(100), Iops: aws.Int32(4000), Throughput: aws.Int32(250), Encrypted: aws.Bool(true), KmsKeyId: aws.String("alias/k")}, ""},
		"a rate and its snapshot":   {types.LaunchTemplateEbsBlockDeviceRequest{SnapshotId: aws.String("snap-1"), VolumeInitializationRate: aws.Int32(200)}, ""},
		"no such type":              {types.LaunchTemplateEbsBlockDeviceRequest{VolumeType: "gp9", VolumeSize: aws.Int32(100)}, "InvalidParameterValue"},
		"io2 without iops":          {types.LaunchTemplateEbsBlockDeviceRequest{VolumeType: "io2", VolumeSize: aws.Int32(100)}, "MissingParameter"},
		"gp2 with iops":             {types.LaunchTemplateEbsBlockDeviceRequest{VolumeType: "gp2", VolumeSize: aws.Int32(100), Iops: aws.Int32(3000)}, "InvalidParameterCombination"},
		"gp3 with few iops":         {types.LaunchTemplateEbsBlockDeviceRequest{VolumeType: "gp3", VolumeSize: aws.Int32(100), Iops: aws.Int32(100)}, "InvalidParameterValue"},
		"throughput of io2":         {types.LaunchTemplateEbsBlockDeviceRequest{VolumeType: "io2", VolumeSize: aws.Int32(100), Iops: aws.Int32(3000), Throughput: aws.Int32(250)}, "InvalidParameterCombination"},
		"little throughput":         {types.LaunchTemplateEbsBlockDeviceRequest{VolumeType: "gp3", VolumeSize: aws.Int32(100), Throughput: aws.Int32(10)}, "InvalidParameterValue"},
		"a rate without a snapshot": {types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(100), VolumeInitializationRate: aws.Int32(200)}, "InvalidParameterCombination"},
		"a rate out of range":       {types.LaunchTemplateEbsBlockDeviceRequest{SnapshotId: aws.String("snap-1"), VolumeInitializationRate: aws.Int32(50)}, "InvalidParameterValue"},
		"a key without encryption":  {types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(100), KmsKeyId: aws.String("alias/k")}, "InvalidParameterDependency"},
		"neither size nor snapshot": {types.LaunchTemplateEbsBlockDeviceRequest{VolumeType: "gp3"}, "MissingParameter"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
				d.BlockDeviceMappings = []types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: aws.String("/dev/xvdz"), Ebs: &tt.ebs}}
			})
			out := b.fleet(t, fleetOf(1, od, b.over("m5.large", "a")))
			if tt.code == "" && len(launchedIDs(out)) != 1 || tt.code != "" && (len(out.Errors) != 1 || *out.Errors[0].ErrorCode != tt.code) {
				t.Errorf("launched %v, errors %+v, want %q", got(out), out.Errors, tt.code)
			}
		})
	}
}

func TestMetadataOptionsAreChecked(t *testing.T) {
	b := newBench(t)
	for name, o := range map[string]*types.LaunchTemplateInstanceMetadataOptionsRequest{
		"too many hops": {HttpPutResponseHopLimit: aws.Int32(65)}, "no hop": {HttpPutResponseHopLimit: aws.Int32(0)},
		"no such state": {HttpEndpoint: "open"}, "no such tokens": {HttpTokens: "perhaps"},
	} {
		_, err := b.sdk.CreateLaunchTemplate(t.Context(), &sdk.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("nodes"),
			LaunchTemplateData: &types.RequestLaunchTemplateData{MetadataOptions: o}})
		wantCode(t, name, err, "InvalidParameterValue")
	}
}
