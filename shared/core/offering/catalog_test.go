package offering

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

const gi, mi = 1 << 30, 1 << 20

// soldIn returns offerings of both capacity types in the zones, on demand at price, spot at half of it.
func soldIn(price model.MicroUSD, zones ...string) []model.Offering {
	var offerings []model.Offering
	for _, zone := range zones {
		offerings = append(offerings,
			model.Offering{Zone: zone, CapacityType: model.OnDemand, Price: price, Available: true},
			model.Offering{Zone: zone, CapacityType: model.Spot, Price: price / 2, Available: true})
	}
	return offerings
}

func large() model.InstanceTypeInfo {
	return model.InstanceTypeInfo{Name: "m5.large", Arch: "amd64", VCPUs: 2, MemoryMiB: 8192, Hypervisor: "nitro", CPUManufacturer: "intel",
		ClockSpeedGHz: 3.1, Interfaces: 3, IPv4PerInterface: 10, NetworkMbps: 750, EBSMbps: 4750, EncryptedTransit: true, NitroEnclaves: false,
		BranchInterfaces: 9, UsageClasses: []string{"on-demand", "spot"}, Offerings: soldIn(96_000, "a", "b", "c")}
}

func class(change func(*model.Class)) model.Class {
	c := model.Class{Name: "default", Family: "AL2023", Status: model.ClassStatus{Subnets: []model.Subnet{
		{ID: "subnet-a1", Zone: "a", ZoneID: "z1", FreeAddresses: 100}, {ID: "subnet-a2", Zone: "a", ZoneID: "z1", FreeAddresses: 200},
		{ID: "subnet-b", Zone: "b", ZoneID: "z2", FreeAddresses: 50},
	}}}
	if change != nil {
		change(&c)
	}
	return c
}

func one(t *testing.T, m model.InstanceTypeInfo, c model.Class, s Settings) model.InstanceType {
	t.Helper()
	types := Catalog([]model.InstanceTypeInfo{m}, c, s)
	if len(types) != 1 {
		t.Fatalf("got %d types, want one", len(types))
	}
	return types[0]
}

