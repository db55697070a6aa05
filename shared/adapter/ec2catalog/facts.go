package ec2catalog

import (
	"context"
	"sort"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// readFacts reads types, offerings, zones and on-demand prices side by side. Nothing is replaced unless types, offerings
// and zones were all read and none is empty; prices are merged over older ones and never disappear.
func (c *Catalog) readFacts(ctx context.Context, now time.Time) error {
	c.facts.triedAt = now
	next := facts{readAt: now, triedAt: now, onDemand: map[string]model.MicroUSD{}}
	for name, price := range c.facts.onDemand {
		next.onDemand[name] = price
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { next.types, err = c.readTypes(ctx); return err })
	group.Go(func() (err error) { next.offered, err = c.readOfferings(ctx); return err })
	group.Go(func() (err error) { next.zoneIDs, err = c.readZones(ctx); return err })
	prices, pricesErr := map[string]model.MicroUSD{}, error(nil)
	group.Go(func() error {
		prices, pricesErr = c.readOnDemand(ctx)
		return nil // what is known of prices already may do
	})
	if err := group.Wait(); err != nil {
		return err
	}
	for name, price := range prices {
		next.onDemand[name] = price
	}
	if len(next.onDemand) == 0 {
		return pricesErr
	}
	if len(next.types) == 0 || len(next.offered) == 0 || len(next.zoneIDs) == 0 {
		return fault.New(fault.Internal, "EmptyCatalogue", "EC2 named %d types, %d offerings and %d zones of %s", len(next.types), len(next.offered), len(next.zoneIDs), c.settings.Region)
	}
	c.facts = next
	return nil
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
		NitroEnclaves: info.NitroEnclavesSupport == types.NitroEnclavesSupportSupported,
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
	if s := info.InstanceStorageInfo; s != nil && s.NvmeSupport != types.EphemeralNvmeSupportUnsupported {
		machine.LocalNVMeGB = aws.ToInt64(s.TotalSizeInGB)
	}
	if e := info.EbsInfo; e != nil && e.EbsOptimizedSupport == types.EbsOptimizedSupportDefault && e.EbsOptimizedInfo != nil {
		machine.EBSMbps = int64(aws.ToInt32(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
	}
	network(info.NetworkInfo, &machine)
	accelerators(info, &machine)
	for _, usage := range info.SupportedUsageClasses {
		if usage == types.UsageClassTypeOnDemand || usage == types.UsageClassTypeSpot {
			machine.UsageClasses = append(machine.UsageClasses, string(usage))
		}
	}
	sort.Strings(machine.UsageClasses)
	return machine, machine.VCPUs > 0 && machine.MemoryMiB > 0
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
	machine.ClockSpeedGHz = aws.ToFloat64(info.SustainedClockSpeedInGhz)
	return machine.Arch != ""
}

func network(info *types.NetworkInfo, machine *model.MachineType) {
	if info == nil {
		return
	}
	machine.Interfaces = int64(aws.ToInt32(info.MaximumNetworkInterfaces))
	card := int(aws.ToInt32(info.DefaultNetworkCardIndex))
	if card < len(info.NetworkCards) {
		machine.Interfaces = int64(aws.ToInt32(info.NetworkCards[card].MaximumNetworkInterfaces))
		machine.NetworkMbps = int64(aws.ToFloat64(info.NetworkCards[card].BaselineBandwidthInGbps) * 1000)
	}
	machine.IPv4PerInterface = int64(aws.ToInt32(info.Ipv4AddressesPerInterface))
	machine.EncryptedTransit = aws.ToBool(info.EncryptionInTransitSupported)
	if info.EfaInfo != nil {
		machine.EFAInterfaces = int64(aws.ToInt32(info.EfaInfo.MaximumEfaInterfaces))
	}
}

func accelerators(info *types.InstanceTypeInfo, machine *model.MachineType) {
	if g := info.GpuInfo; g != nil {
		for _, gpu := range g.Gpus {
			machine.GPUName, machine.GPUManufacturer = kebab(aws.ToString(gpu.Name)), kebab(aws.ToString(gpu.Manufacturer))
			machine.GPUCount += int64(aws.ToInt32(gpu.Count))
			if gpu.MemoryInfo != nil {
				machine.GPUMemoryMiB = int64(aws.ToInt32(gpu.MemoryInfo.SizeInMiB))
			}
		}
	}
	if n := info.NeuronInfo; n != nil {
		for _, device := range n.NeuronDevices {
			machine.NeuronName = kebab(aws.ToString(device.Name))
			machine.NeuronCount += int64(aws.ToInt32(device.Count))
			if device.CoreInfo != nil {
				machine.NeuronCores = int64(aws.ToInt32(device.CoreInfo.Count))
			}
		}
	}
}

// kebab is how names become label values: lower case, words joined by hyphens.
func kebab(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }
