package ec2

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// LaunchTemplateData is what a launch template says about instances, as the
// wire has it. Absent members are nil or empty.
type LaunchTemplateData struct {
	EbsOptimized             *bool                    `xml:"ebsOptimized,omitempty"`
	IamInstanceProfile       *InstanceProfileRef      `xml:"iamInstanceProfile,omitempty"`
	BlockDeviceMappings      []BlockDeviceMapping     `query:"BlockDeviceMapping" xml:"blockDeviceMappingSet>item"`
	NetworkInterfaces        []NetworkInterfaceSpec   `query:"NetworkInterface" xml:"networkInterfaceSet>item"`
	ImageID                  string                   `query:"ImageId" xml:"imageId,omitempty"`
	InstanceType             string                   `xml:"instanceType,omitempty"`
	KeyName                  string                   `xml:"keyName,omitempty"`
	Monitoring               *MonitoringSpec          `xml:"monitoring,omitempty"`
	Placement                *PlacementSpec           `xml:"placement,omitempty"`
	DisableAPITermination    *bool                    `query:"DisableApiTermination" xml:"disableApiTermination,omitempty"`
	DisableAPIStop           *bool                    `query:"DisableApiStop" xml:"disableApiStop,omitempty"`
	ShutdownBehavior         string                   `query:"InstanceInitiatedShutdownBehavior" xml:"instanceInitiatedShutdownBehavior,omitempty"`
	UserData                 string                   `xml:"userData,omitempty"` // base64
	TagSpecifications        []TagSpecification       `query:"TagSpecification" xml:"tagSpecificationSet>item"`
	SecurityGroupIDs         []string                 `query:"SecurityGroupId" xml:"securityGroupIdSet>item"`
	SecurityGroups           []string                 `query:"SecurityGroup" xml:"securityGroupSet>item"` // names
	InstanceMarketOptions    *MarketOptions           `xml:"instanceMarketOptions,omitempty"`
	CreditSpecification      *CreditSpec              `xml:"creditSpecification,omitempty"`
	CPUOptions               *CPUOptions              `query:"CpuOptions" xml:"cpuOptions,omitempty"`
	CapacityReservation      *CapacityReservationSpec `query:"CapacityReservationSpecification" xml:"capacityReservationSpecification,omitempty"`
	HibernationOptions       *HibernationOptions      `xml:"hibernationOptions,omitempty"`
	MetadataOptions          *MetadataOptions         `xml:"metadataOptions,omitempty"`
	EnclaveOptions           *EnclaveOptions          `xml:"enclaveOptions,omitempty"`
	PrivateDNSNameOptions    *PrivateDNSNameOptions   `query:"PrivateDnsNameOptions" xml:"privateDnsNameOptions,omitempty"`
	MaintenanceOptions       *MaintenanceOptions      `xml:"maintenanceOptions,omitempty"`
	NetworkPerformanceOption *NetworkPerformance      `query:"NetworkPerformanceOptions" xml:"networkPerformanceOptions,omitempty"`
}

// InstanceProfileRef names an instance profile by one of its two names.
type InstanceProfileRef struct {
	ARN  string `query:"Arn" xml:"arn,omitempty"`
	Name string `xml:"name,omitempty"`
}

// BlockDeviceMapping is a disk to attach.
type BlockDeviceMapping struct {
	DeviceName  string    `xml:"deviceName,omitempty"`
	VirtualName string    `xml:"virtualName,omitempty"`
	EBS         *EBSBlock `query:"Ebs" xml:"ebs,omitempty"`
	NoDevice    *string   `xml:"noDevice,omitempty"`
}

// EBSBlock is the volume of a BlockDeviceMapping.
type EBSBlock struct {
	Encrypted                *bool  `xml:"encrypted,omitempty"`
	DeleteOnTermination      *bool  `xml:"deleteOnTermination,omitempty"`
	IOPS                     *int   `query:"Iops" xml:"iops,omitempty"`
	Throughput               *int   `xml:"throughput,omitempty"` // MiB per second
	KMSKeyID                 string `query:"KmsKeyId" xml:"kmsKeyId,omitempty"`
	SnapshotID               string `query:"SnapshotId" xml:"snapshotId,omitempty"`
	VolumeSize               *int   `xml:"volumeSize,omitempty"` // GiB
	VolumeType               string `xml:"volumeType,omitempty"`
	VolumeInitializationRate *int   `xml:"volumeInitializationRate,omitempty"` // MiB per second
}

// NetworkInterfaceSpec is a network interface to create.
type NetworkInterfaceSpec struct {
	AssociatePublicIPAddress *bool               `query:"AssociatePublicIpAddress" xml:"associatePublicIpAddress,omitempty"`
	DeleteOnTermination      *bool               `xml:"deleteOnTermination,omitempty"`
	Description              string              `xml:"description,omitempty"`
	DeviceIndex              *int                `xml:"deviceIndex,omitempty"`
	Groups                   []string            `query:"SecurityGroupId" xml:"groupSet>groupId"`
	InterfaceType            string              `xml:"interfaceType,omitempty"` // "", "interface", "efa" or "efa-only"
	IPv6AddressCount         *int                `query:"Ipv6AddressCount" xml:"ipv6AddressCount,omitempty"`
	SubnetID                 string              `query:"SubnetId" xml:"subnetId,omitempty"`
	NetworkCardIndex         *int                `xml:"networkCardIndex,omitempty"`
	IPv4PrefixCount          *int                `query:"Ipv4PrefixCount" xml:"ipv4PrefixCount,omitempty"`
	IPv6PrefixCount          *int                `query:"Ipv6PrefixCount" xml:"ipv6PrefixCount,omitempty"`
	PrimaryIPv6              *bool               `query:"PrimaryIpv6" xml:"primaryIpv6,omitempty"`
	ConnectionTracking       *ConnectionTracking `query:"ConnectionTrackingSpecification" xml:"connectionTrackingSpecification,omitempty"`
}

// ConnectionTracking are idle timeouts in seconds.
type ConnectionTracking struct {
	TCPEstablishedTimeout *int `query:"TcpEstablishedTimeout" xml:"tcpEstablishedTimeout,omitempty"`
	UDPStreamTimeout      *int `query:"UdpStreamTimeout" xml:"udpStreamTimeout,omitempty"`
	UDPTimeout            *int `query:"UdpTimeout" xml:"udpTimeout,omitempty"`
}

// MonitoringSpec switches detailed monitoring.
type MonitoringSpec struct {
	Enabled *bool `xml:"enabled,omitempty"`
}

// PlacementSpec says where instances go.
type PlacementSpec struct {
	AvailabilityZone   string `xml:"availabilityZone,omitempty"`
	AvailabilityZoneID string `query:"AvailabilityZoneId" xml:"availabilityZoneId,omitempty"`
	GroupName          string `xml:"groupName,omitempty"`
	GroupID            string `query:"GroupId" xml:"groupId,omitempty"`
	PartitionNumber    *int   `xml:"partitionNumber,omitempty"`
	Tenancy            string `xml:"tenancy,omitempty"`
}

// MarketOptions say how instances are bought.
type MarketOptions struct {
	MarketType  string      `xml:"marketType,omitempty"`
	SpotOptions *SpotMarket `xml:"spotOptions,omitempty"`
}

// SpotMarket are the spot options of MarketOptions.
type SpotMarket struct {
	MaxPrice                     string `xml:"maxPrice,omitempty"`
	SpotInstanceType             string `xml:"spotInstanceType,omitempty"`
	InstanceInterruptionBehavior string `xml:"instanceInterruptionBehavior,omitempty"`
}

// CreditSpec is the credit option of a burstable type.
type CreditSpec struct {
	CPUCredits string `query:"CpuCredits" xml:"cpuCredits,omitempty"`
}

// CPUOptions shape the processor.
type CPUOptions struct {
	CoreCount            *int   `xml:"coreCount,omitempty"`
	ThreadsPerCore       *int   `xml:"threadsPerCore,omitempty"`
	AMDSEVSNP            string `query:"AmdSevSnp" xml:"amdSevSnp,omitempty"`
	NestedVirtualization string `xml:"nestedVirtualization,omitempty"`
}

// CapacityReservationSpec says which reservations an instance may use.
type CapacityReservationSpec struct {
	Preference string                     `query:"CapacityReservationPreference" xml:"capacityReservationPreference,omitempty"`
	Target     *CapacityReservationTarget `query:"CapacityReservationTarget" xml:"capacityReservationTarget,omitempty"`
}

// CapacityReservationTarget names one reservation.
type CapacityReservationTarget struct {
	ID               string `query:"CapacityReservationId" xml:"capacityReservationId,omitempty"`
	ResourceGroupARN string `query:"CapacityReservationResourceGroupArn" xml:"capacityReservationResourceGroupArn,omitempty"`
}

// HibernationOptions switch hibernation.
type HibernationOptions struct {
	Configured *bool `xml:"configured,omitempty"`
}

