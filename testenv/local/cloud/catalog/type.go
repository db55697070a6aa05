package catalog

import (
	"hash/fnv"
	"slices"
	"sort"
	"sync"
)

// Region is the region that the catalog describes.
const Region = "us-west-2"

// Zone is an availability zone: its name in this account and its id, which is
// the same in every account.
type Zone struct{ Name, ID string }

// Zones returns the zones of the region, sorted by name.
func Zones() []Zone {
	return []Zone{
		{"us-west-2a", "usw2-az1"},
		{"us-west-2b", "usw2-az2"},
		{"us-west-2c", "usw2-az3"},
	}
}

// ZoneID returns the id of the zone called name, or "" when there is none.
func ZoneID(name string) string {
	for _, z := range Zones() {
		if z.Name == name {
			return z.ID
		}
	}
	return ""
}

// Architectures as EC2 spells them.
const (
	X86_64 = "x86_64"
	ARM64  = "arm64"
)

// Type is an instance type. Every count is at least zero, and every rate and
// size positive unless said otherwise.
type Type struct {
	Name         string // "m5.large"
	Family, Size string // "m5", "large"
	Architecture string // X86_64 or ARM64
	Manufacturer string // of the processor: "Intel", "AMD" or "AWS"
	ClockGHz     float64

	VCPUs          int
	ThreadsPerCore int
	MemoryMiB      int64

	NetworkCards        int
	InterfacesPerCard   int // elastic network interfaces, per network card
	IPv4PerInterface    int
	EFAInterfaces       int     // 0 when the type has no Elastic Fabric Adapter
	NetworkBaselineGbps float64 // per network card
	NetworkPeakGbps     float64 // per network card, ≥ NetworkBaselineGbps
	// NetworkGbps is what the whole machine has, where that is not what its cards have together: EC2 says of each card of some types
	// what the instance has. 0 otherwise.
	NetworkGbps float64

	EBSBaselineMbps int
	EBSMaximumMbps  int // ≥ EBSBaselineMbps

	Disks  Disks   // Count is 0 when the type has no instance store
	GPU    *GPU    // nil when the type has none
	Neuron *Neuron // nil when the type has none

	Hypervisor           string // "nitro", "xen", or "" on bare metal
	BareMetal            bool
	Burstable            bool
	EncryptionInTransit  bool
	NitroEnclaves        bool
	NestedVirtualization bool // can run virtual machines of its own
	CapacityBlocks       bool // can be bought as a capacity block
	NoSpot               bool // cannot be bought as spot
	ENA                  bool // has the elastic network adapter
	PreviousGeneration   bool
	ClusterPlacement     bool // may be placed in a cluster placement group

	Zones                   []string // names, sorted; never empty
	OnDemandMicroUSDPerHour int64    // Linux, shared tenancy
}

// Disks are the local disks of a type, all alike.
type Disks struct {
	Count  int
	SizeGB int    // of one disk, decimal
	Kind   string // "ssd" (NVMe) or "hdd"
}

// TotalGB returns the decimal gigabytes of all disks together.
func (d Disks) TotalGB() int { return d.Count * d.SizeGB }

// GPU describes the graphics processors of a type, all alike.
type GPU struct {
	Manufacturer, Name string
	Count              int
	MemoryMiB          int64 // of one
}

// Neuron describes the Inferentia or Trainium devices of a type, all alike.
type Neuron struct {
	Name           string
	Count          int
	MemoryMiB      int64 // of one
	CoresPerDevice int
	CoreVersion    int
}

// MaxPods returns how many pods the VPC CNI can address on the type: the
// secondary addresses of the interfaces of its first network card, and two pods
// on the host network.
func (t Type) MaxPods() int { return t.InterfacesPerCard*(t.IPv4PerInterface-1) + 2 }

// UsageClasses returns the ways the type can be bought, as EC2 names them.
func (t Type) UsageClasses() []string {
	out := []string{"on-demand"}
	if !t.NoSpot {
		out = append(out, "spot")
	}
	if t.CapacityBlocks {
		out = append(out, "capacity-block")
	}
	return out
}

// Strategies returns the strategies of placement groups the type may be in.
func (t Type) Strategies() []string {
	if t.ClusterPlacement {
		return []string{"cluster", "partition", "spread"}
	}
	return []string{"partition", "spread"}
}

// OfferedIn tells whether the type exists in the zone called name.
func (t Type) OfferedIn(name string) bool { return slices.Contains(t.Zones, name) }

// SpotMicroUSDPerHour returns the spot price in the zone called name, between
// 25 % and 70 % of the on-demand price, a multiple of 100 micro-dollars as EC2
// quotes four decimals. It is 0 when the type is not offered there, or not as spot.
func (t Type) SpotMicroUSDPerHour(name string) int64 {
	if !t.OfferedIn(name) || t.NoSpot {
		return 0
	}
	permille := 250 + int64(hash(t.Name+"/"+name)%451)
	price := t.OnDemandMicroUSDPerHour * permille / 1000
	return max(100, (price+50)/100*100)
}

// hash spreads s evenly over 32 bits, the same on every instance and day.
func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	x := h.Sum32() // FNV barely mixes the last byte, which here tells zones apart
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	x *= 0x846ca68b
	return x ^ x>>16
}

var load = sync.OnceValue(func() []Type {
	types := parse(familiesText, laddersText, typesText)
	sort.Slice(types, func(i, j int) bool { return types[i].Name < types[j].Name })
	return types
})

// Types returns every instance type of the region, sorted by name. The slice is
// the caller's, what its elements point to is shared and must not be changed.
func Types() []Type { return slices.Clone(load()) }

// Lookup returns the type called name, and false when there is none.
func Lookup(name string) (Type, bool) {
	types := load()
	i := sort.Search(len(types), func(i int) bool { return types[i].Name >= name })
	if i == len(types) || types[i].Name != name {
		return Type{}, false
	}
	return types[i], true
}
