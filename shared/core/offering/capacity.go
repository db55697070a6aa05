package offering

import (
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	mib = 1 << 20
	gib = 1 << 30

	// armFirmwareMiB is what ARM instances show less than their data sheet says.
	armFirmwareMiB = 64
	gb             = 1_000_000_000
)

// raid0 is the instance store policy that joins an instance's own disks to one.
const raid0 = "RAID0"

// Names of the devices instances have beyond what Kubernetes names itself.
const (
	nvidiaGPU   = "nvidia.com/gpu"
	amdGPU      = "amd.com/gpu"
	gaudi       = "habana.ai/gaudi"
	neuron      = "aws.amazon.com/neuron"
	neuronCore  = "aws.amazon.com/neuroncore"
	efa         = "vpc.amazonaws.com/efa"
	podENI      = "vpc.amazonaws.com/pod-eni"
	privateIPv4 = "vpc.amazonaws.com/PrivateIPv4Address"
)

// capacity returns what a node of the type and class reports, estimated before there is one. Devices it has none of
// are left out.
func (v *view) capacity(m *model.InstanceTypeInfo, d density) model.Resources {
	capacity := model.Resources{
		model.CPU:              m.VCPUs * 1000,
		model.Memory:           v.memoryBytes(m),
		model.EphemeralStorage: v.ephemeralBytes(m),
		model.Pods:             d.pods,
	}
	devices := model.Resources{
		neuron:     m.NeuronCount,
		neuronCore: m.NeuronCount * m.NeuronCores,
		efa:        m.EFAInterfaces,
		podENI:     m.BranchInterfaces,
	}
	if len(v.class.NetworkInterfaces) > 0 {
		devices[efa] = efaOnlyInterfaces(v.class)
	}
	switch m.GPUManufacturer {
	case "nvidia":
		devices[nvidiaGPU] = m.GPUCount
	case "amd":
		devices[amdGPU] = m.GPUCount
	case "habana":
		devices[gaudi] = m.GPUCount
	}
	if v.family.windows {
		devices[privateIPv4] = m.IPv4PerInterface - 1
	}
	for name, count := range devices {
		if count > 0 {
			capacity[name] = count
		}
	}
	return capacity
}

// memoryBytes returns the memory the operating system sees: what nodes of the type with the class's images were seen to have,
// else the data sheet's less firmware and hypervisor, in whole MiB.
func (v *view) memoryBytes(m *model.InstanceTypeInfo) int64 {
	if seen, known := learned(m.LearnedMiB, v.images, v.settings.NowUnix); known && seen >= MinMemoryMiB(m) {
		return seen * mib
	}
	size := ownMiB(m)
	ppm := v.settings.MemoryOverheadPPM
	if ppm == 0 {
		ppm = defaultMemoryOverheadPPM
	}
	if ppm > 0 {
		size -= ceilDiv(size*ppm, 1_000_000)
	}
	return max(0, size) * mib
}

// ownMiB is the data sheet's memory less firmware.
func ownMiB(m *model.InstanceTypeInfo) int64 {
	if m.Arch == "arm64" {
		return m.MemoryMiB - armFirmwareMiB
	}
	return m.MemoryMiB
}

// MinMemoryMiB is the least memory that is believed of a node of the type: 80% of what the data sheet says less firmware, and
// leastLossMiB below that, for kernels keep some of the smallest instances too. A kubelet writes what its node has, so whoever is
// root there may write anything, and what is learned holds for every cluster of account and region.
func MinMemoryMiB(m *model.InstanceTypeInfo) int64 {
	return max(1, ownMiB(m)*80/100-leastLossMiB)
}

// leastLossMiB is what a kernel may keep of an instance however small.
const leastLossMiB = 128

// ephemeralBytes returns the size of the disk pods write to: the instance's own disks where they are joined to one, else the
// one flagged as root, else the family's device, each where its size is known.
func (v *view) ephemeralBytes(m *model.InstanceTypeInfo) int64 {
	devices := v.class.BlockDevices
	if v.class.InstanceStorePolicy == raid0 && v.family.joinsDisks && m.InstanceStoreGB > 0 {
		return m.InstanceStoreGB * gb
	}
	for _, device := range devices {
		if device.RootVolume && device.VolumeSizeGiB > 0 {
			return device.VolumeSizeGiB * gib
		}
	}
	if last := len(devices) - 1; v.family.ephemeral == "" && last >= 0 && devices[last].VolumeSizeGiB > 0 {
		return devices[last].VolumeSizeGiB * gib
	}
	size := v.family.ephemeralGiB
	for _, device := range devices {
		if device.VolumeSizeGiB > 0 && v.family.ephemeral != "" && device.DeviceName == v.family.ephemeral {
			size = device.VolumeSizeGiB
		}
	}
	return size * gib
}

// ceilDiv returns a / b rounded up, for a ≥ 0 and b > 0.
func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
