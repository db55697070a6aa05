package requirement

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Label keys of instance types, besides those model names.
const (
	InstanceCPU                      = awsDomain + "instance-cpu"
	InstanceCPUManufacturer          = awsDomain + "instance-cpu-manufacturer"
	InstanceCPUClockMHz              = awsDomain + "instance-cpu-sustained-clock-speed-mhz"
	InstanceMemory                   = awsDomain + "instance-memory" // MiB
	InstanceCategory                 = awsDomain + "instance-category"
	InstanceFamily                   = awsDomain + "instance-family"
	InstanceGeneration               = awsDomain + "instance-generation"
	InstanceSize                     = awsDomain + "instance-size"
	InstanceFlex                     = awsDomain + "instance-capability-flex"
	InstanceHypervisor               = awsDomain + "instance-hypervisor"
	InstanceEncryptedTransit         = awsDomain + "instance-encryption-in-transit-supported"
	InstanceLocalNVMe                = awsDomain + "instance-local-nvme"
	InstanceEBSBandwidth             = awsDomain + "instance-ebs-bandwidth"
	InstanceNetworkBandwidth         = awsDomain + "instance-network-bandwidth"
	InstanceGPUName                  = awsDomain + "instance-gpu-name"
	InstanceGPUManufacturer          = awsDomain + "instance-gpu-manufacturer"
	InstanceGPUCount                 = awsDomain + "instance-gpu-count"
	InstanceGPUMemory                = awsDomain + "instance-gpu-memory"
	InstanceAcceleratorName          = awsDomain + "instance-accelerator-name"
	InstanceAcceleratorManufacturer  = awsDomain + "instance-accelerator-manufacturer"
	InstanceAcceleratorCount         = awsDomain + "instance-accelerator-count"
	InstanceTenancy                  = awsDomain + "instance-tenancy"
	CapacityReservationID            = awsDomain + "capacity-reservation-id"
	CapacityReservationType          = awsDomain + "capacity-reservation-type"
	CapacityReservationInterruptible = awsDomain + "capacity-reservation-interruptible"
	PlacementGroupID                 = awsDomain + "placement-group-id"
	PlacementGroupPartition          = awsDomain + "placement-group-partition"
	NitroSandbox                     = "eks.amazonaws.com/nitro-sandbox"

	awsDomain = "karpenter.k8s.aws/"
)

var wellKnown = []string{
	model.LabelArch, model.LabelOS, model.LabelInstanceType, model.LabelZone, model.LabelRegion, model.LabelZoneID,
	model.LabelCapacityType, model.LabelNodePool, model.LabelNodeClass, model.LabelWindowsBuild,
	InstanceCPU, InstanceCPUManufacturer, InstanceCPUClockMHz, InstanceMemory, InstanceCategory, InstanceFamily,
	InstanceGeneration, InstanceSize, InstanceFlex, InstanceHypervisor, InstanceEncryptedTransit, InstanceLocalNVMe,
	InstanceEBSBandwidth, InstanceNetworkBandwidth, InstanceGPUName, InstanceGPUManufacturer, InstanceGPUCount,
	InstanceGPUMemory, InstanceAcceleratorName, InstanceAcceleratorManufacturer, InstanceAcceleratorCount, InstanceTenancy, CapacityReservationID,
	CapacityReservationType, CapacityReservationInterruptible, PlacementGroupID, PlacementGroupPartition, NitroSandbox,
}

var isWellKnown = func() map[string]bool {
	set := make(map[string]bool, len(wellKnown))
	for _, key := range wellKnown {
		set[key] = true
	}
	return set
}()

// WellKnown reports whether nodes get the label by what they are, so that a pool need not name the key for pods to ask
// for its values.
func WellKnown(key string) bool { return isWellKnown[key] }

// Normalize returns today's name of a label that has an older or a driver's own name, and every other key as it is.
func Normalize(key string) string {
	switch key {
	case "beta.kubernetes.io/arch":
		return model.LabelArch
	case "beta.kubernetes.io/os":
		return model.LabelOS
	case "beta.kubernetes.io/instance-type":
		return model.LabelInstanceType
	case "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone":
		return model.LabelZone
	case "failure-domain.beta.kubernetes.io/region":
		return model.LabelRegion
	}
	return key
}

// oldNames are the keys Normalize gives another name, by that name, in the order they are asked.
var oldNames = map[string][]string{
	model.LabelArch:         {"beta.kubernetes.io/arch"},
	model.LabelOS:           {"beta.kubernetes.io/os"},
	model.LabelInstanceType: {"beta.kubernetes.io/instance-type"},
	model.LabelZone:         {"failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"},
	model.LabelRegion:       {"failure-domain.beta.kubernetes.io/region"},
}

// Label returns a label of labels as they are written on a node, by its name of today, and whether it is there. Where it is
// there under that name, older names do not count.
func Label(labels map[string]string, key string) (value string, has bool) {
	if value, has = labels[key]; has {
		return value, true
	}
	for _, old := range oldNames[key] {
		if value, has = labels[old]; has {
			return value, true
		}
	}
	return "", false
}

// Hint returns the key, of those known and the well-known ones, that was likely meant by key; "" where none is near.
// Nearest is a key with the same name after another domain, then one that differs by at most two letters, then one that
// contains key or is contained in it.
func Hint(key string, known []string) string {
	candidates := sorted(append(slices.Clone(known), wellKnown...))
	candidates = without(candidates, []string{key})
	for _, near := range []func(key, candidate string) bool{sameName, similar, overlapping} {
		for _, candidate := range candidates {
			if near(key, candidate) {
				return candidate
			}
		}
	}
	return ""
}

// Nearest returns the value, of those there are, that was likely meant by value; "" where none is near: one that is the same but for
// capitals, then, of values of four letters and more, one that differs by one letter, or by two of five and more.
func Nearest(value string, known []string) string {
	candidates := without(sorted(known), []string{value})
	for _, near := range []func(value, candidate string) bool{strings.EqualFold, func(v, c string) bool { return len(v) >= 4 && distance(v, c, 1) <= 1 }, similar} {
		for _, candidate := range candidates {
			if near(value, candidate) {
				return candidate
			}
		}
	}
	return ""
}

func sameName(key, candidate string) bool {
	return nameOf(key) != "" && strings.EqualFold(nameOf(key), nameOf(candidate))
}

func overlapping(key, candidate string) bool {
	short, long := key, candidate
	if len(short) > len(long) {
		short, long = long, short
	}
	return len(short) >= 3 && strings.Contains(long, short)
}

func nameOf(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// similar reports whether the keys differ by one or two letters put in, left out or exchanged.
func similar(key, candidate string) bool {
	const limit = 2
	return len(key) >= 5 && distance(key, candidate, limit) <= limit
}

// distance returns how many letters have to be put in, left out or exchanged to make b of a (the Levenshtein distance), and some
// number above limit where their lengths alone differ by more.
func distance(a, b string, limit int) int {
	if apart := max(len(a)-len(b), len(b)-len(a)); apart > limit {
		return apart
	}
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	current := make([]int, len(b)+1)
	for i := range len(a) {
		current[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			current[j+1] = min(previous[j]+cost, previous[j+1]+1, current[j]+1)
		}
		previous, current = current, previous
	}
	return previous[len(b)]
}
