package ec2catalog

import (
	"context"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Types are the region's instance types with their offerings and prices, kept for as long as they are good.
type Types struct {
	*source

	mutex  sync.Mutex
	kept   model.InstanceCatalog // what InstanceTypes returns
	failed failures              // of its last refreshes
}

// failures are when reading a part last failed; zero where it did not.
type failures struct{ types, prices, spot time.Time }

// readTypesAndZones reads types, where they are offered and zones side by side, and returns the instances by name, each
// with its offerings and no price on them yet. An answer without any of the three is an error.
func (c *Types) readTypesAndZones(ctx context.Context) ([]model.InstanceTypeInfo, error) {
	var instanceTypes []model.InstanceTypeInfo
	var offered map[string][]string
	var zoneIDs map[string]string
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { instanceTypes, err = c.readTypes(ctx); return err })
	group.Go(func() (err error) { offered, err = c.readOfferings(ctx); return err })
	group.Go(func() (err error) { zoneIDs, err = c.readZones(ctx); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if len(instanceTypes) == 0 || len(offered) == 0 || len(zoneIDs) == 0 {
		return nil, fault.New(fault.Internal, "EmptyCatalogue", "EC2 named %d types, %d offerings and %d zones of %s",
			len(instanceTypes), len(offered), len(zoneIDs), c.settings.Region)
	}
	for i := range instanceTypes {
		m := &instanceTypes[i]
		for _, zone := range offered[m.Name] {
			for _, usage := range m.UsageClasses { // sorted: on-demand, spot
				m.Offerings = append(m.Offerings,
					model.Offering{Zone: zone, ZoneID: zoneIDs[zone], CapacityType: usage})
			}
		}
	}
	return instanceTypes, nil
}

func (c *Types) readTypes(ctx context.Context) ([]model.InstanceTypeInfo, error) {
	pages := ec2.NewDescribeInstanceTypesPaginator(c.clients.EC2, &ec2.DescribeInstanceTypesInput{
		MaxResults: aws.Int32(100),
		Filters: []types.Filter{
			{Name: aws.String("supported-virtualization-type"), Values: []string{"hvm"}},
			{Name: aws.String("processor-info.supported-architecture"), Values: []string{"x86_64", "arm64"}},
		},
	})
	var instanceTypes []model.InstanceTypeInfo
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, translate(err, "describe instance types")
		}
		for i := range page.InstanceTypes {
			if info, ok := infoOf(&page.InstanceTypes[i]); ok {
				instanceTypes = append(instanceTypes, info)
			}
		}
	}
	sort.Slice(instanceTypes, func(i, j int) bool { return instanceTypes[i].Name < instanceTypes[j].Name })
	return instanceTypes, nil
}

