package world

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

// Catalog is what can be bought and what selectors mean.
type Catalog struct {
	now      func() time.Time
	profiles *Profiles // nil = there are none

	mu            sync.Mutex
	instanceTypes []model.InstanceTypeInfo // by name; replaced, never written to
	prices        map[model.OfferingKey]model.MicroUSD
	version       int
	broken        error
}

// newCatalog sells the types named, and every one where names is nil.
func newCatalog(now func() time.Time, names []string) *Catalog {
	c := &Catalog{now: now, prices: map[model.OfferingKey]model.MicroUSD{}, version: 1}
	for _, m := range everyInstance() {
		if names == nil || slices.Contains(names, m.Name) {
			c.instanceTypes = append(c.instanceTypes, m)
		}
	}
	for _, m := range c.instanceTypes {
		for _, o := range m.Offerings {
			c.prices[model.OfferingKey{InstanceType: m.Name, Zone: o.Zone, CapacityType: o.CapacityType}] = o.Price
		}
	}
	return c
}

// everyInstance returns the whole sandbox catalog. It is made once and shared by all worlds.
var everyInstance = sync.OnceValue(func() []model.InstanceTypeInfo {
	types := catalog.Types()
	instanceTypes := make([]model.InstanceTypeInfo, len(types))
	for i, t := range types {
		instanceTypes[i] = instance(t)
	}
	return instanceTypes
})

// Price returns what an offering costs now, 0 where it is not sold.
func (c *Catalog) Price(offering model.OfferingKey) model.MicroUSD {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.prices[offering]
}

// SetPrice moves the price of an offering that is sold.
func (c *Catalog) SetPrice(offering model.OfferingKey, price model.MicroUSD) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, sold := c.prices[offering]; !sold {
		return
	}
	c.prices[offering] = price
	c.version++
	c.instanceTypes = slices.Clone(c.instanceTypes)
	for i := range c.instanceTypes {
		m := &c.instanceTypes[i]
		if m.Name != offering.InstanceType {
			continue
		}
		m.Offerings = slices.Clone(m.Offerings)
		for j := range m.Offerings {
			if o := &m.Offerings[j]; o.Zone == offering.Zone && o.CapacityType == offering.CapacityType {
				o.Price = price
			}
		}
	}
}

// Fail makes every question fail until it is called with nil.
func (c *Catalog) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = err
}