// The figures are those AWS's own table of AL2023 nodes gives for the types.
func TestIT01AllocatableOfKnownTypes(t *testing.T) {
	tests := []struct {
		m         model.InstanceTypeInfo
		cpuMilli  int64
		memoryMiB int64
		pods      int64
		devices   model.Resources
	}{
		{model.InstanceTypeInfo{Name: "a1.medium", Arch: "arm64", VCPUs: 1, MemoryMiB: 2048, Interfaces: 2, IPv4PerInterface: 4, BranchInterfaces: 10},
			940, 1392, 8, model.Resources{"vpc.amazonaws.com/pod-eni": 10}},
		{model.InstanceTypeInfo{Name: "t3.micro", Arch: "amd64", VCPUs: 2, MemoryMiB: 1024, Interfaces: 2, IPv4PerInterface: 2}, 1930, 548, 4, nil},
		{model.InstanceTypeInfo{Name: "m5.large", Arch: "amd64", VCPUs: 2, MemoryMiB: 8192, Interfaces: 3, IPv4PerInterface: 10, BranchInterfaces: 9},
			1930, 6903, 29, model.Resources{"vpc.amazonaws.com/pod-eni": 9}},
		{model.InstanceTypeInfo{Name: "m6g.xlarge", Arch: "arm64", VCPUs: 4, MemoryMiB: 16384, Interfaces: 4, IPv4PerInterface: 15, BranchInterfaces: 18},
			3920, 14103, 58, model.Resources{"vpc.amazonaws.com/pod-eni": 18}},
		{model.InstanceTypeInfo{Name: "g4dn.xlarge", Arch: "amd64", VCPUs: 4, MemoryMiB: 16384, Interfaces: 3, IPv4PerInterface: 10, BranchInterfaces: 39,
			GPUCount: 1, GPUManufacturer: "nvidia", GPUName: "T4"},
			3920, 14481, 29, model.Resources{"nvidia.com/gpu": 1, "vpc.amazonaws.com/pod-eni": 39}},
		{model.InstanceTypeInfo{Name: "i4i.4xlarge", Arch: "amd64", VCPUs: 16, MemoryMiB: 131072, Interfaces: 8, IPv4PerInterface: 30, BranchInterfaces: 52},
			15890, 118312, 234, model.Resources{"vpc.amazonaws.com/pod-eni": 52}},
		{model.InstanceTypeInfo{Name: "m5.24xlarge", Arch: "amd64", VCPUs: 96, MemoryMiB: 393216, Interfaces: 15, IPv4PerInterface: 50, BranchInterfaces: 107},
			95690, 355262, 737, model.Resources{"vpc.amazonaws.com/pod-eni": 107}},
		{model.InstanceTypeInfo{Name: "p4d.24xlarge", Arch: "amd64", VCPUs: 96, MemoryMiB: 1179648, Interfaces: 15, IPv4PerInterface: 50, BranchInterfaces: 62,
			GPUCount: 8, GPUManufacturer: "nvidia", EFAInterfaces: 4},
			95690, 1082712, 737, model.Resources{"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 4, "vpc.amazonaws.com/pod-eni": 62}},
		{model.InstanceTypeInfo{Name: "inf2.xlarge", Arch: "amd64", VCPUs: 4, MemoryMiB: 16384, Interfaces: 4, IPv4PerInterface: 15, NeuronCount: 1, NeuronCores: 2},
			3920, 14162, 58, model.Resources{"aws.amazon.com/neuron": 1, "aws.amazon.com/neuroncore": 2}},
	}
	for _, test := range tests {
		t.Run(test.m.Name, func(t *testing.T) {
			it := one(t, test.m, class(nil), Settings{})
			want := model.Resources{model.CPU: test.cpuMilli, model.Memory: test.memoryMiB * mi, model.Pods: test.pods, model.EphemeralStorage: 17 * gi}
			for name, count := range test.devices {
				want[name] = count
			}
			got := it.Allocatable()
			for name := range got {
				if got[name] != want[name] {
					t.Errorf("%s = %d, want %d", name, got[name], want[name])
				}
			}
			if len(got) != len(want) {
				t.Errorf("allocatable = %v, want %v", got, want)
			}
		})
	}
}

func TestIT05IT07PodCountFollowsClassThenInterfacesThenCores(t *testing.T) {
	tests := []struct {
		name     string
		family   string
		kubelet  model.Kubelet
		reserved int64
		want     int64
	}{
		{"interfaces", "AL2023", model.Kubelet{}, 0, 29},
		{"one interface reserved", "AL2023", model.Kubelet{}, 1, 20},
		{"every interface reserved", "AL2023", model.Kubelet{}, 3, 0},
		{"the class's word", "AL2023", model.Kubelet{MaxPods: 110}, 0, 110},
		{"pods per core", "AL2023", model.Kubelet{PodsPerCore: 5}, 0, 10},
		{"pods per core bound the class's word", "AL2", model.Kubelet{MaxPods: 110, PodsPerCore: 40}, 0, 80},
		{"Bottlerocket has no pods per core", "Bottlerocket", model.Kubelet{PodsPerCore: 5}, 0, 29},
		{"Windows", "Windows2022", model.Kubelet{}, 0, 110},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := class(func(c *model.Class) { c.Family, c.Kubelet = test.family, test.kubelet })
			if got := one(t, large(), c, Settings{ReservedENIs: test.reserved}).Capacity[model.Pods]; got != test.want {
				t.Errorf("pods = %d, want %d", got, test.want)
			}
		})
	}
}

func TestIT06IT08OverheadFollowsTheKubelet(t *testing.T) {
	const standard = (11*29+255)*mi + 100*mi
	tests := []struct {
		name    string
		family  string
		kubelet model.Kubelet
		want    model.Resources
	}{
		{"standard", "AL2023", model.Kubelet{}, model.Resources{model.CPU: 70, model.Memory: standard, model.EphemeralStorage: 3 * gi}},
		{"maxPods reserves no less on AL2023", "AL2023", model.Kubelet{MaxPods: 10}, model.Resources{model.Memory: standard}},
		{"maxPods reserves less on Bottlerocket", "Bottlerocket", model.Kubelet{MaxPods: 10}, model.Resources{model.Memory: (11*10+255)*mi + 100*mi}},
		{"the class's word per resource", "AL2023", model.Kubelet{KubeReserved: model.Resources{model.CPU: 200}},
			model.Resources{model.CPU: 200, model.Memory: standard}},
		{"system reserved comes on top", "AL2023", model.Kubelet{SystemReserved: model.Resources{model.CPU: 30, "pid": 100}},
			model.Resources{model.CPU: 100, "pid": 100}},
		{"eviction as a quantity", "AL2023", model.Kubelet{EvictionHard: map[string]string{"memory.available": "500Mi", "nodefs.available": "5Gi"}},
			model.Resources{model.Memory: standard + 400*mi, model.EphemeralStorage: 6 * gi}},
		{"eviction as a percentage", "AL2023", model.Kubelet{EvictionHard: map[string]string{"memory.available": "10%"}},
			model.Resources{model.Memory: standard - 100*mi + 794_506_036}}, // 7577 MiB, a tenth of it rounded up
		{"eviction turned off", "AL2023", model.Kubelet{EvictionHard: map[string]string{"memory.available": "100%"}},
			model.Resources{model.Memory: standard - 100*mi}},
		{"eviction nobody can read", "AL2023", model.Kubelet{EvictionHard: map[string]string{"memory.available": "lots"}},
			model.Resources{model.Memory: standard}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := class(func(c *model.Class) { c.Family, c.Kubelet = test.family, test.kubelet })
			got := one(t, large(), c, Settings{}).Overhead
			for name, want := range test.want {
				if got[name] != want {
					t.Errorf("overhead of %s = %d, want %d", name, got[name], want)
				}
			}
		})
	}
}

func TestIT09EphemeralStorageFollowsTheDisks(t *testing.T) {
	tests := []struct {
		name, family string
		devices      []model.BlockDevice
		wantGiB      int64
	}{
		{"none", "AL2023", nil, 20},
		{"the family's device", "AL2023", []model.BlockDevice{{DeviceName: "/dev/xvda", VolumeSizeGiB: 80}}, 80},
		{"another device", "AL2023", []model.BlockDevice{{DeviceName: "/dev/xvdb", VolumeSizeGiB: 80}}, 20},
		{"Bottlerocket keeps pods on its second", "Bottlerocket", []model.BlockDevice{{DeviceName: "/dev/xvda", VolumeSizeGiB: 4}, {DeviceName: "/dev/xvdb", VolumeSizeGiB: 60}}, 60},
		{"flagged as root", "Bottlerocket", []model.BlockDevice{{DeviceName: "/dev/xvdb", VolumeSizeGiB: 60}, {RootVolume: true, DeviceName: "/dev/xvdz", VolumeSizeGiB: 70}}, 70},
		{"flagged without a size", "AL2023", []model.BlockDevice{{RootVolume: true, DeviceName: "/dev/xvda"}}, 20},
		{"custom takes the last", "Custom", []model.BlockDevice{{DeviceName: "/dev/sda", VolumeSizeGiB: 4}, {DeviceName: "/dev/sdb", VolumeSizeGiB: 90}}, 90},
		{"custom without a size", "Custom", []model.BlockDevice{{DeviceName: "/dev/sda"}}, 20},
		{"Windows", "Windows2022", nil, 50},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := class(func(c *model.Class) { c.Family, c.BlockDevices = test.family, test.devices })
			if got := one(t, large(), c, Settings{}).Capacity[model.EphemeralStorage]; got != test.wantGiB*gi {
				t.Errorf("ephemeral storage = %d GiB, want %d", got/gi, test.wantGiB)
			}
		})
	}
}

func TestIT03MemoryOverheadIsASetting(t *testing.T) {
	tests := []struct{ ppm, wantMiB int64 }{{0, 8192 - 615}, {-1, 8192}, {50_000, 8192 - 410}, {1_000_000, 0}}
	for _, test := range tests {
		if got := one(t, large(), class(nil), Settings{MemoryOverheadPPM: test.ppm}).Capacity[model.Memory]; got != test.wantMiB*mi {
			t.Errorf("with %d ppm: %d MiB, want %d", test.ppm, got/mi, test.wantMiB)
		}
	}
}

