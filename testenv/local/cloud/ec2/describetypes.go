package ec2

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeInstanceTypesInput struct {
	InstanceTypes []string `query:"InstanceType"`
	Filters       []Filter `query:"Filter"`
	NextToken     string
	MaxResults    *int
}

type describeInstanceTypesOutput struct {
	Types     wire.Set[typeView] `xml:"instanceTypeSet"`
	NextToken string             `xml:"nextToken,omitempty"`
}

var typeFields = fields[catalog.Type]{
	"bare-metal":                                   func(t catalog.Type) []string { return one(strconv.FormatBool(t.BareMetal)) },
	"burstable-performance-supported":              func(t catalog.Type) []string { return one(strconv.FormatBool(t.Burstable)) },
	"current-generation":                           func(t catalog.Type) []string { return one(strconv.FormatBool(!t.PreviousGeneration)) },
	"hypervisor":                                   func(t catalog.Type) []string { return one(t.Hypervisor) },
	"instance-storage-supported":                   func(t catalog.Type) []string { return one(strconv.FormatBool(t.Disks.Count > 0)) },
	"instance-type":                                func(t catalog.Type) []string { return one(t.Name) },
	"memory-info.size-in-mib":                      func(t catalog.Type) []string { return one(strconv.FormatInt(t.MemoryMiB, 10)) },
	"network-info.efa-supported":                   func(t catalog.Type) []string { return one(strconv.FormatBool(t.EFAInterfaces > 0)) },
	"network-info.encryption-in-transit-supported": func(t catalog.Type) []string { return one(strconv.FormatBool(t.EncryptionInTransit)) },
	"nitro-enclaves-support":                       func(t catalog.Type) []string { return one(support(t.NitroEnclaves)) },
	"processor-info.supported-features":            features,
	"processor-info.supported-architecture":        func(t catalog.Type) []string { return one(t.Architecture) },
	"supported-root-device-type":                   func(catalog.Type) []string { return []string{"ebs"} },
	"supported-usage-class":                        catalog.Type.UsageClasses,
	"supported-virtualization-type":                func(catalog.Type) []string { return []string{"hvm"} },
	"vcpu-info.default-cores":                      func(t catalog.Type) []string { return one(strconv.Itoa(cores(t))) },
	"vcpu-info.default-threads-per-core":           func(t catalog.Type) []string { return one(strconv.Itoa(t.ThreadsPerCore)) },
	"vcpu-info.default-vcpus":                      func(t catalog.Type) []string { return one(strconv.Itoa(t.VCPUs)) },
}

func support(yes bool) string {
	if yes {
		return "supported"
	}
	return "unsupported"
}

// features returns what the processor of a type can do besides, as EC2 names it.
func features(t catalog.Type) []string {
	if t.NestedVirtualization {
		return []string{"nested-virtualization"}
	}
	return nil
}

func cores(t catalog.Type) int { return max(1, t.VCPUs/t.ThreadsPerCore) }

func (m *Model) describeInstanceTypes(_ context.Context, in *describeInstanceTypesInput) (*describeInstanceTypesOutput, error) {
	m.lock()
	defer m.unlock()
	if len(in.InstanceTypes) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter InstanceTypes cannot be used with the parameter MaxResults")
	}
	if len(in.InstanceTypes) > 100 {
		return nil, wire.Errorf("InvalidParameterValue", "At most 100 instance types may be described by name")
	}
	types := []catalog.Type{}
	for _, name := range m.names {
		types = append(types, m.types[name])
	}
	types, err := pickByID(types, in.InstanceTypes, func(t catalog.Type) string { return t.Name }, "InvalidInstanceType", "following supplied instance types")
	if err != nil {
		return nil, err
	}
	if types, err = filter(types, in.Filters, typeFields, nil); err != nil {
		return nil, err
	}
	types, next, err := page(types, func(t catalog.Type) string { return t.Name }, pages{5, 100, 100}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	views := []typeView{}
	for _, t := range types {
		views = append(views, viewType(t))
	}
	return &describeInstanceTypesOutput{wire.SetOf(views), next}, nil
}