func (c *Types) readOfferings(ctx context.Context) (map[string][]string, error) {
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

func (c *Types) readZones(ctx context.Context) (map[string]string, error) {
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

// infoOf translates EC2's description of a type; false for one without a processor architecture we know.
func infoOf(info *types.InstanceTypeInfo) (model.InstanceTypeInfo, bool) {
	instance := model.InstanceTypeInfo{
		Name: string(info.InstanceType), Hypervisor: string(info.Hypervisor), BareMetal: aws.ToBool(info.BareMetal),
		NitroEnclaves:    info.NitroEnclavesSupport == types.NitroEnclavesSupportSupported,
		BranchInterfaces: branchInterfaces()[string(info.InstanceType)],
	}
	if !processor(info.ProcessorInfo, &instance) {
		return instance, false
	}
	if info.VCpuInfo != nil {
		instance.VCPUs = int64(aws.ToInt32(info.VCpuInfo.DefaultVCpus))
	}
	if info.MemoryInfo != nil {
		instance.MemoryMiB = aws.ToInt64(info.MemoryInfo.SizeInMiB)
	}
	storage(info, &instance)
	network(info.NetworkInfo, &instance)
	accelerators(info, &instance)
	for _, usage := range info.SupportedUsageClasses {
		if usage == types.UsageClassTypeOnDemand || usage == types.UsageClassTypeSpot {
			instance.UsageClasses = append(instance.UsageClasses, string(usage))
		}
	}
	sort.Strings(instance.UsageClasses)
	if info.PlacementGroupInfo != nil {
		for _, strategy := range info.PlacementGroupInfo.SupportedStrategies {
			instance.Strategies = append(instance.Strategies, string(strategy))
		}
		sort.Strings(instance.Strategies)
	}
	return instance, instance.VCPUs > 0 && instance.MemoryMiB > 0
}

func storage(info *types.InstanceTypeInfo, instance *model.InstanceTypeInfo) {
	if s := info.InstanceStorageInfo; s != nil {
		instance.InstanceStoreGB = aws.ToInt64(s.TotalSizeInGB)
		if s.NvmeSupport != types.EphemeralNvmeSupportUnsupported {
			instance.LocalNVMeGB = instance.InstanceStoreGB
		}
	}
	e := info.EbsInfo
	if e != nil && e.EbsOptimizedSupport == types.EbsOptimizedSupportDefault && e.EbsOptimizedInfo != nil {
		instance.EBSMbps = int64(aws.ToInt32(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
	}
}

func processor(info *types.ProcessorInfo, instance *model.InstanceTypeInfo) bool {
	if info == nil {
		return false
	}
	for _, arch := range info.SupportedArchitectures {
		switch arch {
		case types.ArchitectureTypeX8664:
			instance.Arch = "amd64"
		case types.ArchitectureTypeArm64:
			instance.Arch = "arm64"
		default:
			continue
		}
		break
	}
	instance.CPUManufacturer = kebab(aws.ToString(info.Manufacturer))
	instance.Nested = slices.Contains(info.SupportedFeatures,
		types.SupportedAdditionalProcessorFeatureNestedVirtualization)
	instance.ClockSpeedGHz = aws.ToFloat64(info.SustainedClockSpeedInGhz)
	return instance.Arch != ""
}

// network takes over interfaces by card and the bandwidth of the whole instance.
func network(info *types.NetworkInfo, instance *model.InstanceTypeInfo) {
	if info == nil {
		return
	}
	instance.Interfaces = int64(aws.ToInt32(info.MaximumNetworkInterfaces))
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
		instance.Interfaces = cards[standard]
	}
	if len(cards) > 1 {
		instance.Cards = cards
	}
	if whole, known := performance(aws.ToString(info.NetworkPerformance)); known {
		gbps = whole
	}
	instance.NetworkMbps = int64(math.Round(gbps * 1000))
	instance.IPv4PerInterface = int64(aws.ToInt32(info.Ipv4AddressesPerInterface))
	instance.EncryptedTransit = aws.ToBool(info.EncryptionInTransitSupported)
	instance.ENA = info.EnaSupport == types.EnaSupportSupported || info.EnaSupport == types.EnaSupportRequired
	if info.EfaInfo != nil {
		instance.EFAInterfaces = int64(aws.ToInt32(info.EfaInfo.MaximumEfaInterfaces))
	}
}

// performance reads what EC2 says of an instance's network as a whole: "25 Gigabit", "4x 100 Gigabit". What is only at
// times ("Up to 10 Gigabit") and what is no number ("Moderate") says nothing of what there always is; then that of all
// cards together holds. The sum of the cards is not it everywhere: several families (c6in, r6idn, g6e, hpc8a) say of
// each card what the whole instance has. Source: DescribeInstanceTypes beside the network tables of the EC2 instance
// types guide.
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

// accelerators counts devices. Those of several kinds are all counted, as far as their maker is that of the first, and
// have no name and no memory: what would be said of one kind is not true of the instance.
func accelerators(info *types.InstanceTypeInfo, instance *model.InstanceTypeInfo) {
	if g := info.GpuInfo; g != nil {
		for i, gpu := range g.Gpus {
			maker := kebab(aws.ToString(gpu.Manufacturer))
			if i == 0 {
				instance.GPUName, instance.GPUManufacturer = kebab(aws.ToString(gpu.Name)), maker
				if gpu.MemoryInfo != nil {
					instance.GPUMemoryMiB = int64(aws.ToInt32(gpu.MemoryInfo.SizeInMiB))
				}
			} else {
				instance.GPUName, instance.GPUMemoryMiB = "", 0
			}
			if maker == instance.GPUManufacturer {
				instance.GPUCount += int64(aws.ToInt32(gpu.Count))
			}
		}
	}
	if n := info.NeuronInfo; n != nil {
		for i, device := range n.NeuronDevices {
			if i > 0 {
				instance.NeuronName = ""
			} else {
				instance.NeuronName = kebab(aws.ToString(device.Name))
				if device.CoreInfo != nil {
					instance.NeuronCores = int64(aws.ToInt32(device.CoreInfo.Count))
				}
			}
			instance.NeuronCount += int64(aws.ToInt32(device.Count))
		}
	}
}

// kebab is how names become label values: lower case, words joined by hyphens.
func kebab(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }
