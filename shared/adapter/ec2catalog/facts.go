package ec2catalog

import (
	"context"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// readTypesAndZones reads types, where they are offered and zones side by side, and returns the machines by name, each with
// its offers and no price on them yet. An answer without any of the three is an error.
func (c *Catalog) readTypesAndZones(ctx context.Context) ([]model.MachineType, error) {
	var machines []model.MachineType
	var offered map[string][]string
	var zoneIDs map[string]string
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { machines, err = c.readTypes(ctx); return err })
	group.Go(func() (err error) { offered, err = c.readOfferings(ctx); return err })
	group.Go(func() (err error) { zoneIDs, err = c.readZones(ctx); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if len(machines) == 0 || len(offered) == 0 || len(zoneIDs) == 0 {
		return nil, fault.New(fault.Internal, "EmptyCatalogue", "EC2 named %d types, %d offerings and %d zones of %s", len(machines), len(offered), len(zoneIDs), c.settings.Region)
	}
	for i := range machines {
		m := &machines[i]
		for _, zone := range offered[m.Name] {
			for _, usage := range m.UsageClasses { // sorted: on-demand, spot
				m.Offers = append(m.Offers, model.Offer{Zone: zone, ZoneID: zoneIDs[zone], CapacityType: usage})
			}
		}
	}
	return machines, nil
}

func (c *Catalog) readTypes(ctx context.Context) ([]model.MachineType, error) {
	pages := ec2.NewDescribeInstanceTypesPaginator(c.clients.EC2, &ec2.DescribeInstanceTypesInput{
		MaxResults: aws.Int32(100),
		Filters: []types.Filter{
			{Name: aws.String("supported-virtualization-type"), Values: []string{"hvm"}},
			{Name: aws.String("processor-info.supported-architecture"), Values: []string{"x86_64", "arm64"}},
		},
	})
	var machines []model.MachineType
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, translate(err, "describe instance types")
		}
		for i := range page.InstanceTypes {
			if machine, ok := machineOf(&page.InstanceTypes[i]); ok {
				machines = append(machines, machine)
			}
		}
	}
	sort.Slice(machines, func(i, j int) bool { return machines[i].Name < machines[j].Name })
	return machines, nil
}

func (c *Catalog) readOfferings(ctx context.Context) (map[string][]string, error) {
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(c.clients.EC2, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone, MaxResults: aws.Int32(1000),
	})
	offered := map[string][]string{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, translate(err, "describe instance type offerings")
		}
		for _, offering := range page.InstanceTypeOfferings {
			name := string(offering.InstanceType)
			offered[name] = append(offered[name], aws.ToString(offering.Location))
		}
	}
	for _, zones := range offered {
		sort.Strings(zones)
	}
	return offered, nil
}

func (c *Catalog) readZones(ctx context.Context) (map[string]string, error) {
	out, err := c.clients.EC2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, translate(err, "describe availability zones")
	}
	ids := map[string]string{}
	for _, zone := range out.AvailabilityZones {
		ids[aws.ToString(zone.ZoneName)] = aws.ToString(zone.ZoneId)
	}
	return ids, nil
}

// machineOf translates EC2's description of a type; false for one without a processor architecture we know.
func machineOf(info *types.InstanceTypeInfo) (model.MachineType, bool) {
	machine := model.MachineType{
		Name: string(info.InstanceType), Hypervisor: string(info.Hypervisor), BareMetal: aws.ToBool(info.BareMetal),
		NitroEnclaves:    info.NitroEnclavesSupport == types.NitroEnclavesSupportSupported,
		BranchInterfaces: branchInterfaces()[string(info.InstanceType)],
	}
	if !processor(info.ProcessorInfo, &machine) {
		return machine, false
	}
	if info.VCpuInfo != nil {
		machine.VCPUs = int64(aws.ToInt32(info.VCpuInfo.DefaultVCpus))
	}
	if info.MemoryInfo != nil {
		machine.MemoryMiB = aws.ToInt64(info.MemoryInfo.SizeInMiB)
	}
	storage(info, &machine)
	network(info.NetworkInfo, &machine)
	accelerators(info, &machine)
	for _, usage := range info.SupportedUsageClasses {
		if usage == types.UsageClassTypeOnDemand || usage == types.UsageClassTypeSpot {
			machine.UsageClasses = append(machine.UsageClasses, string(usage))
		}
	}
	sort.Strings(machine.UsageClasses)
	if info.PlacementGroupInfo != nil {
		for _, strategy := range info.PlacementGroupInfo.SupportedStrategies {
			machine.Strategies = append(machine.Strategies, string(strategy))
		}
		sort.Strings(machine.Strategies)
	}
	return machine, machine.VCPUs > 0 && machine.MemoryMiB > 0
}

