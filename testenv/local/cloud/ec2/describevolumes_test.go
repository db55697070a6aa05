package ec2_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestVolumesAreDescribedAsTheyWereMade(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
		d.BlockDeviceMappings = []types.LaunchTemplateBlockDeviceMappingRequest{
			{DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(20), VolumeType: "io2", Iops: aws.Int32(1000), Encrypted: aws.Bool(true)}},
			{DeviceName: aws.String("/dev/xvdb"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(100), DeleteOnTermination: aws.Bool(false)}},
			{DeviceName: aws.String("/dev/xvdc"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(1), VolumeType: "gp3"}},
		}
		d.TagSpecifications = []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}}}}
	})
	id := b.launchOne(t)
	if out, err := b.sdk.DescribeVolumes(t.Context(), &sdk.DescribeVolumesInput{}); err != nil || len(out.Volumes) != 0 {
		t.Errorf("before their instance shows: %+v %v", out, err)
	}
	b.clock.Advance(time.Minute)
	out, err := b.sdk.DescribeVolumes(t.Context(), &sdk.DescribeVolumesInput{Filters: []types.Filter{by("attachment.instance-id", id), by("tag:team", "a")}})
	if err != nil || len(out.Volumes) != 3 {
		t.Fatalf("%+v %v", out, err)
	}
	at := map[string]types.Volume{}
	for _, v := range out.Volumes {
		at[*v.Attachments[0].Device] = v
	}
	root, kept, gp3 := at["/dev/xvda"], at["/dev/xvdb"], at["/dev/xvdc"]
	if !*root.Encrypted || !strings.HasPrefix(*root.KmsKeyId, "arn:aws:kms:us-west-2:") || *root.Size != 20 || *root.Iops != 1000 || root.VolumeType != "io2" || *root.SnapshotId == "" || root.State != "in-use" || *root.AvailabilityZone != "us-west-2a" {
		t.Errorf("root %+v", root)
	}
	if kept.VolumeType != "gp2" || *kept.Iops != 300 || *kept.Encrypted || *kept.Attachments[0].DeleteOnTermination {
		t.Errorf("a volume of which the size alone was said %+v", kept)
	}
	if *gp3.Iops != 3000 || *gp3.Throughput != 125 {
		t.Errorf("gp3 %+v", gp3)
	}
	shown := b.describe(t)[0].BlockDeviceMappings
	if !slices.ContainsFunc(shown, func(m types.InstanceBlockDeviceMapping) bool { return *m.Ebs.VolumeId == *root.VolumeId }) {
		t.Errorf("the instance has %+v", shown)
	}
	if _, err := b.sdk.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	out, err = b.sdk.DescribeVolumes(t.Context(), &sdk.DescribeVolumesInput{Filters: []types.Filter{by("tag:team", "a")}})
	if err != nil || len(out.Volumes) != 1 || *out.Volumes[0].VolumeId != *kept.VolumeId || out.Volumes[0].State != "available" || len(out.Volumes[0].Attachments) != 0 {
		t.Errorf("after the end of the instance: %+v %v, want the one that was to stay", out, err)
	}
	if _, err := b.sdk.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{*kept.VolumeId}, Tags: []types.Tag{{Key: aws.String("left"), Value: aws.String("1")}}}); err != nil {
		t.Error(err)
	}
	_, err = b.sdk.DescribeVolumes(t.Context(), &sdk.DescribeVolumesInput{VolumeIds: []string{*root.VolumeId}})
	wantCode(t, "one that went with its instance", err, "InvalidVolume.NotFound")
	_, err = b.sdk.DescribeVolumes(t.Context(), &sdk.DescribeVolumesInput{VolumeIds: []string{"disk"}})
	wantCode(t, "no id", err, "InvalidVolumeID.Malformed")
	_, err = b.sdk.DescribeVolumes(t.Context(), &sdk.DescribeVolumesInput{VolumeIds: []string{*kept.VolumeId}, MaxResults: aws.Int32(5)})
	wantCode(t, "ids and pages", err, "InvalidParameterCombination")
}

func TestNetworkInterfacesAreDescribedWithTheirInstanceAndTags(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
		d.SecurityGroupIds = nil
		d.NetworkInterfaces = []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
			DeviceIndex: aws.Int32(0), Groups: []string{b.SecurityGroups()[1].ID}, AssociatePublicIpAddress: aws.Bool(true),
			ConnectionTrackingSpecification: &types.ConnectionTrackingSpecificationRequest{TcpEstablishedTimeout: aws.Int32(300)},
		}}
		d.TagSpecifications = []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeNetworkInterface, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}}}}
	})
	id := b.launchOne(t)
	b.template(t, "plain")
	in := fleetOf(1, od, b.over("m5.large", "b"))
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("plain")
	other := launchedIDs(b.fleet(t, in))[0]
	b.clock.Advance(time.Minute)
	find := func(filters ...types.Filter) []types.NetworkInterface {
		t.Helper()
		out, err := b.sdk.DescribeNetworkInterfaces(t.Context(), &sdk.DescribeNetworkInterfacesInput{Filters: filters})
		if err != nil {
			t.Fatal(err)
		}
		return out.NetworkInterfaces
	}
	found := find(by("tag:team", "a"), by("attachment.status", "attached"))
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	n, shown := found[0], b.describe(t)[0].NetworkInterfaces[0]
	if *n.NetworkInterfaceId != *shown.NetworkInterfaceId || *n.Attachment.InstanceId != id || *n.Attachment.InstanceOwnerId != b.Account() || *n.AvailabilityZone != "us-west-2a" ||
		*n.ConnectionTrackingConfiguration.TcpEstablishedTimeout != 300 || n.Status != "in-use" || *n.PrivateIpAddress != *shown.PrivateIpAddress || *n.Groups[0].GroupId != b.SecurityGroups()[1].ID {
		t.Errorf("interface %+v", n)
	}
	if len(n.PrivateIpAddresses) != 1 || !*n.PrivateIpAddresses[0].Primary || *n.PrivateIpAddresses[0].Association.PublicIp != *n.Association.PublicIp {
		t.Errorf("addresses %+v", n.PrivateIpAddresses)
	}
	if plain := find(by("attachment.instance-id", other)); len(plain) != 1 || plain[0].ConnectionTrackingConfiguration != nil || len(plain[0].TagSet) != 0 {
		t.Errorf("one of which nothing was said: %+v", plain)
	}
	if _, err := b.sdk.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{*n.NetworkInterfaceId}, Tags: []types.Tag{{Key: aws.String("late"), Value: aws.String("1")}}}); err != nil {
		t.Error(err)
	}
	if _, err := b.sdk.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	_, err := b.sdk.DescribeNetworkInterfaces(t.Context(), &sdk.DescribeNetworkInterfacesInput{NetworkInterfaceIds: []string{*n.NetworkInterfaceId}})
	wantCode(t, "one whose instance has ended", err, "InvalidNetworkInterfaceID.NotFound")
	_, err = b.sdk.DescribeNetworkInterfaces(t.Context(), &sdk.DescribeNetworkInterfacesInput{NetworkInterfaceIds: []string{"nic"}})
	wantCode(t, "no id", err, "InvalidNetworkInterfaceId.Malformed")
}

func TestAttributesOfAnInstanceAreToldOneByOne(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) { d.DisableApiStop = aws.Bool(true) })
	id := b.launchOne(t)
	_, err := b.sdk.DescribeInstanceAttribute(t.Context(), &sdk.DescribeInstanceAttributeInput{InstanceId: &id, Attribute: "userData"})
	wantCode(t, "an instance that does not show yet", err, "InvalidInstanceID.NotFound")
	b.clock.Advance(time.Minute)
	ask := func(attribute types.InstanceAttributeName) *sdk.DescribeInstanceAttributeOutput {
		t.Helper()
		out, err := b.sdk.DescribeInstanceAttribute(t.Context(), &sdk.DescribeInstanceAttributeInput{InstanceId: &id, Attribute: attribute})
		if err != nil || *out.InstanceId != id {
			t.Fatalf("%s: %+v %v", attribute, out, err)
		}
		return out
	}
	data := ask("userData")
	if text, err := base64.StdEncoding.DecodeString(*data.UserData.Value); err != nil || string(text) != "hello" {
		t.Errorf("user data %q %v", text, err)
	}
	if data.InstanceType != nil || data.DisableApiTermination != nil || data.Groups != nil {
		t.Errorf("with the user data came %+v", data)
	}
	if v := ask("instanceType").InstanceType; *v.Value != "m5.large" {
		t.Errorf("type %+v", v)
	}
	if v := ask("disableApiStop").DisableApiStop; !*v.Value {
		t.Error("it may be stopped")
	}
	if v := ask("disableApiTermination").DisableApiTermination; *v.Value {
		t.Error("it may not be terminated")
	}
	if v := ask("instanceInitiatedShutdownBehavior").InstanceInitiatedShutdownBehavior; *v.Value != "stop" {
		t.Errorf("at shutdown %+v", v)
	}
	if v := ask("groupSet").Groups; len(v) != 1 || *v[0].GroupId != b.SecurityGroups()[1].ID {
		t.Errorf("groups %+v", v)
	}
	if v := ask("blockDeviceMapping").BlockDeviceMappings; len(v) != 1 || *v[0].DeviceName != "/dev/xvda" {
		t.Errorf("devices %+v", v)
	}
	for _, attribute := range []types.InstanceAttributeName{"enaSupport", "color"} {
		_, err := b.sdk.DescribeInstanceAttribute(t.Context(), &sdk.DescribeInstanceAttributeInput{InstanceId: &id, Attribute: attribute})
		wantCode(t, string(attribute), err, "InvalidParameterValue")
	}
}
