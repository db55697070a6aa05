package machine

import (
	"fmt"
	"time"
)

// Instance is what there is to know of a launched instance.
type Instance struct {
	ID             string // i-0123456789abcdef0
	Type           string // m7g.large
	Zone           string // us-west-2a
	ZoneID         string // usw2-az1; may be ""
	Region         string // us-west-2
	PrivateDNSName string // ip-10-0-1-23.us-west-2.compute.internal
	PrivateIP      string // 10.0.1.23
	ImageID        string
	ImageName      string // tells what boots; see systemOf
	Architecture   string // amd64 or arm64; EC2's x86_64 is taken for amd64
	CapacityType   string // spot, on-demand or reserved; the Node does not tell

	VCPUs int
	// MemoryBytes is what EC2 states for the type. The system sees less.
	MemoryBytes int64
	// ENIMaxPods is how many pods the type's network interfaces can address:
	// the default of kubelet's maxPods.
	ENIMaxPods int
	// RootVolumeBytes is the size of the volume pods write to, the image's own where 0.
	RootVolumeBytes int64
	// Volumes are the sizes by device. The one of the device that pods write to
	// takes the place of RootVolumeBytes. May be nil.
	Volumes map[string]int64
	// InstanceStoreBytes is the sum of the local NVMe disks; 0 for none.
	InstanceStoreBytes int64
	// Devices are what device plugins will announce: a count for each resource
	// name, such as nvidia.com/gpu. May be nil.
	Devices map[string]int

	// UserData is what the instance metadata service would answer.
	UserData   []byte
	LaunchTime time.Time
}

// providerID is how Kubernetes names the instance.
func (i Instance) providerID() string {
	return fmt.Sprintf("aws:///%s/%s", i.Zone, i.ID)
}

// goArch is the architecture in Kubernetes' words.
func (i Instance) goArch() string {
	if i.Architecture == "x86_64" {
		return "amd64"
	}
	return i.Architecture
}
