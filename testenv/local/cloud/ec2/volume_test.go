package ec2_test

import (
	"testing"
	"time"

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

func TestVolumesAreMadeAttachedDetachedAndDeleted(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	id := b.launchOne(t)
	b.clock.Advance(time.Minute)
	in := &sdk.CreateVolumeInput{
		AvailabilityZone: aws.String("us-west-2a"), Size: aws.Int32(10), VolumeType: "gp3", ClientToken: aws.String("once"),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{{Key: aws.String("CSIVolumeName"), Value: aws.String("pvc-1")}}}},
	}
	made, err := b.sdk.CreateVolume(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if made.State != "creating" || *made.Size != 10 || *made.Iops != 3000 || *made.AvailabilityZoneId != "usw2-az1" || len(made.Tags) != 1 {
		t.Errorf("made %+v", made)
	}
	if again, err := b.sdk.CreateVolume(t.Context(), in); err != nil || *again.VolumeId != *made.VolumeId {
		t.Errorf("the same request made %v %v, want %s", again, err, *made.VolumeId)
	}
	in.Size = aws.Int32(20)
	_, err = b.sdk.CreateVolume(t.Context(), in)
	wantCode(t, "another request with the token", err, "IdempotentParameterMismatch")
	described := func() types.Volume {
		t.Helper()
		out, err := b.sdk.DescribeVolumes(t.Context(), &sdk.DescribeVolumesInput{Filters: []types.Filter{by("tag:CSIVolumeName", "pvc-1")}})
		if err != nil || len(out.Volumes) > 1 {
			t.Fatalf("%+v %v", out, err)
		}
		if len(out.Volumes) == 0 {
			return types.Volume{}
		}
		return out.Volumes[0]
	}
	if v := described(); v.VolumeId != nil {
		t.Errorf("it shows at once: %+v", v)
	}
	b.clock.Advance(time.Minute)
	if v := described(); v.State != "available" || !v.CreateTime.Equal(*made.CreateTime) || len(v.Attachments) != 0 {
		t.Errorf("after a minute: %+v", v)
	}
	attach := &sdk.AttachVolumeInput{VolumeId: made.VolumeId, InstanceId: &id, Device: aws.String("/dev/xvdaa")}
	if out, err := b.sdk.AttachVolume(t.Context(), attach); err != nil || out.State != "attaching" || *out.DeleteOnTermination {
		t.Fatalf("attached %+v %v", out, err)
	}
	if v := described(); v.State != "in-use" || *v.Attachments[0].InstanceId != id || *v.Attachments[0].Device != "/dev/xvdaa" || !v.CreateTime.Equal(*made.CreateTime) {
		t.Errorf("attached: %+v", v)
	}
	_, err = b.sdk.AttachVolume(t.Context(), attach)
	wantCode(t, "attached twice", err, "VolumeInUse")
	_, err = b.sdk.DeleteVolume(t.Context(), &sdk.DeleteVolumeInput{VolumeId: made.VolumeId})
	wantCode(t, "deleted while it is attached", err, "VolumeInUse")
	_, err = b.sdk.DetachVolume(t.Context(), &sdk.DetachVolumeInput{VolumeId: made.VolumeId, InstanceId: aws.String("i-01234567890123456")})
	wantCode(t, "detached from another", err, "InvalidAttachment.NotFound")
	if out, err := b.sdk.DetachVolume(t.Context(), &sdk.DetachVolumeInput{VolumeId: made.VolumeId, InstanceId: &id}); err != nil || out.State != "detaching" {
		t.Fatalf("detached %+v %v", out, err)
	}
	_, err = b.sdk.DetachVolume(t.Context(), &sdk.DetachVolumeInput{VolumeId: made.VolumeId})
	wantCode(t, "detached twice", err, "IncorrectState")
	if _, err := b.sdk.AttachVolume(t.Context(), attach); err != nil {
		t.Fatal(err)
	}
	if _, err := b.sdk.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	if v := described(); v.State != "available" {
		t.Errorf("after the end of the instance: %+v", v)
	}
	if _, err := b.sdk.DeleteVolume(t.Context(), &sdk.DeleteVolumeInput{VolumeId: made.VolumeId}); err != nil {
		t.Fatal(err)
	}
	if v := described(); v.VolumeId != nil {
		t.Errorf("after it was deleted: %+v", v)
	}
	_, err = b.sdk.DeleteVolume(t.Context(), &sdk.DeleteVolumeInput{VolumeId: made.VolumeId})
	wantCode(t, "deleted twice", err, "InvalidVolume.NotFound")
}

