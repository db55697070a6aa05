package ec2fleet

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// Each field of a disk of the class reaches EC2, also where it says false, and what the class does not say is left to
// EC2.
func TestDisksOfATemplateAreTheClasss(t *testing.T) {
	data := drafted(t, func(l *model.Launch, _ *model.LaunchTemplate) {
		l.Class.BlockDevices = []model.BlockDevice{
			{
				DeviceName: "/dev/xvda", RootVolume: true, VolumeSizeGiB: 70, VolumeType: "gp3", IOPS: 4000,
				Throughput: 300, SnapshotID: "snap-1", KMSKeyID: "alias/disks", Encrypted: aws.Bool(false),
				DeleteOnTermination: aws.Bool(false), InitializationRate: 150,
			},
			{DeviceName: "/dev/xvdb", VolumeSizeGiB: 5},
		}
	})
	want := []types.LaunchTemplateBlockDeviceMappingRequest{
		{DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{
			VolumeSize: aws.Int32(70), VolumeType: types.VolumeTypeGp3, Iops: aws.Int32(4000),
			Throughput: aws.Int32(300), SnapshotId: aws.String("snap-1"), KmsKeyId: aws.String("alias/disks"),
			Encrypted: aws.Bool(false), DeleteOnTermination: aws.Bool(false),
			VolumeInitializationRate: aws.Int32(150),
		}},
		{DeviceName: aws.String("/dev/xvdb"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{
			VolumeSize: aws.Int32(5),
		}},
	}
	if got := data.BlockDeviceMappings; !reflect.DeepEqual(got, want) {
		for i := range got {
			t.Errorf("%s: %+v", aws.ToString(got[i].DeviceName), *got[i].Ebs)
		}
	}
}

// A class without disks gets those of its family's images, encrypted; an image of one's own keeps what it has.
func TestDisksOfAFamily(t *testing.T) {
	for family, want := range map[string]map[string]int32{
		"AL2":          {"/dev/xvda": 20},
		"AL2023":       {"/dev/xvda": 20},
		"Bottlerocket": {"/dev/xvda": 4, "/dev/xvdb": 20},
		"Windows2022":  {"/dev/sda1": 50},
		"Custom":       {},
	} {
		data := drafted(t, func(l *model.Launch, _ *model.LaunchTemplate) { l.Class.Family = family })
		got := map[string]int32{}
		for _, m := range data.BlockDeviceMappings {
			got[aws.ToString(m.DeviceName)] = aws.ToInt32(m.Ebs.VolumeSize)
			if m.Ebs.VolumeType != types.VolumeTypeGp3 || !aws.ToBool(m.Ebs.Encrypted) {
				t.Errorf("%s: %+v", family, *m.Ebs)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s has disks %v, want %v", family, got, want)
		}
	}
}

// Each metadata option of the class reaches EC2, and what the class does not say is left to EC2.
func TestMetadataOptionsOfATemplateAreTheClasss(t *testing.T) {
	data := drafted(t, func(l *model.Launch, _ *model.LaunchTemplate) {
		l.Class.Metadata = model.MetadataOptions{HTTPEndpoint: "disabled", HTTPProtocolIPv6: "enabled",
			HTTPPutResponseHopLimit: 3, HTTPTokens: "optional"}
	})
	want := &types.LaunchTemplateInstanceMetadataOptionsRequest{
		HttpEndpoint: "disabled", HttpProtocolIpv6: "enabled", HttpPutResponseHopLimit: aws.Int32(3),
		HttpTokens: "optional", InstanceMetadataTags: "disabled",
	}
	if !reflect.DeepEqual(data.MetadataOptions, want) {
		t.Errorf("%+v", data.MetadataOptions)
	}
	plain := drafted(t, nil).MetadataOptions
	if plain.HttpPutResponseHopLimit != nil || plain.HttpTokens != "" || plain.HttpEndpoint != "" {
		t.Errorf("nothing asked for: %+v", plain)
	}
}
