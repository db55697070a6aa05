package awsv1

import "k8s.io/apimachinery/pkg/api/resource"

// BlockDeviceMapping is one disk of an instance.
//
// +kubebuilder:validation:XValidation:rule="has(self.deviceName)",message="'deviceName' must be set"
// +kubebuilder:validation:XValidation:rule="has(self.ebs)",message="'ebs' must be set"
type BlockDeviceMapping struct {
	// DeviceName is the name under which the instance sees the disk, such as /dev/xvda.
	//
	// +optional
	DeviceName *string `json:"deviceName,omitempty"`
	// EBS describes the volume.
	//
	// +optional
	EBS *BlockDevice `json:"ebs,omitempty"`
	// RootVolume says that the kubelet keeps its files on this disk, whatever its device name.
	//
	// +optional
	RootVolume bool `json:"rootVolume,omitempty"`
}

// BlockDevice describes an EBS volume.
//
// +kubebuilder:validation:XValidation:rule="has(self.volumeSize) || has(self.snapshotID)",message="one of 'volumeSize' and 'snapshotID' must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID.size() > 0)",message="'volumeInitializationRate' needs 'snapshotID'"
type BlockDevice struct {
	// DeleteOnTermination says whether the volume goes with the instance.
	//
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`
	// Encrypted says whether the volume is encrypted.
	//
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`
	// IOPS is the number of operations a second. 0 is the default of the volume type.
	//
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// KMSKeyID is the key the volume is encrypted with: an id, an alias or an ARN.
	//
	// +optional
	KMSKeyID *string `json:"kmsKeyID,omitempty"`
	// SnapshotID is the snapshot the volume is made from.
	//
	// +optional
	SnapshotID *string `json:"snapshotID,omitempty"`
	// Throughput is in MiB a second, for gp3. 0 is the default of the volume type.
	//
	// +optional
	Throughput *int64 `json:"throughput,omitempty"`
	// VolumeInitializationRate is the rate in MiB a second at which the volume is filled from its snapshot.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=300
	// +optional
	VolumeInitializationRate *int32 `json:"volumeInitializationRate,omitempty"`
	// VolumeSize is a whole number of Gi, G, Ti or T, at most 64T. EC2 gives whole GiB, rounded up.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,4}(Gi|G|Ti|T)$`
	// +kubebuilder:validation:XValidation:rule="!isQuantity(self) || !quantity(self).isGreaterThan(quantity('64T'))",message="a volume has at most 64T"
	// +optional
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`
	// VolumeType is the kind of volume.
	//
	// +kubebuilder:validation:Enum=standard;io1;io2;gp2;sc1;st1;gp3
	// +optional
	VolumeType *string `json:"volumeType,omitempty"`
}

// InstanceStorePolicy says what to do with the disks that are part of the instance.
//
// +kubebuilder:validation:Enum=RAID0
type InstanceStorePolicy string

// InstanceStorePolicyRAID0 joins the disks of the instance into one, for the kubelet, containerd and the pods.
const InstanceStorePolicyRAID0 InstanceStorePolicy = "RAID0"

// NetworkInterface is one network interface of an instance.
type NetworkInterface struct {
	// NetworkCardIndex is the network card the interface is on.
	//
	// +kubebuilder:validation:Minimum=0
	// +required
	NetworkCardIndex int32 `json:"networkCardIndex"`
	// DeviceIndex is the place of the interface on its card.
	//
	// +kubebuilder:validation:Minimum=0
	// +required
	DeviceIndex int32 `json:"deviceIndex"`
	// InterfaceType is interface, which has addresses, or efa-only, which has none.
	//
	// +required
	InterfaceType InterfaceType `json:"interfaceType"`
}

// InterfaceType is the kind of a network interface.
//
// +kubebuilder:validation:Enum=interface;efa-only
type InterfaceType string

// The kinds of network interfaces.
const (
	InterfaceTypeInterface InterfaceType = "interface"
	InterfaceTypeEFAOnly   InterfaceType = "efa-only"
)

// MetadataOptions say how an instance may read about itself.
type MetadataOptions struct {
	// HTTPEndpoint says whether there is a metadata service at all.
	//
	// +kubebuilder:default=enabled
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	HTTPEndpoint *string `json:"httpEndpoint,omitempty"`
	// HTTPProtocolIPv6 says whether it also answers over IPv6.
	//
	// +kubebuilder:default=disabled
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	HTTPProtocolIPv6 *string `json:"httpProtocolIPv6,omitempty"`
	// HTTPPutResponseHopLimit is how many hops a token may travel. 1 keeps it from pods with a network of their own.
	//
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	HTTPPutResponseHopLimit *int64 `json:"httpPutResponseHopLimit,omitempty"`
	// HTTPTokens says whether reading needs a session token.
	//
	// +kubebuilder:default=required
	// +kubebuilder:validation:Enum=required;optional
	// +optional
	HTTPTokens *string `json:"httpTokens,omitempty"`
}

// ConnectionTracking sets the idle timeouts of tracked connections, in seconds.
//
// +kubebuilder:validation:MinProperties=1
type ConnectionTracking struct {
	// TCPEstablishedTimeout is for established TCP connections.
	//
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=432000
	// +optional
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`
	// UDPStreamTimeout is for UDP flows that have seen more than one request and response.
	//
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=180
	// +optional
	UDPStreamTimeout *int32 `json:"udpStreamTimeout,omitempty"`
	// UDPTimeout is for UDP flows that have seen a single request or one in each direction.
	//
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=60
	// +optional
	UDPTimeout *int32 `json:"udpTimeout,omitempty"`
}

// CPUOptions configure the processors of the instances.
type CPUOptions struct {
	// NestedVirtualization says whether instances may run virtual machines of their own.
	//
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	NestedVirtualization *string `json:"nestedVirtualization,omitempty"`
}
