package offer

import (
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	mib = 1 << 20
	gib = 1 << 30

	// armFirmwareMiB is what ARM machines show less than their data sheet says.
	armFirmwareMiB = 64
	// unlimitedPods is the kubelet's own default where addresses do not bound the number of pods.
	unlimitedPods = 110
	// hostNetworkPods need no address of their own: the node's network plugin and proxy.
	hostNetworkPods = 2
)

// Names of the devices machines have beyond what Kubernetes names itself.
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

// capacityOf returns what a node of the type and class reports, estimated before there is one. Devices it has none of
// are left out.
func capacityOf(m *model.MachineType, class *model.Class, settings Settings) model.Resources {
	capacity := model.Resources{
		model.CPU:              m.VCPUs * 1000,
		model.Memory:           memoryBytes(m, settings),
		model.EphemeralStorage: ephemeralBytes(class),
		model.Pods:             podCount(m, class, settings),
	}
	devices := model.Resources{
		neuron:     m.NeuronCount,
		neuronCore: m.NeuronCount * m.NeuronCores,
		efa:        m.EFAInterfaces,
		podENI:     m.BranchInterfaces,
	}
	switch m.GPUManufacturer {
	case "nvidia":
		devices[nvidiaGPU] = m.GPUCount
	case "amd":
		devices[amdGPU] = m.GPUCount
	case "habana":
		devices[gaudi] = m.GPUCount
	}
	if familyOf(class).windows {
		devices[privateIPv4] = m.IPv4PerInterface - 1
	}
	for name, count := range devices {
		if count > 0 {
			capacity[name] = count
		}
	}
	return capacity
}

// memoryBytes returns the memory the operating system sees: the data sheet's less firmware and hypervisor, in whole MiB.
func memoryBytes(m *model.MachineType, settings Settings) int64 {
	size := m.MemoryMiB
	if m.Arch == "arm64" {
		size -= armFirmwareMiB
	}
	ppm := settings.MemoryOverheadPPM
	if ppm == 0 {
		ppm = defaultMemoryOverheadPPM
	}
	if ppm > 0 {
		size -= ceilDiv(size*ppm, 1_000_000)
	}
	return max(0, size) * mib
}

// podCount returns how many pods a node takes: the class's word, else as many as its interfaces have addresses for, and
// never more than the class allows a core.
func podCount(m *model.MachineType, class *model.Class, settings Settings) int64 {
	f := familyOf(class)
	count := int64(unlimitedPods)
	switch {
	case class.Kubelet.MaxPods > 0:
		count = class.Kubelet.MaxPods
	case !f.unlimitedENIs:
		count = addressablePods(m, settings.ReservedENIs)
	}
	if class.Kubelet.PodsPerCore > 0 && !f.ignoresCores {
		count = min(count, class.Kubelet.PodsPerCore*m.VCPUs)
	}
	return count
}

// addressablePods returns how many pods the interfaces of the first network card can address. The first address of each
// interface is the node's own.
func addressablePods(m *model.MachineType, reservedENIs int64) int64 {
	interfaces := m.Interfaces - reservedENIs
	if interfaces <= 0 {
		return 0
	}
	return interfaces*(m.IPv4PerInterface-1) + hostNetworkPods
}

// ephemeralBytes returns the size of the disk pods write to.
func ephemeralBytes(class *model.Class) int64 {
	f := familyOf(class)
	size := f.ephemeralGiB
	for _, device := range class.BlockDevices {
		if device.RootVolume && device.VolumeSizeGiB > 0 {
			return device.VolumeSizeGiB * gib
		}
		if device.VolumeSizeGiB > 0 && f.ephemeral != "" && device.DeviceName == f.ephemeral {
			size = device.VolumeSizeGiB
		}
	}
	if last := len(class.BlockDevices) - 1; f.ephemeral == "" && last >= 0 && class.BlockDevices[last].VolumeSizeGiB > 0 {
		size = class.BlockDevices[last].VolumeSizeGiB
	}
	return size * gib
}

// ceilDiv returns a / b rounded up, for a ≥ 0 and b > 0.
func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