func storage(info *types.InstanceTypeInfo, machine *model.MachineType) {
	if s := info.InstanceStorageInfo; s != nil {
		machine.InstanceStoreGB = aws.ToInt64(s.TotalSizeInGB)
		if s.NvmeSupport != types.EphemeralNvmeSupportUnsupported {
			machine.LocalNVMeGB = machine.InstanceStoreGB
		}
	}
	if e := info.EbsInfo; e != nil && e.EbsOptimizedSupport == types.EbsOptimizedSupportDefault && e.EbsOptimizedInfo != nil {
		machine.EBSMbps = int64(aws.ToInt32(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
	}
}

func processor(info *types.ProcessorInfo, machine *model.MachineType) bool {
	if info == nil {
		return false
	}
	for _, arch := range info.SupportedArchitectures {
		switch arch {
		case types.ArchitectureTypeX8664:
			machine.Arch = "amd64"
		case types.ArchitectureTypeArm64:
			machine.Arch = "arm64"
		default:
			continue
		}
		break
	}
	machine.CPUManufacturer = kebab(aws.ToString(info.Manufacturer))
	machine.Nested = slices.Contains(info.SupportedFeatures, types.SupportedAdditionalProcessorFeatureNestedVirtualization)
	machine.ClockSpeedGHz = aws.ToFloat64(info.SustainedClockSpeedInGhz)
	return machine.Arch != ""
}

// network takes over interfaces by card and the bandwidth of the whole machine.
func network(info *types.NetworkInfo, machine *model.MachineType) {
	if info == nil {
		return
	}
	machine.Interfaces = int64(aws.ToInt32(info.MaximumNetworkInterfaces))
	cards, gbps := make([]int64, len(info.NetworkCards)), 0.0
	for _, card := range info.NetworkCards {
		index := int(aws.ToInt32(card.NetworkCardIndex))
		if index < 0 || index >= len(cards) {
			continue // no card of EC2's numbers them otherwise
		}
		cards[index] = int64(aws.ToInt32(card.MaximumNetworkInterfaces))
		gbps += aws.ToFloat64(card.BaselineBandwidthInGbps)
	}
	if standard := int(aws.ToInt32(info.DefaultNetworkCardIndex)); standard >= 0 && standard < len(cards) {
		machine.Interfaces = cards[standard]
	}
	if len(cards) > 1 {
		machine.Cards = cards
	}
	if whole, known := performance(aws.ToString(info.NetworkPerformance)); known {
		gbps = whole
	}
	machine.NetworkMbps = int64(math.Round(gbps * 1000))
	machine.IPv4PerInterface = int64(aws.ToInt32(info.Ipv4AddressesPerInterface))
	machine.EncryptedTransit = aws.ToBool(info.EncryptionInTransitSupported)
	machine.ENA = info.EnaSupport == types.EnaSupportSupported || info.EnaSupport == types.EnaSupportRequired
	if info.EfaInfo != nil {
		machine.EFAInterfaces = int64(aws.ToInt32(info.EfaInfo.MaximumEfaInterfaces))
	}
}

// performance reads what EC2 says of a machine's network as a whole: "25 Gigabit", "4x 100 Gigabit". What is only at times ("Up to 10
// Gigabit") and what is no number ("Moderate") says nothing of what there always is; then that of all cards together holds. The sum
// of the cards is not it everywhere: several families (c6in, r6idn, g6e, hpc8a) say of each card what the whole machine has.
// Source: DescribeInstanceTypes beside the network tables of the EC2 instance types guide.
func performance(text string) (gbps float64, known bool) {
	rate, holds := strings.CutSuffix(text, " Gigabit")
	cards := 1
	if before, each, many := strings.Cut(rate, "x "); many {
		var err error
		if cards, err = strconv.Atoi(before); err != nil {
			return 0, false
		}
		rate = each
	}
	gbps, err := strconv.ParseFloat(rate, 64)
	return gbps * float64(cards), holds && err == nil
}

// accelerators counts devices. Those of several kinds are all counted, as far as their maker is that of the first, and have
// no name and no memory: what would be said of one kind is not true of the machine.
func accelerators(info *types.InstanceTypeInfo, machine *model.MachineType) {
	if g := info.GpuInfo; g != nil {
		for i, gpu := range g.Gpus {
			maker := kebab(aws.ToString(gpu.Manufacturer))
			if i == 0 {
				machine.GPUName, machine.GPUManufacturer = kebab(aws.ToString(gpu.Name)), maker
				if gpu.MemoryInfo != nil {
					machine.GPUMemoryMiB = int64(aws.ToInt32(gpu.MemoryInfo.SizeInMiB))
				}
			} else {
				machine.GPUName, machine.GPUMemoryMiB = "", 0
			}
			if maker == machine.GPUManufacturer {
				machine.GPUCount += int64(aws.ToInt32(gpu.Count))
			}
		}
	}
	if n := info.NeuronInfo; n != nil {
		for i, device := range n.NeuronDevices {
			if i > 0 {
				machine.NeuronName = ""
			} else {
				machine.NeuronName = kebab(aws.ToString(device.Name))
				if device.CoreInfo != nil {
					machine.NeuronCores = int64(aws.ToInt32(device.CoreInfo.Count))
				}
			}
			machine.NeuronCount += int64(aws.ToInt32(device.Count))
		}
	}
}

// kebab is how names become label values: lower case, words joined by hyphens.
func kebab(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }
