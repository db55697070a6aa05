package awsv1

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/api/hash"
)

// EC2NodeClassHashVersion says by which rules [EC2NodeClass.Hash] is computed. It changes when a hashed field joins,
// leaves or gets another default: hashes of different versions cannot be compared. Karpenter's own (v6 and
// before) are such others: the same class has another value there.
const EC2NodeClassHashVersion = "joiner-v1"

// Hash returns the drift hash of the class for a cluster whose certificate authority is caBundle: it changes when an
// instance launched now would differ from one launched before. Selectors of subnets, security groups, images and
// reservations are left out, because what they resolve to is compared with the instance directly. The error is about a
// kubelet configuration that is not JSON.
func (c *EC2NodeClass) Hash(caBundle string) (string, error) {
	kubelet, err := c.Spec.Kubelet.Canonical()
	if err != nil {
		return "", fmt.Errorf("hash EC2NodeClass %s: %w", c.Name, err)
	}
	if string(kubelet) == "{}" {
		kubelet = nil
	}
	spec := c.Spec
	return hash.Of(struct {
		Family, Kubelet, CABundle string
		PlacementGroupSelector    *PlacementGroupSelector
		AssociatePublicIPAddress  *bool
		UserData, Role            *string
		InstanceProfile, Context  *string
		Tags                      map[string]string
		BlockDeviceMappings       []hashedDevice
		InstanceStorePolicy       *InstanceStorePolicy
		NetworkInterfaces         []NetworkInterface
		DetailedMonitoring        *bool
		MetadataOptions           *MetadataOptions
		ConnectionTracking        *ConnectionTracking
		CPUOptions                *CPUOptions
	}{
		Family: string(c.AMIFamily()), Kubelet: string(kubelet), CABundle: caBundle,
		PlacementGroupSelector:   spec.PlacementGroupSelector,
		AssociatePublicIPAddress: spec.AssociatePublicIPAddress,
		UserData:                 spec.UserData, Role: &spec.Role, InstanceProfile: spec.InstanceProfile, Context: spec.Context,
		Tags:                spec.Tags,
		BlockDeviceMappings: hashedDevices(spec.BlockDeviceMappings),
		InstanceStorePolicy: spec.InstanceStorePolicy, NetworkInterfaces: slices.Clone(spec.NetworkInterfaces),
		DetailedMonitoring: spec.DetailedMonitoring, MetadataOptions: spec.MetadataOptions,
		ConnectionTracking: spec.ConnectionTracking, CPUOptions: spec.CPUOptions,
	}), nil
}

// hashedDevice is a block device whose size counts in bytes, however it is written.
type hashedDevice struct {
	DeviceName      *string
	RootVolume      bool
	VolumeSizeBytes int64
	Volume          hashedVolume
}

// hashedVolume is a BlockDevice without its size.
type hashedVolume struct {
	DeleteOnTermination, Encrypted   *bool
	IOPS, Throughput                 *int64
	KMSKeyID, SnapshotID, VolumeType *string
	VolumeInitializationRate         *int32
}

func hashedDevices(mappings []BlockDeviceMapping) []hashedDevice {
	devices := make([]hashedDevice, 0, len(mappings))
	for _, m := range mappings {
		device := hashedDevice{DeviceName: m.DeviceName, RootVolume: m.RootVolume}
		if v := m.EBS; v != nil {
			device.Volume = hashedVolume{
				DeleteOnTermination: v.DeleteOnTermination, Encrypted: v.Encrypted, IOPS: v.IOPS, Throughput: v.Throughput,
				KMSKeyID: v.KMSKeyID, SnapshotID: v.SnapshotID, VolumeType: v.VolumeType,
				VolumeInitializationRate: v.VolumeInitializationRate,
			}
			if v.VolumeSize != nil {
				device.VolumeSizeBytes = v.VolumeSize.Value()
			}
		}
		devices = append(devices, device)
	}
	return devices
}
