package ec2fleet

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// ensureTemplate returns the name of the launch template with this content, made where EC2 does not have it.
func (f *Fleet) ensureTemplate(ctx context.Context, launch model.Launch, t model.LaunchTemplate) (string, error) {
	data := templateData(launch, t)
	content, err := json.Marshal(data)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, "", err, "encode launch template of class %s", launch.Class.Name)
	}
	digest := sha256.Sum256(content)
	name := "joiner/" + launch.Cluster + "/" + hex.EncodeToString(digest[:16])
	if f.known(name) {
		return name, nil
	}
	tags := templateTags(launch)
	_, err = f.client.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(name), LaunchTemplateData: data,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: sdkTags(tags)}},
	})
	if err != nil && !strings.HasPrefix(code(err), "InvalidLaunchTemplateName.AlreadyExists") {
		return "", translate(err, "make launch template of class %s", launch.Class.Name)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.made[name] = true
	return name, nil
}

func (f *Fleet) known(name string) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.made[name]
}

// templateTags are those of tagsOf that do not change from launch to launch.
func templateTags(launch model.Launch) map[string]string {
	tags := tagsOf(launch)
	delete(tags, TagIntent)
	delete(tags, "karpenter.sh/nodeclaim")
	return tags
}

// templateData is what every machine of the template has in common.
func templateData(launch model.Launch, t model.LaunchTemplate) *types.RequestLaunchTemplateData {
	class := launch.Class
	groups := make([]string, len(class.Status.SecurityGroups))
	for i, group := range class.Status.SecurityGroups {
		groups[i] = group.ID
	}
	data := &types.RequestLaunchTemplateData{
		ImageId:            aws.String(t.ImageID),
		UserData:           aws.String(base64.StdEncoding.EncodeToString(t.UserData)),
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(class.Status.InstanceProfile)},
		Monitoring:         &types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(class.DetailedMonitoring)},
		MetadataOptions:    metadataOptions(class.Metadata),
		NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
			DeviceIndex: aws.Int32(0), Groups: groups, AssociatePublicIpAddress: class.AssociatePublicIPAddress,
		}},
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: types.ResourceTypeNetworkInterface, Tags: sdkTags(templateTags(launch))},
		},
	}
	if launch.CapacityType == model.Spot {
		data.TagSpecifications = append(data.TagSpecifications,
			types.LaunchTemplateTagSpecificationRequest{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: sdkTags(templateTags(launch))})
	}
	for _, device := range blockDevices(class) {
		data.BlockDeviceMappings = append(data.BlockDeviceMappings, mapping(device))
	}
	return data
}

func metadataOptions(options model.MetadataOptions) *types.LaunchTemplateInstanceMetadataOptionsRequest {
	out := &types.LaunchTemplateInstanceMetadataOptionsRequest{
		HttpEndpoint:     types.LaunchTemplateInstanceMetadataEndpointState(options.HTTPEndpoint),
		HttpProtocolIpv6: types.LaunchTemplateInstanceMetadataProtocolIpv6(options.HTTPProtocolIPv6),
		HttpTokens:       types.LaunchTemplateHttpTokensState(options.HTTPTokens),
		// Our tag keys hold characters that tags in instance metadata may not have.
		InstanceMetadataTags: types.LaunchTemplateInstanceMetadataTagsStateDisabled,
	}
	if options.HTTPPutResponseHopLimit > 0 {
		out.HttpPutResponseHopLimit = aws.Int32(int32(options.HTTPPutResponseHopLimit))
	}
	return out
}

// blockDevices are the class's own, or the family's where it names none.
func blockDevices(class model.Class) []model.BlockDevice {
	if len(class.BlockDevices) > 0 {
		return class.BlockDevices
	}
	disk := func(name string, sizeGiB int64) model.BlockDevice {
		return model.BlockDevice{DeviceName: name, VolumeSizeGiB: sizeGiB, VolumeType: "gp3", Encrypted: aws.Bool(true)}
	}
	switch class.Family {
	case "AL2", "AL2023":
		return []model.BlockDevice{disk("/dev/xvda", 20)}
	case "Bottlerocket":
		return []model.BlockDevice{disk("/dev/xvda", 4), disk("/dev/xvdb", 20)}
	case "Windows2019", "Windows2022", "Windows2025":
		return []model.BlockDevice{disk("/dev/sda1", 50)}
	}
	return nil
}

func mapping(device model.BlockDevice) types.LaunchTemplateBlockDeviceMappingRequest {
	ebs := &types.LaunchTemplateEbsBlockDeviceRequest{
		Encrypted: device.Encrypted, DeleteOnTermination: device.DeleteOnTermination, VolumeType: types.VolumeType(device.VolumeType),
	}
	text := func(value string) *string {
		if value == "" {
			return nil
		}
		return aws.String(value)
	}
	count := func(value int64) *int32 {
		if value == 0 {
			return nil
		}
		return aws.Int32(int32(value))
	}
	ebs.SnapshotId, ebs.KmsKeyId = text(device.SnapshotID), text(device.KMSKeyID)
	ebs.VolumeSize, ebs.Iops, ebs.Throughput = count(device.VolumeSizeGiB), count(device.IOPS), count(device.Throughput)
	ebs.VolumeInitializationRate = count(device.InitializationRate)
	return types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: text(device.DeviceName), Ebs: ebs}
}