type typeView struct {
	InstanceType            string           `xml:"instanceType"`
	CurrentGeneration       bool             `xml:"currentGeneration"`
	FreeTierEligible        bool             `xml:"freeTierEligible"`
	UsageClasses            wire.Set[string] `xml:"supportedUsageClasses"`
	RootDeviceTypes         wire.Set[string] `xml:"supportedRootDeviceTypes"`
	VirtualizationTypes     wire.Set[string] `xml:"supportedVirtualizationTypes"`
	BareMetal               bool             `xml:"bareMetal"`
	Hypervisor              string           `xml:"hypervisor,omitempty"`
	Processor               processorView    `xml:"processorInfo"`
	VCPU                    vcpuView         `xml:"vCpuInfo"`
	MemoryMiB               int64            `xml:"memoryInfo>sizeInMiB"`
	StorageSupported        bool             `xml:"instanceStorageSupported"`
	Storage                 *storageView     `xml:"instanceStorageInfo"`
	EBS                     ebsView          `xml:"ebsInfo"`
	Network                 networkView      `xml:"networkInfo"`
	GPU                     *gpuView         `xml:"gpuInfo"`
	Neuron                  *neuronView      `xml:"neuronInfo"`
	Inference               *inferenceView   `xml:"inferenceAcceleratorInfo"`
	PlacementStrategies     wire.Set[string] `xml:"placementGroupInfo>supportedStrategies"`
	HibernationSupported    bool             `xml:"hibernationSupported"`
	Burstable               bool             `xml:"burstablePerformanceSupported"`
	DedicatedHostsSupported bool             `xml:"dedicatedHostsSupported"`
	AutoRecoverySupported   bool             `xml:"autoRecoverySupported"`
	BootModes               wire.Set[string] `xml:"supportedBootModes"`
	NitroEnclaves           string           `xml:"nitroEnclavesSupport"`
	NitroTPM                string           `xml:"nitroTpmSupport"`
	PHC                     string           `xml:"phcSupport"`
}

type processorView struct {
	Architectures wire.Set[string] `xml:"supportedArchitectures"`
	ClockGHz      float64          `xml:"sustainedClockSpeedInGhz"`
	Manufacturer  string           `xml:"manufacturer"`
	Features      []string         `xml:"supportedFeatures>item"`
}

type vcpuView struct {
	VCPUs          int `xml:"defaultVCpus"`
	Cores          int `xml:"defaultCores"`
	ThreadsPerCore int `xml:"defaultThreadsPerCore"`
}

type storageView struct {
	TotalGB    int                `xml:"totalSizeInGB"`
	Disks      wire.Set[diskView] `xml:"disks"`
	NVMe       string             `xml:"nvmeSupport"`
	Encryption string             `xml:"encryptionSupport"`
}

type diskView struct {
	SizeGB int    `xml:"sizeInGB"`
	Count  int    `xml:"count"`
	Type   string `xml:"type"`
}

type ebsView struct {
	Optimized      string        `xml:"ebsOptimizedSupport"`
	Encryption     string        `xml:"encryptionSupport"`
	Bandwidth      bandwidthView `xml:"ebsOptimizedInfo"`
	NVMe           string        `xml:"nvmeSupport"`
	MaxAttachments int           `xml:"maximumEbsAttachments"`
	AttachmentType string        `xml:"attachmentLimitType"`
}

type bandwidthView struct {
	BaselineMbps       int     `xml:"baselineBandwidthInMbps"`
	BaselineThroughput float64 `xml:"baselineThroughputInMBps"`
	MaximumMbps        int     `xml:"maximumBandwidthInMbps"`
	MaximumThroughput  float64 `xml:"maximumThroughputInMBps"`
}

type networkView struct {
	Performance         string             `xml:"networkPerformance"`
	MaxInterfaces       int                `xml:"maximumNetworkInterfaces"`
	MaxCards            int                `xml:"maximumNetworkCards"`
	DefaultCard         int                `xml:"defaultNetworkCardIndex"`
	Cards               wire.Set[cardView] `xml:"networkCards"`
	IPv4PerInterface    int                `xml:"ipv4AddressesPerInterface"`
	IPv6PerInterface    int                `xml:"ipv6AddressesPerInterface"`
	IPv6Supported       bool               `xml:"ipv6Supported"`
	ENASupport          string             `xml:"enaSupport"`
	EFASupported        bool               `xml:"efaSupported"`
	EFA                 *efaView           `xml:"efaInfo"`
	EncryptionInTransit bool               `xml:"encryptionInTransitSupported"`
	ENASRDSupported     bool               `xml:"enaSrdSupported"`
}

type cardView struct {
	Index         int     `xml:"networkCardIndex"`
	Performance   string  `xml:"networkPerformance"`
	MaxInterfaces int     `xml:"maximumNetworkInterfaces"`
	BaselineGbps  float64 `xml:"baselineBandwidthInGbps"`
	PeakGbps      float64 `xml:"peakBandwidthInGbps"`
}

type efaView struct {
	MaxInterfaces int `xml:"maximumEfaInterfaces"`
}

type gpuView struct {
	GPUs     wire.Set[gpuDevice] `xml:"gpus"`
	TotalMiB int64               `xml:"totalGpuMemoryInMiB"`
}

type gpuDevice struct {
	Name         string `xml:"name"`
	Manufacturer string `xml:"manufacturer"`
	Count        int    `xml:"count"`
	MemoryMiB    int64  `xml:"memoryInfo>sizeInMiB"`
}

type neuronView struct {
	Devices  wire.Set[neuronDevice] `xml:"neuronDevices"`
	TotalMiB int64                  `xml:"totalNeuronDeviceMemoryInMiB"`
}

type neuronDevice struct {
	Count       int    `xml:"count"`
	Name        string `xml:"name"`
	Cores       int    `xml:"coreInfo>count"`
	CoreVersion int    `xml:"coreInfo>version"`
	MemoryMiB   int64  `xml:"memoryInfo>sizeInMiB"`
}

