package ec2fleet

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// freshFor is for how long after it was made a template that is missing may only not be known yet.
const freshFor = 30 * time.Second

// ensureTemplate returns the name of the launch template with this content, made where EC2 does not have it. A name
// this process has not used for a while is made sure of again: somebody may have tidied it away.
func (f *Fleet) ensureTemplate(ctx context.Context, launch model.Launch, t model.LaunchTemplate) (string, error) {
	data, err := templateData(f.client.Options().Region, launch, t)
	if err != nil {
		return "", err
	}
	content, err := json.Marshal(data)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, "", err, "encode launch template of EC2NodeClass %s", launch.Class.Name)
	}
	digest := sha256.Sum256(content)
	name := templatePrefix(launch.Cluster) + hex.EncodeToString(digest[:16])
	if f.known(name) {
		return name, nil
	}
	tags := templateTags(launch)
	_, err = f.client.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(name), LaunchTemplateData: data,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate,
			Tags: sdkTags(tags)}},
	})
	if err != nil && !strings.HasPrefix(sdkerr.Code(err), "InvalidLaunchTemplateName.AlreadyExists") {
		return "", translate(err, "create launch template of EC2NodeClass %s", launch.Class.Name)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.made[name] = f.now(); err == nil {
		maps.DeleteFunc(f.born, func(_ string, made time.Time) bool { return f.now().Sub(made) >= freshFor })
		f.born[name] = f.now()
	}
	return name, nil
}

// trusted is for how long after its last use a launch template is taken to be there still: less than what tidying up
// leaves alone.
const trusted = 30 * time.Minute

// known reports whether the template is surely there, and notes that it is used.
func (f *Fleet) known(name string) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	used, made := f.made[name]
	if !made || f.now().Sub(used) >= trusted {
		return false
	}
	f.made[name] = f.now()
	return true
}

// templateTags are those of tagsOf that do not change from launch to launch.
func templateTags(launch model.Launch) map[string]string {
	tags := tagsOf(launch)
	delete(tags, TagIntent)
	delete(tags, "karpenter.sh/nodeclaim")
	return tags
}

// templateData is what every instance of the template has in common. Placement is there only where something is asked
// for.
func templateData(region string, launch model.Launch, t model.LaunchTemplate) (*types.RequestLaunchTemplateData,
	error) {
	class := launch.Class
	interfaces, err := networkInterfaces(launch, t)
	if err != nil {
		return nil, err
	}
	profile := aws.String(class.Status.InstanceProfile)
	monitoring := aws.Bool(class.DetailedMonitoring)
	data := &types.RequestLaunchTemplateData{
		ImageId:                          aws.String(t.ImageID),
		UserData:                         aws.String(base64.StdEncoding.EncodeToString(t.UserData)),
		IamInstanceProfile:               &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: profile},
		Monitoring:                       &types.LaunchTemplatesMonitoringRequest{Enabled: monitoring},
		MetadataOptions:                  metadataOptions(region, class.Metadata),
		NetworkInterfaces:                interfaces,
		Placement:                        placement(class, t),
		CapacityReservationSpecification: reservation(launch, t),
		InstanceMarketOptions:            market(t),
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: types.ResourceTypeNetworkInterface, Tags: sdkTags(templateTags(launch))},
		},
	}
	if class.NestedVirtualization != "" {
		data.CpuOptions = &types.LaunchTemplateCpuOptionsRequest{
			NestedVirtualization: types.NestedVirtualizationSpecification(class.NestedVirtualization),
		}
	}
	if t.Enclaves {
		data.EnclaveOptions = &types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(true)}
	}
	if launch.CapacityType == model.Spot {
		data.TagSpecifications = append(data.TagSpecifications,
			types.LaunchTemplateTagSpecificationRequest{ResourceType: types.ResourceTypeSpotInstancesRequest,
				Tags: sdkTags(templateTags(launch))})
	}
	for _, device := range blockDevices(class) {
		data.BlockDeviceMappings = append(data.BlockDeviceMappings, mapping(device))
	}
	return data, nil
}

// placement is nil where EC2 may choose everything itself.
func placement(class model.Class, t model.LaunchTemplate) *types.LaunchTemplatePlacementRequest {
	group := class.Status.PlacementGroup
	if group == nil && !t.Dedicated {
		return nil
	}
	out := &types.LaunchTemplatePlacementRequest{}
	if t.Dedicated {
		out.Tenancy = types.TenancyDedicated
	}
	if group != nil {
		out.GroupId = aws.String(group.ID)
	}
	if group != nil && t.Partition > 0 {
		out.PartitionNumber = aws.Int32(int32(t.Partition))
	}
	return out
}

// opens reports whether instances of the launch take open capacity reservations, which nobody selected.
func opens(launch model.Launch) bool {
	return launch.CapacityType == model.OnDemand &&
		launch.Class.Annotations[model.AnnotationOpenReservations] == model.OpenReservationsFirst
}

// reservation says which capacity reservation an instance runs in. One that was not bought as reserved capacity takes
// none, not even an open one that would match it, unless its class says so: a reservation is used by those who select
// it.
func reservation(launch model.Launch,
	t model.LaunchTemplate) *types.LaunchTemplateCapacityReservationSpecificationRequest {
	if t.Reservation == "" {
		preference := types.CapacityReservationPreferenceNone
		if opens(launch) {
			preference = types.CapacityReservationPreferenceOpen
		}
		return &types.LaunchTemplateCapacityReservationSpecificationRequest{CapacityReservationPreference: preference}
	}
	return &types.LaunchTemplateCapacityReservationSpecificationRequest{
		CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly,
		CapacityReservationTarget: &types.CapacityReservationTarget{
			CapacityReservationId: aws.String(t.Reservation),
		},
	}
}

func market(t model.LaunchTemplate) *types.LaunchTemplateInstanceMarketOptionsRequest {
	switch {
	case t.Reservation != "" && t.Block:
		return &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
	case t.Reservation != "" && t.Interruptible:
		return &types.LaunchTemplateInstanceMarketOptionsRequest{
			MarketType: types.MarketTypeInterruptibleCapacityReservation,
		}
	}
	return nil
}

// metadataOptions leaves out the IPv6 endpoint in regions whose EC2 does not know it.
func metadataOptions(region string, options model.MetadataOptions) *types.LaunchTemplateInstanceMetadataOptionsRequest {
	out := &types.LaunchTemplateInstanceMetadataOptionsRequest{
		HttpEndpoint:     types.LaunchTemplateInstanceMetadataEndpointState(options.HTTPEndpoint),
		HttpProtocolIpv6: types.LaunchTemplateInstanceMetadataProtocolIpv6(options.HTTPProtocolIPv6),
		HttpTokens:       types.LaunchTemplateHttpTokensState(options.HTTPTokens),
		// Our tag keys hold characters that tags in instance metadata may not have.
		InstanceMetadataTags: types.LaunchTemplateInstanceMetadataTagsStateDisabled,
	}
	if isolated(region) {
		out.HttpProtocolIpv6 = ""
	}
	if options.HTTPPutResponseHopLimit > 0 {
		out.HttpPutResponseHopLimit = aws.Int32(int32(options.HTTPPutResponseHopLimit))
	}
	return out
}

// isolated reports whether the region is of one of the isolated partitions.
func isolated(region string) bool {
	for _, prefix := range []string{"us-iso-", "us-isob-", "us-isof-"} {
		if strings.HasPrefix(region, prefix) {
			return true
		}
	}
	return false
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
		Encrypted: device.Encrypted, DeleteOnTermination: device.DeleteOnTermination,
		VolumeType: types.VolumeType(device.VolumeType),
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

// templatePrefix is what names of a cluster's launch templates begin with; a digest of 32 characters follows. EC2 takes
// 128 characters (API reference, CreateLaunchTemplate), which leaves 88 for the cluster.
func templatePrefix(cluster string) string { return "joiner/" + wire.Shorten(cluster, 88, 16) + "/" }

// tagsOf are the tags of instance, volume and fleet. What the class asks for comes first; ours win.
func tagsOf(launch model.Launch) map[string]string {
	tags := map[string]string{}
	for key, value := range launch.Class.Tags {
		tags[key] = value
	}
	tags["kubernetes.io/cluster/"+launch.Cluster] = "owned"
	tags["eks:eks-cluster-name"] = launch.Cluster
	tags[model.LabelNodePool] = model.PoolTag(launch.Pool)
	tags[model.LabelNodeClass] = launch.Class.Name
	tags[TagIntent] = launch.Intent
	if len(launch.Claims) == 1 {
		tags["karpenter.sh/nodeclaim"] = launch.Claims[0]
	}
	return tags
}

func sdkTags(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return out
}
