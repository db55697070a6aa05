package ec2

import (
	"context"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
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
	CapacityReservation   *CapacityReservationSpec `query:"CapacityReservationSpecification"`
	CPUOptions            *CPUOptions              `query:"CpuOptions"`
	EnclaveOptions        *EnclaveOptions
	EbsOptimized          *bool
	DisableAPITermination *bool `query:"DisableApiTermination"`
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
	if err := checkRun(in); err != nil {
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

// tryRun finds what would refuse the request before EC2 looks for capacity. Whether that is so of a zone that has no such type is read
// in two ways.
func (m *Model) tryRun(_ context.Context, in *runInstancesInput) error {
	m.lock()
	defer m.unlock()
	if err := checkRun(in); err != nil {
		return err
	}
	_, err := m.runSpec(in)
	if err != nil && wire.AsError(err).Code == unsupported && m.reads.Takes(reading.DryRunDepth) {
		return nil
	}
	return err
}

// unsupported is what RunInstances says of a type that is not offered in the zone.
const unsupported = "Unsupported"

func checkRun(in *runInstancesInput) error {
	if in.MinCount < 1 || in.MaxCount < in.MinCount {
		return wire.Errorf("InvalidParameterValue", "The parameters MinCount and MaxCount must be at least 1, and MaxCount not below MinCount")
	}
	return checkTagSpecifications(in.TagSpecifications, "instance", "volume", "network-interface", "spot-instances-request")
}

// runSpec lays the request over its launch template.
func (m *Model) runSpec(in *runInstancesInput) (launchSpec, error) {
	var data LaunchTemplateData
	var version *templateVersion
	if ref := in.LaunchTemplate; ref != nil {
		t, err := m.launchable(ref)
		if err != nil {
			return launchSpec{}, err
		}
		if version, err = t.version(ref.Version); err != nil {
			return launchSpec{}, err
		}
		data = version.data
	}
	m.overlay(&data, in)
	capacityType, market := OnDemand, OnDemand
	if o := data.InstanceMarketOptions; o != nil && o.MarketType != "" {
		if market = o.MarketType; !slices.Contains([]string{OnDemand, Spot, marketBlock, marketInterruptible}, market) {
			return launchSpec{}, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for MarketType", market)
		}
		if market == Spot {
			capacityType = Spot
		}
	}
	spec, refusal := m.resolve(launchRequest{
		capacityType: capacityType, market: market, instanceType: in.InstanceType, subnetID: in.SubnetID, imageID: in.ImageID,
		mappings: in.BlockDeviceMappings, version: version, data: data, tags: in.TagSpecifications,
		refusesWrongZoneAs: unsupported,
	})
	if refusal != nil {
		return launchSpec{}, refusal
	}
	spec.clientToken = in.ClientToken
	spec.metadata = in.MetadataOptions
	if m.reads.Takes(reading.RunInstancesMetadataKeys) {
		spec.metadata = spec.data.metadataOptions()
	}
	return spec, nil
}
