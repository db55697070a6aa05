package wellknown

// AWSGroup is the API group of EC2NodeClass, and the domain of the labels and annotations that describe EC2.
const AWSGroup = "karpenter.k8s.aws"

// Labels that describe an instance. Numbers are decimal text in the unit the comment names.
const (
	// LabelEC2NodeClass names the EC2NodeClass of a claim and its node.
	LabelEC2NodeClass = AWSGroup + "/ec2nodeclass"

	LabelInstanceCPU                          = AWSGroup + "/instance-cpu" // vCPU
	LabelInstanceCPUManufacturer              = AWSGroup + "/instance-cpu-manufacturer"
	LabelInstanceCPUSustainedClockSpeedMHz    = AWSGroup + "/instance-cpu-sustained-clock-speed-mhz"
	LabelInstanceMemory                       = AWSGroup + "/instance-memory" // MiB, before overhead
	LabelInstanceCategory                     = AWSGroup + "/instance-category"
	LabelInstanceFamily                       = AWSGroup + "/instance-family"
	LabelInstanceGeneration                   = AWSGroup + "/instance-generation"
	LabelInstanceSize                         = AWSGroup + "/instance-size"
	LabelInstanceCapabilityFlex               = AWSGroup + "/instance-capability-flex" // "true" or "false"
	LabelInstanceHypervisor                   = AWSGroup + "/instance-hypervisor"      // empty for metal
	LabelInstanceEncryptionInTransitSupported = AWSGroup + "/instance-encryption-in-transit-supported"
	LabelInstanceLocalNVMe                    = AWSGroup + "/instance-local-nvme"        // GB
	LabelInstanceEBSBandwidth                 = AWSGroup + "/instance-ebs-bandwidth"     // Mbps
	LabelInstanceNetworkBandwidth             = AWSGroup + "/instance-network-bandwidth" // Mbps, baseline
	LabelInstanceGPUName                      = AWSGroup + "/instance-gpu-name"
	LabelInstanceGPUManufacturer              = AWSGroup + "/instance-gpu-manufacturer"
	LabelInstanceGPUCount                     = AWSGroup + "/instance-gpu-count"
	LabelInstanceGPUMemory                    = AWSGroup + "/instance-gpu-memory" // MiB
	LabelInstanceAcceleratorName              = AWSGroup + "/instance-accelerator-name"
	LabelInstanceAcceleratorManufacturer      = AWSGroup + "/instance-accelerator-manufacturer"
	LabelInstanceAcceleratorCount             = AWSGroup + "/instance-accelerator-count"
	LabelInstanceTenancy                      = AWSGroup + "/instance-tenancy" // "default" or "dedicated"

	LabelCapacityReservationID            = AWSGroup + "/capacity-reservation-id"
	LabelCapacityReservationType          = AWSGroup + "/capacity-reservation-type"
	LabelCapacityReservationInterruptible = AWSGroup + "/capacity-reservation-interruptible"
	LabelPlacementGroupID                 = AWSGroup + "/placement-group-id"
	LabelPlacementGroupPartition          = AWSGroup + "/placement-group-partition"

	// LabelZoneID is the account-independent id of a zone, such as "use1-az1".
	LabelZoneID = "topology.k8s.aws/zone-id"
	// LabelNitroSandbox is "true" on types that can run Nitro enclaves.
	LabelNitroSandbox = "eks.amazonaws.com/nitro-sandbox"
	// LabelEBSZone is the zone key the EBS storage driver writes into volumes; Normalize turns it into LabelZone.
	LabelEBSZone = "topology.ebs.csi.aws.com/zone"
)

// instance lists the well-known keys that describe EC2 instances.
var instance = []string{
	LabelEC2NodeClass,
	LabelInstanceCPU, LabelInstanceCPUManufacturer, LabelInstanceCPUSustainedClockSpeedMHz, LabelInstanceMemory,
	LabelInstanceCategory, LabelInstanceFamily, LabelInstanceGeneration, LabelInstanceSize, LabelInstanceCapabilityFlex,
	LabelInstanceHypervisor, LabelInstanceEncryptionInTransitSupported, LabelInstanceLocalNVMe,
	LabelInstanceEBSBandwidth, LabelInstanceNetworkBandwidth,
	LabelInstanceGPUName, LabelInstanceGPUManufacturer, LabelInstanceGPUCount, LabelInstanceGPUMemory,
	LabelInstanceAcceleratorName, LabelInstanceAcceleratorManufacturer, LabelInstanceAcceleratorCount,
	LabelInstanceTenancy,
	LabelCapacityReservationID, LabelCapacityReservationType, LabelCapacityReservationInterruptible,
	LabelPlacementGroupID, LabelPlacementGroupPartition,
	LabelZoneID, LabelNitroSandbox,
}

// Annotations of the karpenter.k8s.aws domain.
const (
	AnnotationEC2NodeClassHash        = AWSGroup + "/ec2nodeclass-hash"
	AnnotationEC2NodeClassHashVersion = AWSGroup + "/ec2nodeclass-hash-version"
)

// FinalizerEC2NodeClass keeps an EC2NodeClass until no claim uses it and what was made for it is gone.
const FinalizerEC2NodeClass = AWSGroup + "/termination"
