package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	gibibyte = 1 << 30
	// hiddenMemoryPerMille is the part of an instance's memory that its
	// hypervisor, firmware and kernel keep from the system.
	hiddenMemoryPerMille = 55
	// filesystemPerMille is the part of a volume that the file system keeps.
	filesystemPerMille = 5
)

// resources is what a Node reports, before any device plugin has spoken.
type resources struct {
	capacity    corev1.ResourceList
	allocatable corev1.ResourceList
}

// measure computes what the kubelet would report. The error is one at which it
// would not start: it reserves more than there is.
func (k *kubelet) measure(i Instance, c NodeConfig) (resources, error) {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(i.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(visibleMemoryBytes(i), resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(storageBytes(i, c), resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(int64(k.maxPods(i.VCPUs)), resource.DecimalSI),
	}
	for _, size := range hugePageSizes(i.goArch()) {
		capacity[corev1.ResourceName(corev1.ResourceHugePagesPrefix+size)] = *resource.NewQuantity(0, resource.BinarySI)
	}
	huge := hugePages(i.UserData) * defaultHugePageBytes
	if huge > 0 {
		capacity[corev1.ResourceHugePagesPrefix+"2Mi"] = *resource.NewQuantity(huge, resource.BinarySI)
	}
	reserved, err := k.reservations(capacity)
	if err != nil {
		return resources{}, err
	}
	allocatable := capacity.DeepCopy()
	for _, name := range slices.Sorted(maps.Keys(reserved)) {
		total, known := capacity[name]
		if !known {
			continue
		}
		left := total.DeepCopy()
		left.Sub(reserved[name])
		if left.Sign() < 0 {
			amount := reserved[name]
			return resources{}, fmt.Errorf("kubelet configuration: %s of %s is reserved, there is %s", amount.String(), name, total.String())
		}
		allocatable[name] = left
	}
	if huge > 0 { // what is set aside for huge pages is no memory of pods
		left := allocatable[corev1.ResourceMemory]
		left.Sub(*resource.NewQuantity(huge, resource.BinarySI))
		allocatable[corev1.ResourceMemory] = left
	}
	return resources{capacity: capacity, allocatable: allocatable}, nil
}

func (k *kubelet) maxPods(cores int) int32 {
	if k.config.PodsPerCore > 0 {
		return min(k.config.MaxPods, k.config.PodsPerCore*int32(cores))
	}
	return k.config.MaxPods
}

// reservations add up what is kept for the system, for Kubernetes and below
// the hard eviction thresholds.
func (k *kubelet) reservations(capacity corev1.ResourceList) (corev1.ResourceList, error) {
	sum := corev1.ResourceList{}
	add := func(name corev1.ResourceName, amount resource.Quantity) {
		total := sum[name]
		total.Add(amount)
		sum[name] = total
	}
	for field, list := range map[string]map[string]string{
		"kubeReserved": k.config.KubeReserved, "systemReserved": k.config.SystemReserved,
	} {
		for name, text := range list {
			amount, err := resource.ParseQuantity(text)
			if err != nil || amount.Sign() < 0 {
				return nil, fmt.Errorf("kubelet configuration: %s %s %q is not a quantity", field, name, text)
			}
			add(corev1.ResourceName(name), amount)
		}
	}
	for signal, name := range map[string]corev1.ResourceName{
		"memory.available": corev1.ResourceMemory, "nodefs.available": corev1.ResourceEphemeralStorage,
	} {
		text, ok := k.config.EvictionHard[signal]
		if !ok {
			continue
		}
		amount, err := threshold(text, capacity[name])
		if err != nil {
			return nil, fmt.Errorf("kubelet configuration: evictionHard %s: %w", signal, err)
		}
		add(name, amount)
	}
	return sum, nil
}

// threshold reads an amount, or a percentage of the whole.
func threshold(text string, whole resource.Quantity) (resource.Quantity, error) {
	number, isPercentage := strings.CutSuffix(text, "%")
	if isPercentage {
		percentage, err := strconv.ParseFloat(number, 64)
		if err != nil || !(percentage >= 0 && percentage <= 100) {
			return resource.Quantity{}, fmt.Errorf("%q is not a percentage", text)
		}
		return *resource.NewQuantity(int64(float64(whole.Value())*percentage/100), resource.BinarySI), nil
	}
	amount, err := resource.ParseQuantity(text)
	if err != nil || amount.Sign() < 0 {
		return resource.Quantity{}, fmt.Errorf("%q is not a quantity", text)
	}
	return amount, nil
}

func visibleMemoryBytes(i Instance) int64 { return VisibleMemory(i.MemoryBytes) }

// VisibleMemory returns how many bytes of an instance's memory its system sees: a multiple of 4 KiB, a page.
func VisibleMemory(bytes int64) int64 {
	return (bytes - bytes/1000*hiddenMemoryPerMille) &^ 4095
}

// storageBytes is the size of the file system that pods share: the volume
// it is on, or the array of local disks where the instance is told to make one.
func storageBytes(i Instance, c NodeConfig) int64 {
	system := systemOf(i)
	volume := cmp.Or(i.Volumes[system.volume], i.RootVolumeBytes, system.gib*gibibyte)
	switch strategy := c.Spec.Instance.LocalStorage.Strategy; {
	case i.InstanceStoreBytes == 0:
	case strategy == "RAID0":
		volume = i.InstanceStoreBytes
	case strategy == "RAID10":
		volume = i.InstanceStoreBytes / 2
	}
	return volume - volume/1000*filesystemPerMille
}

// hugePageSizes are the sizes a kernel offers, none of which is allotted.
func hugePageSizes(arch string) []string {
	if arch == "arm64" {
		return []string{"64Ki", "2Mi", "32Mi", "1Gi"}
	}
	return []string{"2Mi", "1Gi"}
}
