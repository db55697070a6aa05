package problem

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// The names everything is drawn from.
var (
	zones         = []string{"zone-a", "zone-b", "zone-c"}
	zoneIDs       = map[string]string{"zone-a": "az1", "zone-b": "az2", "zone-c": "az3"}
	capacityTypes = []string{model.Spot, model.OnDemand}
	racks         = []string{"r1", "r2", "r3"}
)

const (
	// RackLabel is a label of nodes that pools decide.
	RackLabel = "example.com/rack"
	labelSize = "karpenter.k8s.aws/instance-size"
	labelCPU  = "karpenter.k8s.aws/instance-cpu"
	labelKind = "karpenter.k8s.aws/instance-category"
	gpu       = "nvidia.com/gpu"
	fpga      = "example.com/fpga"
	region    = "region-1"
)

const (
	mebi = 1 << 20
	gibi = 1 << 30
)

// catalog makes up what can be bought: three categories and one with GPUs, in two architectures and up to five sizes.
func (m *maker) catalog() {
	kinds := []struct {
		letter       string
		gibPerCore   int64
		microPerCore int64
		gpus         int64
	}{{"c", 2, 42_000, 0}, {"m", 4, 48_000, 0}, {"r", 8, 63_000, 0}, {"g", 4, 150_000, 1}}
	sizes := []struct {
		name  string
		cores int64
		pods  int64
	}{{"medium", 1, 4}, {"large", 2, 8}, {"xlarge", 4, 15}, {"2xlarge", 8, 30}, {"4xlarge", 16, 58}}
	for _, kind := range kinds {
		for _, arch := range []string{"amd64", "arm64"} {
			for _, size := range sizes {
				name := kind.letter + "1." + size.name
				price := size.cores * kind.microPerCore
				if arch == "arm64" {
					name, price = kind.letter+"1g."+size.name, price*8/10
				}
				t := m.instanceType(name, arch, size.cores, kind.gibPerCore*size.cores*gibi, size.pods, price)
				if kind.gpus > 0 && size.cores >= 4 {
					t.Capacity[gpu] = kind.gpus * max(1, size.cores/8)
				}
				m.Catalog = append(m.Catalog, t)
			}
		}
	}
}

func (m *maker) instanceType(name, arch string, cores, memoryBytes, pods, price int64) model.InstanceType {
	family, size, _ := strings.Cut(name, ".")
	t := model.InstanceType{
		Name: name,
		Labels: map[string][]string{
			model.LabelInstanceType: {name}, model.LabelArch: {arch}, model.LabelOS: {"linux"}, model.LabelRegion: {region},
			model.LabelZone: zones, model.LabelZoneID: {"az1", "az2", "az3"}, model.LabelCapacityType: capacityTypes,
			"karpenter.k8s.aws/instance-family": {family}, labelKind: {family[:1]}, labelSize: {size}, labelCPU: {strconv.FormatInt(cores, 10)},
		},
		Capacity: model.Resources{
			model.CPU: cores * 1000, model.Memory: memoryBytes, model.Pods: pods, model.EphemeralStorage: 20 * gibi,
		},
		Overhead: model.Resources{model.CPU: 60 + 10*cores, model.Memory: 300*mebi + memoryBytes/20, model.EphemeralStorage: gibi},
	}
	for z, zone := range zones {
		for _, capacityType := range []string{model.OnDemand, model.Spot} {
			cost := price
			if capacityType == model.Spot {
				cost = price * int64(300+m.IntN(300)+10*z) / 1000
			}
			t.Offerings = append(t.Offerings, model.Offering{
				Zone: zone, ZoneID: zoneIDs[zone], CapacityType: capacityType, Price: model.MicroUSD(cost), Available: !m.chance(8),
			})
		}
	}
	return t
}

// Labels returns the labels of a node of the type, bought in a zone: its own, and those that the kubelet and the cloud's
// controller add, names of old included.
func Labels(t *model.InstanceType, zone, capacityType string) map[string]string {
	labels := make(map[string]string)
	for key, values := range t.Labels {
		if len(values) == 1 {
			labels[key] = values[0]
		}
	}
	labels[model.LabelZone], labels[model.LabelCapacityType] = zone, capacityType
	if id, known := zoneIDs[zone]; known {
		labels[model.LabelZoneID] = id
	}
	for old, current := range map[string]string{
		"beta.kubernetes.io/arch": model.LabelArch, "beta.kubernetes.io/os": model.LabelOS, "beta.kubernetes.io/instance-type": model.LabelInstanceType,
		corev1.LabelFailureDomainBetaZone: model.LabelZone, corev1.LabelFailureDomainBetaRegion: model.LabelRegion,
	} {
		if value, has := labels[current]; has {
			labels[old] = value
		}
	}
	return labels
}

// Type returns the instance type of that name.
func (p *Problem) Type(name string) (*model.InstanceType, error) {
	for i := range p.Catalog {
		if p.Catalog[i].Name == name {
			return &p.Catalog[i], nil
		}
	}
	return nil, fmt.Errorf("no instance type is called %q", name)
}

// Racks returns every rack a node can have, "" for none included.
func Racks() []string { return append([]string{""}, racks...) }
