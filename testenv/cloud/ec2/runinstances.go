package ec2

import (
	"context"

	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

type runInstancesInput struct {
	ClientToken           string `json:"-"`
	MinCount, MaxCount    int
	LaunchTemplate        *templateRef
	ImageID               string `query:"ImageId"`
	InstanceType          string
	SubnetID              string `query:"SubnetId"`
	UserData              string
	KeyName               string
	SecurityGroupIDs      []string               `query:"SecurityGroupId"`
	NetworkInterfaces     []NetworkInterfaceSpec `query:"NetworkInterface"`
	BlockDeviceMappings   []BlockDeviceMapping   `query:"BlockDeviceMapping"`
	IamInstanceProfile    *InstanceProfileRef
	InstanceMarketOptions *MarketOptions
	MetadataOptions       *MetadataOptions
	Monitoring            *MonitoringSpec
	Placement             *PlacementSpec
	TagSpecifications     []TagSpecification `query:"TagSpecification"`
}

type runInstancesOutput struct {
	reservationView
}

// runInstances launches between MinCount and MaxCount instances of one kind, or
// none at all.
func (m *Model) runInstances(_ context.Context, in *runInstancesInput) (*runInstancesOutput, error) {
	m.lock()
	defer m.unlock()
	if in.MinCount < 1 || in.MaxCount < in.MinCount {
		return nil, wire.Errorf("InvalidParameterValue", "The parameters MinCount and MaxCount must be at least 1, and MaxCount not below MinCount")
	}
	if err := checkTagSpecifications(in.TagSpecifications, "instance", "volume", "network-interface", "spot-instances-request"); err != nil {
		return nil, err
	}
	if before, ok, err := m.replay("RunInstances", in.ClientToken, in); ok || err != nil {
		out, _ := before.(*runInstancesOutput)
		return out, err
	}
	spec, err := m.runSpec(in)
	if err != nil {
		return nil, err
	}
	n, refusal := m.grant(newBook(), &spec, in.MaxCount)
	if n < in.MinCount {
		return nil, refusal
	}
	var launched []*instance
	for _, id := range m.launch(&spec, n) {
		launched = append(launched, m.instances[id])
	}
	out := &runInstancesOutput{m.reservations(launched)[0]}
	for i := range out.Instances.Items { // the answer itself does not lag
		out.Instances.Items[i].Tags = wire.SetOf(tagList(m.tags.all(out.Instances.Items[i].InstanceID)))
	}
	m.remember("RunInstances", in.ClientToken, in, out)
	return out, nil
}

// runSpec lays the request over its launch template.
func (m *Model) runSpec(in *runInstancesInput) (launchSpec, error) {
	var data LaunchTemplateData
	var version *templateVersion
	if ref := in.LaunchTemplate; ref != nil {
		t, err := m.template(ref.LaunchTemplateID, ref.LaunchTemplateName)
		if err != nil {
			return launchSpec{}, err
		}
		if version, err = t.version(ref.Version); err != nil {
			return launchSpec{}, err
		}
		data = version.data
	}
	overlay(&data, in)
	capacityType := OnDemand
	if data.InstanceMarketOptions != nil && data.InstanceMarketOptions.MarketType == Spot {
		capacityType = Spot
	}
	spec, refusal := m.resolve(launchRequest{
		capacityType: capacityType, instanceType: in.InstanceType, subnetID: in.SubnetID, imageID: in.ImageID,
		mappings: in.BlockDeviceMappings, version: version, data: data, tags: in.TagSpecifications,
		refusesWrongZoneAs: "Unsupported",
	})
	if refusal != nil {
		return launchSpec{}, refusal
	}
	spec.clientToken = in.ClientToken
	return spec, nil
}

func overlay(data *LaunchTemplateData, in *runInstancesInput) {
	if in.UserData != "" {
		data.UserData = in.UserData
	}
	if in.KeyName != "" {
		data.KeyName = in.KeyName
	}
	if len(in.SecurityGroupIDs) > 0 {
		data.SecurityGroupIDs = in.SecurityGroupIDs
	}
	if len(in.NetworkInterfaces) > 0 {
		data.NetworkInterfaces = in.NetworkInterfaces
	}
	if in.IamInstanceProfile != nil {
		data.IamInstanceProfile = in.IamInstanceProfile
	}
	if in.InstanceMarketOptions != nil {
		data.InstanceMarketOptions = in.InstanceMarketOptions
	}
	if in.MetadataOptions != nil {
		data.MetadataOptions = in.MetadataOptions
	}
	if in.Monitoring != nil {
		data.Monitoring = in.Monitoring
	}
	if in.Placement != nil {
		data.Placement = in.Placement
	}
}