// MetadataOptions shape the instance metadata service.
type MetadataOptions struct {
	State                string `query:"-" xml:"state,omitempty"`
	HTTPTokens           string `query:"HttpTokens" xml:"httpTokens,omitempty"`
	HTTPPutResponseHops  *int   `query:"HttpPutResponseHopLimit" xml:"httpPutResponseHopLimit,omitempty"`
	HTTPEndpoint         string `query:"HttpEndpoint" xml:"httpEndpoint,omitempty"`
	HTTPProtocolIPv6     string `query:"HttpProtocolIpv6" xml:"httpProtocolIpv6,omitempty"`
	InstanceMetadataTags string `xml:"instanceMetadataTags,omitempty"`
}

// EnclaveOptions switch Nitro Enclaves.
type EnclaveOptions struct {
	Enabled *bool `xml:"enabled,omitempty"`
}

// PrivateDNSNameOptions shape host names.
type PrivateDNSNameOptions struct {
	HostnameType                    string `xml:"hostnameType,omitempty"`
	EnableResourceNameDNSARecord    *bool  `query:"EnableResourceNameDnsARecord" xml:"enableResourceNameDnsARecord,omitempty"`
	EnableResourceNameDNSAAAARecord *bool  `query:"EnableResourceNameDnsAAAARecord" xml:"enableResourceNameDnsAAAARecord,omitempty"`
}

// MaintenanceOptions switch automatic recovery.
type MaintenanceOptions struct {
	AutoRecovery string `xml:"autoRecovery,omitempty"`
}

// NetworkPerformance shifts bandwidth between network and EBS.
type NetworkPerformance struct {
	BandwidthWeighting string `xml:"bandwidthWeighting,omitempty"`
}

// maxUserDataBytes is the limit on user data, decoded.
const maxUserDataBytes = 16384

// check refuses what EC2 refuses when a template is made: most mistakes are
// found only when something is launched from it.
func (d *LaunchTemplateData) check() error {
	if _, err := d.decodedUserData(); err != nil {
		return err
	}
	if len(d.NetworkInterfaces) > 0 && len(d.SecurityGroupIDs)+len(d.SecurityGroups) > 0 {
		return wire.Errorf("InvalidParameterCombination", "Network interfaces and an instance-level security groups may not be specified on the same request")
	}
	if err := d.MetadataOptions.check(); err != nil {
		return err
	}
	return checkTagSpecifications(d.TagSpecifications, "instance", "volume", "network-interface", "spot-instances-request", "elastic-gpu")
}

// metadataOptions returns the metadata options, empty ones where the data says nothing of them.
func (d *LaunchTemplateData) metadataOptions() *MetadataOptions {
	if d.MetadataOptions == nil {
		return &MetadataOptions{}
	}
	return d.MetadataOptions
}

// check refuses values that are none. Source: API reference, InstanceMetadataOptionsRequest.
func (o *MetadataOptions) check() error {
	if o == nil {
		return nil
	}
	switched := []string{"", "enabled", "disabled"}
	for _, member := range []struct {
		name, value string
		values      []string
	}{
		{"HttpTokens", o.HTTPTokens, []string{"", "optional", "required"}}, {"HttpEndpoint", o.HTTPEndpoint, switched},
		{"HttpProtocolIpv6", o.HTTPProtocolIPv6, switched}, {"InstanceMetadataTags", o.InstanceMetadataTags, switched},
	} {
		if !slices.Contains(member.values, member.value) {
			return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for MetadataOptions.%s", member.value, member.name)
		}
	}
	if hops := o.HTTPPutResponseHops; hops != nil && (*hops < 1 || *hops > 64) {
		return wire.Errorf("InvalidParameterValue", "Value (%d) for parameter HttpPutResponseHopLimit is invalid. It must be between 1 and 64.", *hops)
	}
	return nil
}

func (d *LaunchTemplateData) decodedUserData() ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(d.UserData)
	if err != nil {
		return nil, wire.Errorf("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	if len(data) > maxUserDataBytes {
		return nil, wire.Errorf("InvalidUserData.Malformed", "User data is limited to %d bytes", maxUserDataBytes)
	}
	return data, nil
}

// groupIDs returns the security groups of the instances, wherever the template
// names them by id.
func (d *LaunchTemplateData) groupIDs() []string {
	for _, n := range d.NetworkInterfaces {
		if n.DeviceIndex == nil || *n.DeviceIndex == 0 {
			return n.Groups
		}
	}
	return d.SecurityGroupIDs
}

// subnetID returns the subnet of the first interface, or "".
func (d *LaunchTemplateData) subnetID() string {
	if len(d.NetworkInterfaces) == 0 {
		return ""
	}
	return d.NetworkInterfaces[0].SubnetID
}

// same tells whether a and b are the same when written as JSON.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