func TestIT11LabelsSayWhatTheTypeIs(t *testing.T) {
	gpu := large()
	gpu.Name, gpu.GPUCount, gpu.GPUName, gpu.GPUManufacturer, gpu.GPUMemoryMiB = "g4dn.2xlarge", 1, "Radeon Pro V520", "amd", 16384
	metal := large()
	metal.Name, metal.Hypervisor, metal.BareMetal = "c5.metal", "", true
	huge := large()
	huge.Name = "u-6tb1.56xlarge"
	flex := large()
	flex.Name = "m7i-flex.large"
	chip := large()
	chip.Name, chip.NeuronCount, chip.NeuronName = "inf2.xlarge", 1, "Inferentia2"
	const p = "karpenter.k8s.aws/"
	tests := []struct {
		m    model.InstanceTypeInfo
		want map[string][]string
	}{
		{large(), map[string][]string{
			"node.kubernetes.io/instance-type": {"m5.large"}, "kubernetes.io/arch": {"amd64"}, "kubernetes.io/os": {"linux"},
			"topology.kubernetes.io/zone": {"a", "b"}, "topology.k8s.aws/zone-id": {"z1", "z2"}, "topology.kubernetes.io/region": {"here"},
			"karpenter.sh/capacity-type": {"on-demand", "spot"}, p + "instance-cpu": {"2"}, p + "instance-memory": {"8192"},
			p + "instance-category": {"m"}, p + "instance-generation": {"5"}, p + "instance-family": {"m5"}, p + "instance-size": {"large"},
			p + "instance-cpu-manufacturer": {"intel"}, p + "instance-cpu-sustained-clock-speed-mhz": {"3100"}, p + "instance-hypervisor": {"nitro"},
			p + "instance-capability-flex": {"false"}, p + "instance-encryption-in-transit-supported": {"true"}, "eks.amazonaws.com/nitro-sandbox": {"false"},
			p + "instance-ebs-bandwidth": {"4750"}, p + "instance-network-bandwidth": {"750"}, p + "instance-tenancy": {"dedicated", "default"},
			p + "instance-gpu-count": nil, p + "instance-local-nvme": nil, p + "instance-accelerator-count": nil, "node.kubernetes.io/windows-build": nil,
			p + "capacity-reservation-id": nil,
		}},
		{gpu, map[string][]string{p + "instance-gpu-name": {"radeon-pro-v520"}, p + "instance-gpu-manufacturer": {"amd"}, p + "instance-gpu-count": {"1"},
			p + "instance-gpu-memory": {"16384"}, p + "instance-category": {"g"}, p + "instance-generation": {"4"}}},
		{metal, map[string][]string{p + "instance-hypervisor": {""}, p + "instance-size": {"metal"}}},
		{huge, map[string][]string{p + "instance-category": {"u"}, p + "instance-generation": {"1"}, p + "instance-family": {"u-6tb1"}}},
		{flex, map[string][]string{p + "instance-category": {"m"}, p + "instance-generation": {"7"}, p + "instance-capability-flex": {"true"}}},
		{chip, map[string][]string{p + "instance-accelerator-name": {"inferentia2"}, p + "instance-accelerator-manufacturer": {"aws"}, p + "instance-accelerator-count": {"1"}}},
	}
	for _, test := range tests {
		t.Run(test.m.Name, func(t *testing.T) {
			got := one(t, test.m, class(nil), Settings{Region: "here"}).Labels
			for key, want := range test.want {
				if values, has := got[key]; !slices.Equal(values, want) || has != (want != nil) {
					t.Errorf("%s = %q, want %q", key, values, want)
				}
			}
		})
	}
}

func TestIT11WindowsIsBuiltForOneArchitecture(t *testing.T) {
	c := class(func(c *model.Class) { c.Family = "Windows2022" })
	amd := one(t, large(), c, Settings{})
	if !slices.Equal(amd.Labels[model.LabelOS], []string{"windows"}) || !slices.Equal(amd.Labels[model.LabelWindowsBuild], []string{"10.0.20348"}) {
		t.Errorf("labels = %v", amd.Labels)
	}
	m := large()
	m.Arch = "arm64"
	if arm := one(t, m, c, Settings{}); arm.Labels[model.LabelOS] != nil || available(arm) != 0 {
		t.Errorf("arm64 has os %v and %d offers", arm.Labels[model.LabelOS], available(arm))
	}
}