func (c *Catalog) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// InstanceTypes returns the instance types of the sandbox catalog.
func (c *Catalog) InstanceTypes(context.Context) (model.InstanceCatalog, error) {
	if err := c.failure(); err != nil {
		return model.InstanceCatalog{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return model.InstanceCatalog{Types: c.instanceTypes, ReadUnix: c.now().Unix(), PriceUnix: c.now().Unix(), SpotUnix: c.now().Unix(), Version: strconv.Itoa(c.version)}, nil
}

// Due returns 0: nothing has to be read.
func (c *Catalog) Due() int { return 0 }

// networkMbps is the baseline of the whole machine.
func networkMbps(t catalog.Type) int64 {
	gbps := t.NetworkBaselineGbps * float64(t.NetworkCards)
	if t.NetworkGbps > 0 {
		gbps = t.NetworkGbps
	} else if t.NetworkPeakGbps == t.NetworkBaselineGbps { // it is in the text, which has two decimals
		gbps = math.Floor(t.NetworkBaselineGbps*100) / 100 * float64(t.NetworkCards)
	}
	return int64(math.Round(gbps * 1000))
}

// instance is a type of the sandbox catalog as the model has it.
func instance(t catalog.Type) model.InstanceTypeInfo {
	m := model.InstanceTypeInfo{
		Name: t.Name, Arch: goArch(t.Architecture), VCPUs: int64(t.VCPUs), MemoryMiB: t.MemoryMiB, Hypervisor: t.Hypervisor, BareMetal: t.BareMetal,
		CPUManufacturer: kebab(t.Manufacturer), ClockSpeedGHz: t.ClockGHz, Interfaces: int64(t.InterfacesPerCard),
		IPv4PerInterface: int64(t.IPv4PerInterface), EFAInterfaces: int64(t.EFAInterfaces),
		NetworkMbps: networkMbps(t), ENA: t.ENA,
		EBSMbps: int64(t.EBSMaximumMbps), LocalNVMeGB: int64(t.Disks.TotalGB()), InstanceStoreGB: int64(t.Disks.TotalGB()), EncryptedTransit: t.EncryptionInTransit, NitroEnclaves: t.NitroEnclaves,
		Nested: t.NestedVirtualization, Strategies: t.Strategies(),
	}
	for _, usage := range t.UsageClasses() {
		if usage == model.OnDemand || usage == model.Spot {
			m.UsageClasses = append(m.UsageClasses, usage)
		}
	}
	if t.NetworkCards > 1 {
		m.Cards = slices.Repeat([]int64{m.Interfaces}, t.NetworkCards)
	}
	if g := t.GPU; g != nil {
		m.GPUName, m.GPUManufacturer = kebab(g.Name), kebab(g.Manufacturer)
		m.GPUCount, m.GPUMemoryMiB = int64(g.Count), g.MemoryMiB
	}
	if n := t.Neuron; n != nil {
		m.NeuronName, m.NeuronCount, m.NeuronCores = kebab(n.Name), int64(n.Count), int64(n.CoresPerDevice)
	}
	for _, zone := range t.Zones {
		m.Offerings = append(m.Offerings,
			model.Offering{Zone: zone, ZoneID: catalog.ZoneID(zone), CapacityType: model.OnDemand, Price: model.MicroUSD(t.OnDemandMicroUSDPerHour), Available: true})
		if t.NoSpot {
			continue
		}
		m.Offerings = append(m.Offerings, model.Offering{Zone: zone, ZoneID: catalog.ZoneID(zone), CapacityType: model.Spot, Price: model.MicroUSD(t.SpotMicroUSDPerHour(zone)), Available: true})
	}
	return m
}

// kebab writes a name as label values have it.
func kebab(name string) string { return strings.Join(strings.Fields(strings.ToLower(name)), "-") }

// discovery tags the one network there is.
const discovery = "karpenter.sh/discovery"

// Resolve answers for one subnet a zone and one security group, all tagged karpenter.sh/discovery=world.
func (c *Catalog) Resolve(_ context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus, error) {
	if err := c.failure(); err != nil {
		return model.ClassStatus{}, err
	}
	status := model.ClassStatus{InstanceProfile: c.profile(class)}
	if selects(class.Subnets) {
		for _, zone := range catalog.Zones() {
			status.Subnets = append(status.Subnets, model.Subnet{ID: "subnet-" + zone.ID, Zone: zone.Name, ZoneID: zone.ID, FreeAddresses: 8000})
		}
	} else {
		status.Problems = append(status.Problems, model.ClassProblem{
			Condition: "SubnetsReady", Reason: "SubnetsNotFound", Message: "no subnet matches spec.subnetSelectorTerms; correct the selector",
		})
	}
	if selects(class.SecurityGroups) {
		status.SecurityGroups = []model.SecurityGroup{{ID: "sg-world", Name: "world"}}
	}
	for _, query := range images {
		if image, found := imageOf(query); found {
			status.Images = append(status.Images, image)
		}
	}
	if len(status.Images) == 0 {
		status.Problems = append(status.Problems, model.ClassProblem{
			Condition: "AMIsReady", Reason: "AMINotFound", Message: "no image matches spec.amiSelectorTerms; correct the selector",
		})
	}
	return status, nil
}

// profile returns a class's instance profile: the one it names, else the first by name that was made for its role. Where none was, the role
// has one of its own name.
func (c *Catalog) profile(class model.Class) string {
	if class.InstanceProfile != "" {
		return class.InstanceProfile
	}
	if c.profiles != nil {
		for _, made := range c.profiles.List("") {
			if made.Role == class.Role {
				return made.Name
			}
		}
	}
	return class.Role
}

func selects(terms []model.SelectorTerm) bool {
	return slices.ContainsFunc(terms, func(t model.SelectorTerm) bool { return t.Tags[discovery] == Name })
}

func imageOf(query model.ImageQuery) (model.Image, bool) {
	id := query.Term.ID
	if p, known := catalog.LookupParameter(query.Parameter); known {
		id = p.Value
	}
	published, found := catalog.LookupImage(id)
	arch := model.Requirement{Key: model.LabelArch, Operator: model.In, Values: []string{goArch(published.Architecture)}}
	return model.Image{
		ID: id, Name: published.Name, CreatedUnix: published.CreationTime.Unix(), Requirements: append(slices.Clone(query.Requirements), arch),
	}, found
}