type inferenceView struct {
	Accelerators wire.Members[gpuDevice] `xml:"accelerators"` // of all lists in EC2, this one says "member"
	TotalMiB     int64                   `xml:"totalInferenceMemoryInMiB"`
}

func viewType(t catalog.Type) typeView {
	v := typeView{
		InstanceType: t.Name, CurrentGeneration: !t.PreviousGeneration, FreeTierEligible: t.Name == "t3.micro",
		UsageClasses: wire.SetOf(t.UsageClasses()), RootDeviceTypes: wire.SetOf([]string{"ebs"}),
		VirtualizationTypes: wire.SetOf([]string{"hvm"}), BareMetal: t.BareMetal, Hypervisor: t.Hypervisor,
		Processor: processorView{wire.SetOf([]string{t.Architecture}), t.ClockGHz, t.Manufacturer, features(t)},
		VCPU:      vcpuView{t.VCPUs, cores(t), t.ThreadsPerCore}, MemoryMiB: t.MemoryMiB,
		StorageSupported: t.Disks.Count > 0, Storage: viewStorage(t), EBS: viewEBS(t), Network: viewNetwork(t),
		Burstable: t.Burstable, DedicatedHostsSupported: t.GPU == nil, AutoRecoverySupported: t.Disks.Count == 0,
		BootModes: wire.SetOf([]string{"uefi"}), NitroEnclaves: support(t.NitroEnclaves),
		NitroTPM: support(!t.BareMetal && t.Hypervisor == "nitro"), PHC: "unsupported",
		PlacementStrategies: wire.SetOf(t.Strategies()),
	}
	if g := t.GPU; g != nil {
		v.GPU = &gpuView{wire.SetOf([]gpuDevice{{g.Name, g.Manufacturer, g.Count, g.MemoryMiB}}), g.MemoryMiB * int64(g.Count)}
	}
	if n := t.Neuron; n != nil {
		total := n.MemoryMiB * int64(n.Count)
		v.Neuron = &neuronView{wire.SetOf([]neuronDevice{{n.Count, n.Name, n.CoresPerDevice, n.CoreVersion, n.MemoryMiB}}), total}
		if strings.HasPrefix(n.Name, "Inferentia") { // EC2 lists Inferentia twice, in the older way too
			v.Inference = &inferenceView{wire.MembersOf([]gpuDevice{{n.Name, "AWS", n.Count, n.MemoryMiB}}), total}
		}
	}
	return v
}

func viewStorage(t catalog.Type) *storageView {
	d := t.Disks
	if d.Count == 0 {
		return nil
	}
	return &storageView{d.TotalGB(), wire.SetOf([]diskView{{d.SizeGB, d.Count, d.Kind}}), "required", "required"}
}

func viewEBS(t catalog.Type) ebsView {
	v := ebsView{
		Optimized: "default", Encryption: "supported", NVMe: "required", MaxAttachments: 27, AttachmentType: "shared",
		Bandwidth: bandwidthView{t.EBSBaselineMbps, float64(t.EBSBaselineMbps) / 8, t.EBSMaximumMbps, float64(t.EBSMaximumMbps) / 8},
	}
	if t.Hypervisor == "xen" {
		v.NVMe = "unsupported"
	}
	return v
}

func viewNetwork(t catalog.Type) networkView {
	speed := speedText(t.NetworkBaselineGbps, t.NetworkPeakGbps)
	v := networkView{
		Performance: speed, MaxInterfaces: t.InterfacesPerCard * t.NetworkCards, MaxCards: t.NetworkCards,
		IPv4PerInterface: t.IPv4PerInterface, IPv6PerInterface: t.IPv4PerInterface, IPv6Supported: true,
		ENASupport: "required", EFASupported: t.EFAInterfaces > 0, EncryptionInTransit: t.EncryptionInTransit,
	}
	if t.Hypervisor == "xen" {
		v.ENASupport = "supported"
	}
	if !t.ENA {
		v.ENASupport = "unsupported"
	}
	switch {
	case t.NetworkGbps > 0:
		v.Performance = speedText(t.NetworkGbps, t.NetworkGbps)
	case t.NetworkCards > 1:
		v.Performance = fmt.Sprintf("%dx %s", t.NetworkCards, speed)
	}
	if t.EFAInterfaces > 0 {
		v.EFA = &efaView{t.EFAInterfaces}
	}
	for i := range t.NetworkCards {
		v.Cards.Items = append(v.Cards.Items, cardView{i, speed, t.InterfacesPerCard, t.NetworkBaselineGbps, t.NetworkPeakGbps})
	}
	return v
}

// speedText has at most two decimals, as EC2's texts do: 28.12 Gigabit of 28.125.
func speedText(baselineGbps, peakGbps float64) string {
	text := strconv.FormatFloat(math.Floor(peakGbps*100)/100, 'g', -1, 64) + " Gigabit"
	if peakGbps > baselineGbps {
		return "Up to " + text
	}
	return text
}
