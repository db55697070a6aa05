package ec2

import (
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type groupRef struct {
	GroupID   string `xml:"groupId"`
	GroupName string `xml:"groupName"`
}

func groupRefs(groups []*securityGroup) wire.Set[groupRef] {
	var out wire.Set[groupRef]
	for _, g := range groups {
		out.Items = append(out.Items, groupRef{g.ID, g.Name})
	}
	return out
}

type stateView struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

func viewState(s State) stateView { return stateView{s.code(), string(s)} }

type reasonView struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
}

type placementView struct {
	AvailabilityZone   string `xml:"availabilityZone"`
	AvailabilityZoneID string `xml:"availabilityZoneId"`
	GroupName          string `xml:"groupName"`
	GroupID            string `xml:"groupId,omitempty"`
	PartitionNumber    int    `xml:"partitionNumber,omitempty"`
	Tenancy            string `xml:"tenancy"`
}

type cpuOptionsView struct {
	CoreCount            int    `xml:"coreCount"`
	ThreadsPerCore       int    `xml:"threadsPerCore"`
	NestedVirtualization string `xml:"nestedVirtualization,omitempty"`
}

type profileView struct {
	ARN string `xml:"arn"`
	ID  string `xml:"id"`
}

type volumeView struct {
	DeviceName string `xml:"deviceName"`
	EBS        struct {
		VolumeID            string    `xml:"volumeId"`
		Status              string    `xml:"status"`
		AttachTime          wire.Time `xml:"attachTime"`
		DeleteOnTermination bool      `xml:"deleteOnTermination"`
	} `xml:"ebs"`
}

type instanceView struct {
	InstanceID            string                   `xml:"instanceId"`
	ImageID               string                   `xml:"imageId"`
	State                 stateView                `xml:"instanceState"`
	PrivateDNSName        string                   `xml:"privateDnsName"`
	DNSName               string                   `xml:"dnsName"`
	Reason                string                   `xml:"reason"`
	KeyName               string                   `xml:"keyName,omitempty"`
	AMILaunchIndex        int                      `xml:"amiLaunchIndex"`
	InstanceType          string                   `xml:"instanceType"`
	LaunchTime            wire.Time                `xml:"launchTime"`
	Placement             placementView            `xml:"placement"`
	Monitoring            string                   `xml:"monitoring>state"`
	SubnetID              string                   `xml:"subnetId,omitempty"`
	VPCID                 string                   `xml:"vpcId,omitempty"`
	PrivateIPAddress      string                   `xml:"privateIpAddress,omitempty"`
	PublicIPAddress       string                   `xml:"ipAddress,omitempty"`
	IPv6Address           string                   `xml:"ipv6Address,omitempty"`
	SourceDestCheck       bool                     `xml:"sourceDestCheck"`
	Groups                wire.Set[groupRef]       `xml:"groupSet"`
	StateReason           *reasonView              `xml:"stateReason"`
	Architecture          string                   `xml:"architecture"`
	RootDeviceType        string                   `xml:"rootDeviceType"`
	RootDeviceName        string                   `xml:"rootDeviceName"`
	Volumes               wire.Set[volumeView]     `xml:"blockDeviceMapping"`
	VirtualizationType    string                   `xml:"virtualizationType"`
	InstanceLifecycle     string                   `xml:"instanceLifecycle,omitempty"`
	SpotInstanceRequestID string                   `xml:"spotInstanceRequestId,omitempty"`
	ClientToken           string                   `xml:"clientToken"`
	Tags                  wire.Set[Tag]            `xml:"tagSet"`
	Hypervisor            string                   `xml:"hypervisor"`
	Interfaces            wire.Set[interfaceView]  `xml:"networkInterfaceSet"`
	Profile               *profileView             `xml:"iamInstanceProfile"`
	EBSOptimized          bool                     `xml:"ebsOptimized"`
	ENASupport            bool                     `xml:"enaSupport"`
	CPUOptions            cpuOptionsView           `xml:"cpuOptions"`
	MetadataOptions       MetadataOptions          `xml:"metadataOptions"`
	EnclaveEnabled        bool                     `xml:"enclaveOptions>enabled"`
	Platform              string                   `xml:"platform,omitempty"` // "windows" or absent
	PlatformDetails       string                   `xml:"platformDetails"`
	PrivateDNSNameOptions naming                   `xml:"privateDnsNameOptions"`
	CapacityReservationID string                   `xml:"capacityReservationId,omitempty"`
	CapacityReservation   *CapacityReservationSpec `xml:"capacityReservationSpecification"`
	MaintenanceOptions    MaintenanceOptions       `xml:"maintenanceOptions"`
}

const windows = "Windows"

func (m *Model) viewInstance(i *instance) instanceView {
	f, d := i.facts, i.data
	v := instanceView{
		InstanceID: f.ID, ImageID: f.ImageID, State: viewState(f.State), PrivateDNSName: f.PrivateDNSName,
		Reason: i.transitionReason, KeyName: d.KeyName, AMILaunchIndex: i.launchIndex, InstanceType: f.Type,
		LaunchTime: wire.Time{Time: f.LaunchTime}, Monitoring: "disabled",
		Placement: placementView{AvailabilityZone: f.Zone, AvailabilityZoneID: f.ZoneID, Tenancy: "default"},
		SubnetID:  f.SubnetID, VPCID: i.subnet.VPCID, PrivateIPAddress: f.PrivateIP, SourceDestCheck: true,
		Groups: groupRefs(i.groups), Architecture: f.Architecture,
		RootDeviceType: "ebs", RootDeviceName: i.image.RootDevice, VirtualizationType: "hvm",
		InstanceLifecycle: i.lifecycle(), SpotInstanceRequestID: i.requestID(), ClientToken: i.clientToken,
		Tags: wire.SetOf(tagList(m.instanceTags(i))), Hypervisor: "xen", EBSOptimized: true, ENASupport: true,
		CPUOptions:      i.cpuOptions(),
		MetadataOptions: metadataOf(d.MetadataOptions, i.image), PlatformDetails: i.image.Platform,
		PrivateDNSNameOptions: i.naming,
		CapacityReservationID: f.ReservationID, CapacityReservation: reservationSpecOf(d.CapacityReservation), MaintenanceOptions: MaintenanceOptions{AutoRecovery: "default"},
	}
	if d.Monitoring != nil && value(d.Monitoring.Enabled) {
		v.Monitoring = "enabled"
	}
	if d.Placement != nil && d.Placement.Tenancy != "" {
		v.Placement.Tenancy = d.Placement.Tenancy
	}
	v.Placement.GroupName, v.Placement.GroupID, v.Placement.PartitionNumber = i.placementName(), f.PlacementGroupID, f.Partition
	if d.EnclaveOptions != nil {
		v.EnclaveEnabled = value(d.EnclaveOptions.Enabled)
	}
	if i.image.Platform == windows {
		v.Platform = "windows"
	}
	if i.stateReasonCode != "" {
		v.StateReason = &reasonView{i.stateReasonCode, i.stateReason}
	}
	if i.profile != nil {
		v.Profile = &profileView{i.profile.ARN, i.profile.ID}
	}
	if f.State == Terminated { // EC2 forgets where it was
		v.PrivateDNSName, v.PrivateIPAddress, v.SubnetID, v.VPCID = "", "", "", ""
		v.Groups.Items = nil
		return v
	}
	first := i.interfaces[0]
	if first.public.IsValid() && !i.idle() {
		v.PublicIPAddress, v.DNSName = first.public.String(), publicDNSName(first.public)
	}
	if len(first.addresses6) > 0 {
		v.IPv6Address = first.addresses6[0].String()
	}
	for _, vol := range i.volumes {
		v.Volumes.Items = append(v.Volumes.Items, viewVolume(vol))
	}
	for _, n := range i.interfaces {
		v.Interfaces.Items = append(v.Interfaces.Items, m.viewInterface(i, n))
	}
	return v
}

// reservationSpecOf returns what an instance is left with: open where the launch said nothing.
func reservationSpecOf(set *CapacityReservationSpec) *CapacityReservationSpec {
	if set == nil || *set == (CapacityReservationSpec{}) {
		return &CapacityReservationSpec{Preference: preferOpen}
	}
	return set
}

func (i *instance) cpuOptions() cpuOptionsView {
	set := value(i.data.CPUOptions)
	v := cpuOptionsView{cores(i.typ), i.typ.ThreadsPerCore, set.NestedVirtualization}
	if set.CoreCount != nil {
		v.CoreCount = *set.CoreCount
	}
	if set.ThreadsPerCore != nil {
		v.ThreadsPerCore = *set.ThreadsPerCore
	}
	return v
}

// metadataOf returns the metadata options an instance ends up with.
func metadataOf(set *MetadataOptions, image catalog.Image) MetadataOptions {
	out := MetadataOptions{
		State: "applied", HTTPTokens: "optional", HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled",
		InstanceMetadataTags: "disabled",
	}
	hops := 1
	if image.RequiresIMDSv2 {
		out.HTTPTokens, hops = "required", 2
	}
	out.HTTPPutResponseHops = &hops
	if set == nil {
		return out
	}
	for _, f := range []struct {
		to   *string
		from string
	}{
		{&out.HTTPTokens, set.HTTPTokens}, {&out.HTTPEndpoint, set.HTTPEndpoint},
		{&out.HTTPProtocolIPv6, set.HTTPProtocolIPv6}, {&out.InstanceMetadataTags, set.InstanceMetadataTags},
	} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	if set.HTTPPutResponseHops != nil {
		out.HTTPPutResponseHops = set.HTTPPutResponseHops
	}
	return out
}

func viewVolume(vol volume) volumeView {
	v := volumeView{DeviceName: vol.device}
	v.EBS.VolumeID, v.EBS.Status, v.EBS.AttachTime, v.EBS.DeleteOnTermination = vol.id, "attached", wire.Time{Time: vol.attached}, vol.deleteToo
	return v
}

type interfaceView struct {
	NetworkInterfaceID string                 `xml:"networkInterfaceId"`
	SubnetID           string                 `xml:"subnetId"`
	VPCID              string                 `xml:"vpcId"`
	Description        string                 `xml:"description"`
	OwnerID            string                 `xml:"ownerId"`
	Status             string                 `xml:"status"`
	MACAddress         string                 `xml:"macAddress"`
	PrivateIPAddress   string                 `xml:"privateIpAddress,omitempty"`
	PrivateDNSName     string                 `xml:"privateDnsName,omitempty"`
	SourceDestCheck    bool                   `xml:"sourceDestCheck"`
	Groups             wire.Set[groupRef]     `xml:"groupSet"`
	Attachment         attachmentView         `xml:"attachment"`
	Addresses          wire.Set[addressView]  `xml:"privateIpAddressesSet"`
	Association        *associationView       `xml:"association"`
	Addresses6         wire.Set[address6View] `xml:"ipv6AddressesSet"`
	Prefixes           []prefixView           `xml:"ipv4PrefixSet>item"`
	Prefixes6          []prefix6View          `xml:"ipv6PrefixSet>item"`
	Tracking           *ConnectionTracking    `xml:"connectionTrackingConfiguration"`
	InterfaceType      string                 `xml:"interfaceType"`
}

type attachmentView struct {
	AttachmentID        string    `xml:"attachmentId"`
	DeviceIndex         int       `xml:"deviceIndex"`
	NetworkCardIndex    int       `xml:"networkCardIndex"`
	Status              string    `xml:"status"`
	AttachTime          wire.Time `xml:"attachTime"`
	DeleteOnTermination bool      `xml:"deleteOnTermination"`
}

type addressView struct {
	PrivateIPAddress string `xml:"privateIpAddress"`
	PrivateDNSName   string `xml:"privateDnsName"`
	Primary          bool   `xml:"primary"`
}

type associationView struct {
	PublicIP      string `xml:"publicIp"`
	PublicDNSName string `xml:"publicDnsName"`
	OwnerID       string `xml:"ipOwnerId"`
}

type address6View struct {
	Address string `xml:"ipv6Address"`
	Primary bool   `xml:"isPrimaryIpv6"`
}

type prefixView struct {
	Prefix string `xml:"ipv4Prefix"`
}

type prefix6View struct {
	Prefix string `xml:"ipv6Prefix"`
}

func (m *Model) viewInterface(i *instance, n networkInterface) interfaceView {
	v := interfaceView{
		NetworkInterfaceID: n.id, SubnetID: i.subnet.ID, VPCID: i.subnet.VPCID, Description: n.description,
		OwnerID: m.account, Status: "in-use", MACAddress: n.mac, SourceDestCheck: true, Groups: groupRefs(n.groups),
		InterfaceType: n.kind, Tracking: n.tracking,
		Attachment: attachmentView{AttachmentID: n.attachmentID, DeviceIndex: n.device, NetworkCardIndex: n.card,
			Status: "attached", AttachTime: wire.Time{Time: i.facts.LaunchTime}, DeleteOnTermination: true},
	}
	if n.address.IsValid() {
		v.PrivateIPAddress, v.PrivateDNSName = n.address.String(), privateDNSName(n.address)
		if n.address == i.address {
			v.PrivateDNSName = i.hostName()
		}
		v.Addresses = wire.SetOf([]addressView{{v.PrivateIPAddress, v.PrivateDNSName, true}})
	}
	if n.public.IsValid() && !i.idle() {
		v.Association = &associationView{n.public.String(), publicDNSName(n.public), "amazon"}
	}
	for at, a := range n.addresses6 {
		v.Addresses6.Items = append(v.Addresses6.Items, address6View{a.String(), n.primary6 && at == 0})
	}
	for _, p := range n.prefixes {
		v.Prefixes = append(v.Prefixes, prefixView{p.String()})
	}
	for _, p := range n.prefixes6 {
		v.Prefixes6 = append(v.Prefixes6, prefix6View{p.String()})
	}
	return v
}
