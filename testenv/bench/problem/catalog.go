package problem

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// Zones of every problem.
var Zones = []string{"zone-a", "zone-b", "zone-c"}

const (
	mib = int64(1) << 20
	gib = int64(1) << 30

	coreMicroUSD = 33_500 // on demand, of a core per hour before a line's own factor
	gibMicroUSD  = 3_600  // of a GiB of memory per hour
)

// variant is what a suffix of a family's name stands for: "g" of m7g, "idn" of r6idn.
type variant struct {
	suffix    string
	arch      string
	pricePct  int64 // of the plain price
	disk      bool
	smallOnly bool // no size beyond 4xlarge
}

var (
	plain    = variant{suffix: "", arch: "amd64", pricePct: 100}
	amd      = variant{suffix: "a", arch: "amd64", pricePct: 90}
	amdDisk  = variant{suffix: "ad", arch: "amd64", pricePct: 107, disk: true}
	arm      = variant{suffix: "g", arch: "arm64", pricePct: 80}
	armDisk  = variant{suffix: "gd", arch: "arm64", pricePct: 94, disk: true}
	armNet   = variant{suffix: "gn", arch: "arm64", pricePct: 102}
	disk     = variant{suffix: "d", arch: "amd64", pricePct: 118, disk: true}
	net      = variant{suffix: "n", arch: "amd64", pricePct: 124}
	netDisk  = variant{suffix: "dn", arch: "amd64", pricePct: 142, disk: true}
	intel    = variant{suffix: "i", arch: "amd64", pricePct: 100}
	intelD   = variant{suffix: "id", arch: "amd64", pricePct: 118, disk: true}
	intelN   = variant{suffix: "in", arch: "amd64", pricePct: 128}
	intelND  = variant{suffix: "idn", arch: "amd64", pricePct: 145, disk: true}
	flexible = variant{suffix: "i-flex", arch: "amd64", pricePct: 95, smallOnly: true}
)

// generations are the lines of general machines (categories c, m and r), the newest first: a catalog of fewer types
// is one of newer machines.
var generations = []struct {
	number   int64
	pricePct int64
	variants []variant
}{
	{8, 108, []variant{arm, amd, intel, armDisk, flexible}},
	{7, 105, []variant{arm, amd, intel, armDisk, intelD, intelN, armNet, flexible}},
	{6, 100, []variant{arm, amd, intel, armDisk, intelD, amdDisk, intelN, armNet, intelND}},
	{5, 100, []variant{amd, plain, disk, amdDisk, net, netDisk}},
	{4, 104, []variant{plain}},
}

type category struct {
	letter     string
	gibPerCore int64
}

var categories = []category{{"m", 4}, {"c", 2}, {"r", 8}}

type size struct {
	name  string
	cores int64
	gib   int64 // 0 = the category's share per core
	gpus  int64
}

var (
	sizes = []size{{name: "large", cores: 2}, {name: "xlarge", cores: 4}, {name: "2xlarge", cores: 8}, {name: "4xlarge", cores: 16},
		{name: "8xlarge", cores: 32}, {name: "12xlarge", cores: 48}, {name: "16xlarge", cores: 64}, {name: "24xlarge", cores: 96},
		{name: "32xlarge", cores: 128}, {name: "48xlarge", cores: 192}}
	burstSizes = []size{{name: "small", cores: 2, gib: 2}, {name: "medium", cores: 2, gib: 4}, {name: "large", cores: 2, gib: 8},
		{name: "xlarge", cores: 4, gib: 16}, {name: "2xlarge", cores: 8, gib: 32}}
	gpuSizes = []size{{name: "xlarge", cores: 4, gpus: 1}, {name: "2xlarge", cores: 8, gpus: 1}, {name: "4xlarge", cores: 16, gpus: 1},
		{name: "8xlarge", cores: 32, gpus: 1}, {name: "12xlarge", cores: 48, gpus: 4}, {name: "24xlarge", cores: 96, gpus: 4}, {name: "48xlarge", cores: 192, gpus: 8}}
)

// line is one family of machines in all its sizes.
type line struct {
	family      string
	arch        string
	pricePct    int64
	gibPerCore  int64
	sizes       []size
	disk        bool
	burstable   bool
	gpu         string
	gpuMicroUSD int64 // of one GPU per hour
}

// besides are the lines that come with a generation and are of another category.
var besides = map[int64][]line{
	8: {gpus("g6", "l4", 100, 520_000), gpus("g5", "a10g", 100, 750_000)},
	7: {burstable("t4g", "arm64", 80), burstable("t3a", "amd64", 90), burstable("t3", "amd64", 100)},
	5: {gpus("g4dn", "t4", 95, 330_000), burstable("t2", "amd64", 111)},
}

func gpus(family, name string, pricePct, gpuMicroUSD int64) line {
	return line{family: family, arch: "amd64", pricePct: pricePct, gibPerCore: 4, sizes: gpuSizes, gpu: name, gpuMicroUSD: gpuMicroUSD}
}

func burstable(family, arch string, pricePct int64) line {
	return line{family: family, arch: arch, pricePct: pricePct * 87 / 100, sizes: burstSizes, burstable: true}
}

// lines returns every family, the newest generation first.
func lines() []line {
	var out []line
	for _, generation := range generations {
		for _, v := range generation.variants {
			for _, c := range categories {
				l := line{family: fmt.Sprintf("%s%d%s", c.letter, generation.number, v.suffix), arch: v.arch, gibPerCore: c.gibPerCore,
					pricePct: v.pricePct * generation.pricePct / 100, sizes: sizes, disk: v.disk}
				if generation.number < 6 {
					l.sizes = sizes[:8]
				}
				if v.smallOnly {
					l.sizes = sizes[:4]
				}
				out = append(out, l)
			}
		}
		out = append(out, besides[generation.number]...)
	}
	return out
}

// instanceNames returns the names of every machine type there is, the newest first.
func instanceNames() []string {
	var names []string
	for _, l := range lines() {
		for _, s := range l.sizes {
			names = append(names, l.family+"."+s.name)
		}
	}
	return names
}

// instances returns the first count machine types as a class of default settings sees them, by name.
func instances(count int) []model.InstanceType {
	facts := make([]model.InstanceTypeInfo, 0, count)
	for _, l := range lines() {
		for _, s := range l.sizes {
			if len(facts) < count {
				facts = append(facts, l.instance(s))
			}
		}
	}
	class := model.Class{Name: className, Family: "AL2023"}
	for _, zone := range Zones {
		class.Status.Subnets = append(class.Status.Subnets, model.Subnet{ID: "subnet-" + zone, Zone: zone, ZoneID: "id-" + zone})
	}
	return offering.Catalog(facts, class, offering.Settings{Region: "region"})
}

func (l line) instance(s size) model.InstanceTypeInfo {
	memoryGiB := s.gib
	if memoryGiB == 0 {
		memoryGiB = s.cores * l.gibPerCore
	}
	m := model.InstanceTypeInfo{
		Name: l.family + "." + s.name, Arch: l.arch, VCPUs: s.cores, MemoryMiB: memoryGiB * 1024, Hypervisor: "nitro",
		GPUCount: s.gpus, UsageClasses: []string{model.OnDemand, model.Spot},
	}
	m.Interfaces, m.IPv4PerInterface = addresses(s.cores, l.burstable)
	if s.gpus > 0 {
		m.GPUName, m.GPUManufacturer = l.gpu, "nvidia"
	}
	if l.disk {
		m.LocalNVMeGB = s.cores * 37
	}
	onDemand := l.pricePct*(s.cores*coreMicroUSD+memoryGiB*gibMicroUSD)/100 + s.gpus*l.gpuMicroUSD
	for _, zone := range Zones {
		m.Offerings = append(m.Offerings,
			model.Offering{Zone: zone, CapacityType: model.OnDemand, Price: model.MicroUSD(onDemand), Available: true},
			spot(m.Name, zone, onDemand))
	}
	return m
}

// spot returns the spot offer of a type in a zone: a quarter to six tenths of the price on demand, mostly by the type and
// partly by the zone, and one offering in twenty without capacity.
func spot(name, zone string, onDemandMicroUSD int64) model.Offering {
	level := 0.7*chance(name, "level") + 0.3*chance(name, "level", zone)
	return model.Offering{Zone: zone, CapacityType: model.Spot, Price: model.MicroUSD((0.25 + 0.35*level) * float64(onDemandMicroUSD)),
		Available: chance(name, "capacity", zone) >= 0.05}
}

// chance returns a number in [0, 1) that is the same for the same words everywhere.
func chance(words ...string) float64 {
	h := fnv.New64a()
	for _, word := range words {
		h.Write([]byte(word + "|"))
	}
	return rand.New(rand.NewPCG(h.Sum64(), 0)).Float64()
}

// addresses returns how many network interfaces a machine has and addresses each of them, which bounds its pods.
func addresses(cores int64, burst bool) (interfaces, perInterface int64) {
	switch {
	case cores <= 2 && burst:
		return 3, 6
	case cores <= 2:
		return 3, 10
	case cores <= 8:
		return 4, 15
	case cores <= 48:
		return 8, 30
	}
	return 15, 50
}

// arithmetic returns the catalog of the peer's own benchmark: the n-th type has n cores, 2n GiB and room for 10n pods,
// at one price whether spot or on demand; spot is sold in two zones of the three.
func arithmetic(count int) []model.InstanceType {
	out := make([]model.InstanceType, 0, count)
	for n := int64(1); n <= int64(count); n++ {
		price := model.MicroUSD(n*100_000 + n*2*gib/10_000)
		size, special := []string{"small"}, []string(nil)
		if n > 4 {
			size, special = []string{"large"}, []string{"optional"}
		}
		t := model.InstanceType{
			Name:     fmt.Sprintf("fake-%03d", n),
			Capacity: model.Resources{model.CPU: n * 1000, model.Memory: 2 * n * gib, model.Pods: 10 * n},
			Overhead: model.Resources{model.CPU: 100, model.Memory: 10 * mib},
			Labels: map[string][]string{
				model.LabelArch: {"amd64"}, model.LabelOS: {"linux"}, model.LabelZone: Zones, model.LabelCapacityType: {model.OnDemand, model.Spot},
				"example.com/integer": {fmt.Sprint(n)}, "example.com/size": size,
			},
		}
		t.Labels[model.LabelInstanceType] = []string{t.Name}
		if special != nil {
			t.Labels["example.com/special"] = special
		}
		for z, zone := range Zones {
			t.Offerings = append(t.Offerings, model.Offering{Zone: zone, CapacityType: model.OnDemand, Price: price, Available: true})
			if z < 2 {
				t.Offerings = append(t.Offerings, model.Offering{Zone: zone, CapacityType: model.Spot, Price: price, Available: true})
			}
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b model.InstanceType) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
