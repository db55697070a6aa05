package ec2catalog

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// described is a type as EC2 describes it.
func described(change func(*types.InstanceTypeInfo)) *types.InstanceTypeInfo {
	info := &types.InstanceTypeInfo{
		InstanceType:  "m5.large",
		ProcessorInfo: &types.ProcessorInfo{SupportedArchitectures: []types.ArchitectureType{types.ArchitectureTypeX8664}},
		VCpuInfo:      &types.VCpuInfo{DefaultVCpus: aws.Int32(2)}, MemoryInfo: &types.MemoryInfo{SizeInMiB: aws.Int64(8192)},
	}
	change(info)
	return info
}

func card(index, interfaces int32, gbps float64) types.NetworkCardInfo {
	return types.NetworkCardInfo{NetworkCardIndex: aws.Int32(index), MaximumNetworkInterfaces: aws.Int32(interfaces), BaselineBandwidthInGbps: aws.Float64(gbps)}
}

func gpus(kinds ...string) *types.GpuInfo {
	info := &types.GpuInfo{}
	for _, kind := range kinds {
		maker, name, _ := strings.Cut(kind, "/")
		info.Gpus = append(info.Gpus, types.GpuDeviceInfo{
			Manufacturer: &maker, Name: &name, Count: aws.Int32(2), MemoryInfo: &types.GpuDeviceMemoryInfo{SizeInMiB: aws.Int32(1024)},
		})
	}
	return info
}

func TestFactsAreThoseEC2Describes(t *testing.T) {
	cases := map[string]struct {
		info *types.InstanceTypeInfo
		want func(*model.InstanceTypeInfo)
	}{
		"nothing more": {described(func(*types.InstanceTypeInfo) {}), func(*model.InstanceTypeInfo) {}},
		"cards in any order, bandwidth of all together": {described(func(i *types.InstanceTypeInfo) {
			i.NetworkInfo = &types.NetworkInfo{
				MaximumNetworkInterfaces: aws.Int32(15), DefaultNetworkCardIndex: aws.Int32(1), EnaSupport: types.EnaSupportRequired,
				NetworkCards: []types.NetworkCardInfo{card(1, 8, 100), card(0, 7, 100)}, EfaInfo: &types.EfaInfo{MaximumEfaInterfaces: aws.Int32(2)},
			}
		}), func(m *model.InstanceTypeInfo) {
			m.Cards, m.Interfaces, m.NetworkMbps, m.ENA, m.EFAInterfaces = []int64{7, 8}, 8, 200_000, true, 2
		}},
		"cards that each say what the machine has": {described(func(i *types.InstanceTypeInfo) {
			i.NetworkInfo = &types.NetworkInfo{NetworkPerformance: aws.String("200 Gigabit"), NetworkCards: []types.NetworkCardInfo{card(0, 8, 200), card(1, 8, 200)}, EnaSupport: types.EnaSupportRequired}
		}), func(m *model.InstanceTypeInfo) {
			m.Cards, m.Interfaces, m.NetworkMbps, m.ENA = []int64{8, 8}, 8, 200_000, true
		}},
		"cards that are counted": {described(func(i *types.InstanceTypeInfo) {
			i.NetworkInfo = &types.NetworkInfo{NetworkPerformance: aws.String("4x 100 Gigabit"), NetworkCards: []types.NetworkCardInfo{card(0, 15, 100)}}
		}), func(m *model.InstanceTypeInfo) { m.Interfaces, m.NetworkMbps = 15, 400_000 }},
		"bandwidth that there is at times": {described(func(i *types.InstanceTypeInfo) {
			i.NetworkInfo = &types.NetworkInfo{NetworkPerformance: aws.String("Up to 10 Gigabit"), NetworkCards: []types.NetworkCardInfo{card(0, 3, 0.75)}}
		}), func(m *model.InstanceTypeInfo) { m.Interfaces, m.NetworkMbps = 3, 750 }},
		"one card is no list": {described(func(i *types.InstanceTypeInfo) {
			i.NetworkInfo = &types.NetworkInfo{NetworkCards: []types.NetworkCardInfo{card(0, 3, 0.032)}, EnaSupport: types.EnaSupportUnsupported}
		}), func(m *model.InstanceTypeInfo) { m.Interfaces, m.NetworkMbps = 3, 32 }},
		"cards that are numbered strangely": {described(func(i *types.InstanceTypeInfo) {
			i.NetworkInfo = &types.NetworkInfo{MaximumNetworkInterfaces: aws.Int32(4), DefaultNetworkCardIndex: aws.Int32(-1), NetworkCards: []types.NetworkCardInfo{card(9, 3, 1)}}
		}), func(m *model.InstanceTypeInfo) { m.Interfaces = 4 }},
		"nested virtualisation and strategies": {described(func(i *types.InstanceTypeInfo) {
			i.ProcessorInfo.SupportedFeatures = []types.SupportedAdditionalProcessorFeature{"amd-sev-snp", "nested-virtualization"}
			i.PlacementGroupInfo = &types.PlacementGroupInfo{SupportedStrategies: []types.PlacementGroupStrategy{"spread", "cluster"}}
		}), func(m *model.InstanceTypeInfo) { m.Nested, m.Strategies = true, []string{"cluster", "spread"} }},
		"disks that are no NVMe": {described(func(i *types.InstanceTypeInfo) {
			i.InstanceStorageInfo = &types.InstanceStorageInfo{TotalSizeInGB: aws.Int64(900), NvmeSupport: types.EphemeralNvmeSupportUnsupported}
		}), func(m *model.InstanceTypeInfo) { m.InstanceStoreGB = 900 }},
		"one kind of GPU": {described(func(i *types.InstanceTypeInfo) { i.GpuInfo = gpus("NVIDIA/Tesla T4") }), func(m *model.InstanceTypeInfo) {
			m.GPUName, m.GPUManufacturer, m.GPUCount, m.GPUMemoryMiB = "tesla-t4", "nvidia", 2, 1024
		}},
		"several kinds of GPU are counted and not described": {described(func(i *types.InstanceTypeInfo) { i.GpuInfo = gpus("NVIDIA/A10", "NVIDIA/L4") }), func(m *model.InstanceTypeInfo) {
			m.GPUManufacturer, m.GPUCount = "nvidia", 4
		}},
		"GPUs of another maker are not counted with them": {described(func(i *types.InstanceTypeInfo) { i.GpuInfo = gpus("NVIDIA/A10", "AMD/V520") }), func(m *model.InstanceTypeInfo) {
			m.GPUManufacturer, m.GPUCount = "nvidia", 2
		}},
		"Neuron": {described(func(i *types.InstanceTypeInfo) {
			i.NeuronInfo = &types.NeuronInfo{NeuronDevices: []types.NeuronDeviceInfo{{Name: aws.String("Inferentia2"), Count: aws.Int32(6), CoreInfo: &types.NeuronDeviceCoreInfo{Count: aws.Int32(2)}}}}
		}), func(m *model.InstanceTypeInfo) { m.NeuronName, m.NeuronCount, m.NeuronCores = "inferentia2", 6, 2 }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := model.InstanceTypeInfo{Name: "m5.large", Arch: "amd64", VCPUs: 2, MemoryMiB: 8192, BranchInterfaces: 9}
			c.want(&want)
			if got, ok := infoOf(c.info); !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestTypesWithoutAKnownArchitectureAreLeftOut(t *testing.T) {
	for _, arch := range []types.ArchitectureType{types.ArchitectureTypeX8664Mac, types.ArchitectureTypeArm64Mac, types.ArchitectureTypeI386} {
		info := described(func(i *types.InstanceTypeInfo) {
			i.ProcessorInfo.SupportedArchitectures = []types.ArchitectureType{arch}
		})
		if m, ok := infoOf(info); ok {
			t.Errorf("%s is %s", arch, m.Arch)
		}
	}
}

// The counts are the published ones of aws/karpenter's instance type reference for these types.
func TestBranchInterfacesOfKnownTypes(t *testing.T) {
	for name, want := range map[string]int64{
		"a1.medium": 10, "m5.large": 9, "m6g.xlarge": 18, "g4dn.xlarge": 39, "i4i.4xlarge": 52, "m5.24xlarge": 107, "p4d.24xlarge": 62,
		"inf2.xlarge": 18, "t3.micro": 0, "t3.2xlarge": 0, "m4.large": 0, "no.such": 0,
	} {
		if got := branchInterfaces()[name]; got != want {
			t.Errorf("%s takes %d branch interfaces, want %d", name, got, want)
		}
	}
	if n := len(branchInterfaces()); n != 1320 {
		t.Errorf("the table has %d types, want 1320", n)
	}
	for name, count := range branchInterfaces() {
		if family, size, dotted := strings.Cut(name, "."); !dotted || family == "" || size == "" || count < 1 || count > 200 {
			t.Errorf("%q takes %d", name, count)
		}
	}
}
