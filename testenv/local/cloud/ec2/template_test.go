package ec2_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestLaunchTemplatesGiveBackWhatTheyWereMadeOf(t *testing.T) {
	b := newBench(t)
	data := &types.RequestLaunchTemplateData{
		ImageId:            aws.String("ami-00000000000000000"), // not looked at before a launch
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes")},
		UserData:           aws.String(base64.StdEncoding.EncodeToString([]byte("boot"))),
		Monitoring:         &types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(false)},
		BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: aws.String("/dev/xvda"),
			Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(30), VolumeType: types.VolumeTypeGp3, Encrypted: aws.Bool(true)}}},
		NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
			DeviceIndex: aws.Int32(0), Groups: []string{"sg-1", "sg-2"}, Ipv4PrefixCount: aws.Int32(2),
			ConnectionTrackingSpecification: &types.ConnectionTrackingSpecificationRequest{UdpTimeout: aws.Int32(30)}}},
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: types.LaunchTemplateHttpTokensStateRequired,
			HttpPutResponseHopLimit: aws.Int32(1), HttpEndpoint: types.LaunchTemplateInstanceMetadataEndpointStateEnabled},
		Placement:         &types.LaunchTemplatePlacementRequest{Tenancy: types.TenancyDedicated},
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeNetworkInterface, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}},
		CapacityReservationSpecification: &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: types.CapacityReservationPreferenceNone},
	}
	created, err := b.sdk.CreateLaunchTemplate(t.Context(), &sdk.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("karpenter.k8s.aws/1"), LaunchTemplateData: data, TagSpecifications: tagged("launch-template", "cluster")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.sdk.DescribeLaunchTemplateVersions(t.Context(), &sdk.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: created.LaunchTemplate.LaunchTemplateId, Versions: []string{"$Latest"}})
	if err != nil {
		t.Fatal(err)
	}
	got := out.LaunchTemplateVersions[0].LaunchTemplateData
	face := got.NetworkInterfaces[0]
	if *got.ImageId != *data.ImageId || *got.IamInstanceProfile.Name != "nodes" || *got.UserData != *data.UserData || *got.Monitoring.Enabled ||
		*got.BlockDeviceMappings[0].Ebs.VolumeSize != 30 || len(face.Groups) != 2 || face.Groups[1] != "sg-2" || *face.Ipv4PrefixCount != 2 ||
		*face.ConnectionTrackingSpecification.UdpTimeout != 30 || got.MetadataOptions.HttpTokens != "required" || got.Placement.Tenancy != "dedicated" ||
		*got.TagSpecifications[0].Tags[0].Value != "v" || got.CapacityReservationSpecification.CapacityReservationPreference != "none" {
		t.Errorf("got %+v", got)
	}
	listed, err := b.sdk.DescribeLaunchTemplates(t.Context(), &sdk.DescribeLaunchTemplatesInput{Filters: []types.Filter{by("tag:cluster", "*")}})
	if err != nil || len(listed.LaunchTemplates) != 1 || *listed.LaunchTemplates[0].LaunchTemplateName != "karpenter.k8s.aws/1" {
		t.Errorf("listed %+v, %v", listed, err)
	}
}

func TestLaunchTemplatesRefuse(t *testing.T) {
	b := newBench(t)
	b.template(t, "taken")
	big := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 16385)))
	tests := map[string]struct {
		name string
		data *types.RequestLaunchTemplateData
		code string
	}{
		"a name that is taken":         {"taken", &types.RequestLaunchTemplateData{InstanceType: types.InstanceTypeM5Large}, "InvalidLaunchTemplateName.AlreadyExistsException"},
		"a short name":                 {"ab", &types.RequestLaunchTemplateData{InstanceType: types.InstanceTypeM5Large}, "InvalidLaunchTemplateName.MalformedException"},
		"too much user data":           {"new", &types.RequestLaunchTemplateData{UserData: &big}, "InvalidUserData.Malformed"},
		"user data that is not base64": {"new", &types.RequestLaunchTemplateData{UserData: aws.String("%")}, "InvalidUserData.Malformed"},
		"groups at both levels": {"new", &types.RequestLaunchTemplateData{SecurityGroupIds: []string{"sg-1"},
			NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0)}}}, "InvalidParameterCombination"},
	}
	for name, tt := range tests {
		_, err := b.sdk.CreateLaunchTemplate(t.Context(), &sdk.CreateLaunchTemplateInput{LaunchTemplateName: &tt.name, LaunchTemplateData: tt.data})
		wantCode(t, name, err, tt.code)
	}
}

func TestFleetsTakeTheVersionTheyName(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	_, err := b.sdk.CreateLaunchTemplateVersion(t.Context(), &sdk.CreateLaunchTemplateVersionInput{
		LaunchTemplateName: aws.String("nodes"), LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId: aws.String(imageFor("x86_64")), UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("second")))}})
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"$Latest": "second", "$Default": "hello", "1": "hello", "2": "second"} {
		in := fleetOf(1, onDemand, b.over("m5.large", "a"))
		in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.Version = &version
		b.fleet(t, in)
		launches := b.Launches()
		if got := string(launches[len(launches)-1].UserData); got != want {
			t.Errorf("version %s: user data %q, want %q", version, got, want)
		}
	}
	if _, err := b.sdk.DeleteLaunchTemplate(t.Context(), &sdk.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("nodes")}); err != nil {
		t.Fatal(err)
	}
	_, err = b.sdk.CreateFleet(t.Context(), fleetOf(1, onDemand, b.over("m5.large", "a")))
	wantCode(t, "launch from a deleted template", err, "InvalidLaunchTemplateName.NotFoundException")
}

func TestTagsAreSetReplacedAndRemoved(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	id := b.launchOne(t)
	b.clock.Advance(time.Minute)
	set := func(key, value string) error {
		_, err := b.sdk.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: &key, Value: &value}}})
		b.clock.Advance(2 * time.Second)
		return err
	}
	for _, value := range []string{"one", "two"} {
		if err := set("Name", value); err != nil {
			t.Fatal(err)
		}
	}
	show := func(filters ...types.Filter) []types.TagDescription {
		out, err := b.sdk.DescribeTags(t.Context(), &sdk.DescribeTagsInput{Filters: append(filters, by("resource-id", id), by("key", "Name"))})
		if err != nil {
			t.Fatal(err)
		}
		return out.Tags
	}
	if tags := show(by("resource-type", "instance")); len(tags) != 1 || *tags[0].Value != "two" {
		t.Errorf("tags %+v, want Name=two", tags)
	}
	remove := func(value *string) {
		_, err := b.sdk.DeleteTags(t.Context(), &sdk.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("Name"), Value: value}}})
		if err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(2 * time.Second)
	}
	if remove(aws.String("other")); len(show()) != 1 {
		t.Error("a tag of another value was removed")
	}
	if remove(nil); len(show()) != 0 {
		t.Error("the tag is still there")
	}
	wantCode(t, "a reserved key", set("aws:x", "y"), "InvalidParameterValue")
	for i := range 50 {
		if err := set("key"+string(rune('A'+i)), ""); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, "the 51st tag", set("one more", ""), "TagLimitExceeded")
}