// A kubelet that is to reserve more memory than the instance has does not start. Karpenter's suite of scheduling found
// it: pods for Windows, without requests, were planned onto the smallest type, which never joined.
func TestTypesWhoseKubeletWouldNotStartAreNotAvailable(t *testing.T) {
	nano := model.InstanceTypeInfo{Name: "t3a.nano", Arch: "amd64", VCPUs: 2, MemoryMiB: 512, Interfaces: 2,
		IPv4PerInterface: 2, UsageClasses: []string{"on-demand", "spot"}, Offerings: soldIn(4_700, "a", "b")}
	for family, want := range map[string]bool{"AL2023": true, "Windows2022": false} { // 4 pods, and 110
		c := class(func(c *model.Class) { c.Family = family })
		if got := one(t, nano, c, Settings{}); (available(got) > 0) != want {
			t.Errorf("%s: %d offerings are available with %d MiB reserved of %d", family, available(got),
				got.Overhead[model.Memory]/mi, got.Capacity[model.Memory]/mi)
		}
		if got := one(t, large(), c, Settings{}); available(got) == 0 {
			t.Errorf("%s: no offering of a large type is available", family)
		}
	}
	c := class(func(c *model.Class) { c.Kubelet.SystemReserved = model.Resources{model.CPU: 1930} })
	if got := one(t, nano, c, Settings{}); available(got) == 0 || got.Allocatable()[model.CPU] != 0 {
		t.Errorf("all CPU is reserved and no more: %d offerings", available(got))
	}
	c.Kubelet.SystemReserved[model.CPU]++
	if got := one(t, nano, c, Settings{}); available(got) != 0 {
		t.Errorf("more CPU is reserved than there is: %d offerings are available", available(got))
	}
}

func available(t model.InstanceType) int {
	n := 0
	for _, o := range t.Offerings {
		if o.Available {
			n++
		}
	}
	return n
}

func TestIT14OfferingsAreAvailableWhereTheClassCanLaunch(t *testing.T) {
	tests := []struct {
		name   string
		change func(*model.InstanceTypeInfo, *model.Class)
		want   int
	}{
		{"zones with a subnet", func(*model.InstanceTypeInfo, *model.Class) {}, 4},
		{"no subnet", func(_ *model.InstanceTypeInfo, c *model.Class) { c.Status.Subnets = nil }, 0},
		{"no price", func(m *model.InstanceTypeInfo, _ *model.Class) { m.Offerings[0].Price = 0 }, 3},
		{"not sold as spot", func(m *model.InstanceTypeInfo, _ *model.Class) { m.UsageClasses = []string{"on-demand"} }, 2},
		{"gone", func(m *model.InstanceTypeInfo, _ *model.Class) { m.Offerings[1].Available = false }, 3},
		{"first ARM generation on AL2023", func(m *model.InstanceTypeInfo, _ *model.Class) { m.Name = "a1.large" }, 0},
		{"first ARM generation elsewhere", func(m *model.InstanceTypeInfo, c *model.Class) { m.Name, c.Family = "a1.large", "Bottlerocket" }, 4},
		{"an image that boots it", func(_ *model.InstanceTypeInfo, c *model.Class) { c.Status.Images = []model.Image{image("i", "amd64")} }, 4},
		{"no image that boots it", func(_ *model.InstanceTypeInfo, c *model.Class) { c.Status.Images = []model.Image{image("i", "arm64")} }, 0},
		{"reserved", func(m *model.InstanceTypeInfo, _ *model.Class) { m.Offerings = append(m.Offerings, reservedOf(2)) }, 5},
		{"reserved and used up", func(m *model.InstanceTypeInfo, _ *model.Class) { m.Offerings = append(m.Offerings, reservedOf(0)) }, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, c := large(), class(nil)
			test.change(&m, &c)
			it := one(t, m, c, Settings{})
			if got := available(it); got != test.want {
				t.Errorf("%d offers are available, want %d: %+v", got, test.want, it.Offerings)
			}
			if len(it.Offerings) != len(m.Offerings) {
				t.Errorf("%d of %d offers are listed", len(it.Offerings), len(m.Offerings))
			}
		})
	}
}

func reservedOf(left int64) model.Offering {
	return model.Offering{Zone: "a", CapacityType: model.Reserved, Price: 0, Available: true, ReservationID: "cr-1", ReservationCapacity: left}
}

func image(id, arch string) model.Image {
	return model.Image{ID: id, Requirements: []model.Requirement{{Key: model.LabelArch, Operator: model.In, Values: []string{arch}}}}
}

func TestCatalogLeavesFactsAlone(t *testing.T) {
	facts := []model.InstanceTypeInfo{large()}
	Catalog(facts, class(func(c *model.Class) { c.Status.Subnets = nil }), Settings{})
	if !facts[0].Offerings[0].Available || facts[0].Offerings[0].ZoneID != "" {
		t.Errorf("facts changed: %+v", facts[0].Offerings[0])
	}
}