func TestVolumesOfTheAccountsOwnAreRefused(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		in   sdk.CreateVolumeInput
		code string
	}{
		"no size":              {sdk.CreateVolumeInput{AvailabilityZone: aws.String("us-west-2a")}, "MissingParameter"},
		"no zone":              {sdk.CreateVolumeInput{Size: aws.Int32(1)}, "InvalidParameterCombination"},
		"another zone":         {sdk.CreateVolumeInput{Size: aws.Int32(1), AvailabilityZone: aws.String("us-west-2z")}, "InvalidZone.NotFound"},
		"too large":            {sdk.CreateVolumeInput{Size: aws.Int32(16385), AvailabilityZone: aws.String("us-west-2a")}, "InvalidParameterValue"},
		"too small":            {sdk.CreateVolumeInput{Size: aws.Int32(124), VolumeType: "st1", AvailabilityZoneId: aws.String("usw2-az2")}, "InvalidParameterValue"},
		"iops of its type":     {sdk.CreateVolumeInput{Size: aws.Int32(10), VolumeType: "io1", AvailabilityZone: aws.String("us-west-2a")}, "MissingParameter"},
		"tags of another kind": {sdk.CreateVolumeInput{Size: aws.Int32(1), AvailabilityZone: aws.String("us-west-2a"), TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance}}}, "InvalidParameterValue"},
		"several instances":    {sdk.CreateVolumeInput{Size: aws.Int32(1), AvailabilityZone: aws.String("us-west-2a"), MultiAttachEnabled: aws.Bool(true)}, "UnsupportedOperation"},
		"a snapshot":           {sdk.CreateVolumeInput{SnapshotId: aws.String("snap-1"), AvailabilityZone: aws.String("us-west-2a")}, "UnknownParameter"},
	} {
		_, err := b.sdk.CreateVolume(t.Context(), &c.in)
		wantCode(t, name, err, c.code)
	}
	b.template(t, "nodes")
	id := b.launchOne(t)
	made, err := b.sdk.CreateVolume(t.Context(), &sdk.CreateVolumeInput{Size: aws.Int32(1), AvailabilityZoneId: aws.String("usw2-az2")})
	if err != nil {
		t.Fatal(err)
	}
	attach := &sdk.AttachVolumeInput{VolumeId: made.VolumeId, InstanceId: &id, Device: aws.String("/dev/xvdaa")}
	b.clock.Advance(5 * time.Second)
	_, err = b.sdk.AttachVolume(t.Context(), attach)
	wantCode(t, "an instance that boots", err, "IncorrectState")
	b.clock.Advance(time.Minute)
	_, err = b.sdk.AttachVolume(t.Context(), attach)
	wantCode(t, "an instance of another zone", err, "InvalidVolume.ZoneMismatch")
	near, err := b.sdk.CreateVolume(t.Context(), &sdk.CreateVolumeInput{Size: aws.Int32(1), AvailabilityZone: aws.String("us-west-2a")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.sdk.AttachVolume(t.Context(), &sdk.AttachVolumeInput{VolumeId: near.VolumeId, InstanceId: &id, Device: aws.String("/dev/xvda")})
	wantCode(t, "a device that is in use", err, "InvalidParameterValue")
	root := b.describe(t)[0].BlockDeviceMappings[0].Ebs.VolumeId
	_, err = b.sdk.DetachVolume(t.Context(), &sdk.DetachVolumeInput{VolumeId: root})
	wantCode(t, "the root of an instance", err, "OperationNotPermitted")
	_, err = b.sdk.DeleteVolume(t.Context(), &sdk.DeleteVolumeInput{VolumeId: aws.String("disk")})
	wantCode(t, "no id", err, "InvalidVolumeID.Malformed")
}
