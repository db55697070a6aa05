package offering

import (
	"maps"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// changed returns m5.large with a change.
func changed(change func(*model.InstanceTypeInfo)) model.InstanceTypeInfo {
	m := large()
	change(&m)
	return m
}

func images(ids ...string) func(*model.Class) {
	return func(c *model.Class) {
		for _, id := range ids {
			c.Status.Images = append(c.Status.Images, model.Image{ID: id})
		}
	}
}

func TestIT03MemoryOverheadSettingLeavesLearnedMemoryAlone(t *testing.T) {
	c := class(images("ami-1"))
	m := changed(func(m *model.InstanceTypeInfo) {
		m.LearnedMiB = []model.Learned{{Images: c.Status.ImagesKey(), MiB: 7800}}
	})
	for _, ppm := range []int64{0, 50_000, 200_000} {
		if got := one(t, m, c, Settings{MemoryOverheadPPM: ppm}).Capacity[model.Memory]; got != 7800*mi {
			t.Errorf("with %d ppm: %d MiB, want the 7800 that were seen", ppm, got/mi)
		}
	}
}

func TestIT04LearnedMemoryHoldsForOneSetOfImages(t *testing.T) {
	const estimate = 8192 - 615
	c := class(images("ami-1", "ami-2"))
	key := c.Status.ImagesKey()
	tests := []struct {
		name    string
		learned []model.Learned
		class   model.Class
		now     int64
		want    int64
	}{
		{"nothing learned", nil, c, 0, estimate},
		{"less than estimated", []model.Learned{{Images: key, MiB: 7500}}, c, 0, 7500},
		{"more than estimated", []model.Learned{{Images: key, MiB: 7700}}, c, 0, 7700},
		{"the same images in another order", []model.Learned{{Images: key, MiB: 7500}}, class(images("ami-2", "ami-1")), 0, 7500},
		{"other images", []model.Learned{{Images: key, MiB: 7500}}, class(images("ami-1")), 0, estimate},
		{"no images", []model.Learned{{Images: "", MiB: 7500}}, class(nil), 0, estimate},
		{"one set of several", []model.Learned{{Images: "other", MiB: 1}, {Images: key, MiB: 7500}}, c, 0, 7500},
		{"not seen for long", []model.Learned{{Images: key, MiB: 7500, SeenUnix: 1000}}, c, 1000 + 61*24*3600, estimate},
		{"seen lately", []model.Learned{{Images: key, MiB: 7500, SeenUnix: 1000}}, c, 1000 + 59*24*3600, 7500},
		{"nonsense", []model.Learned{{Images: key, MiB: 0}}, c, 0, estimate},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := changed(func(m *model.InstanceTypeInfo) { m.LearnedMiB = test.learned })
			if got := one(t, m, test.class, Settings{NowUnix: test.now}).Capacity[model.Memory]; got != test.want*mi {
				t.Errorf("memory = %d MiB, want %d", got/mi, test.want)
			}
		})
	}
}

// R10: a node that turns out smaller than its estimate is bought for pods that need the difference once, and not again.
func TestR10NodeThatTurnedOutSmallerIsNotTakenForLarger(t *testing.T) {
	c := class(images("ami-1"))
	m := large()
	before := one(t, m, c, Settings{})
	before0 := before.Allocatable()[model.Memory]
	m.LearnedMiB = []model.Learned{{Images: c.Status.ImagesKey(), MiB: before.Capacity[model.Memory]/mi - 100, SeenUnix: 1000}}
	after := one(t, m, c, Settings{NowUnix: 1001})
	if got := after.Allocatable()[model.Memory]; got != before0-100*mi {
		t.Errorf("allocatable memory = %d after %d, want 100 MiB less", got, before0)
	}
}

// R11: what a node really has counts, also where it is more than the estimate, to the MiB.
func TestR11NodeThatTurnedOutLargerHoldsMore(t *testing.T) {
	c := class(images("ami-1"))
	m := changed(func(m *model.InstanceTypeInfo) { m.MemoryMiB = 3 << 20 })
	const seen = 3<<30 - 40<<20 // KiB a node of 3 TiB shows: the estimate is 7.5 % less than the data sheet
	m.LearnedMiB = []model.Learned{{Images: c.Status.ImagesKey(), MiB: seen >> 10, SeenUnix: 1000}}
	it := one(t, m, c, Settings{NowUnix: 1001})
	if got := it.Capacity[model.Memory]; got != seen<<10 {
		t.Errorf("memory = %d, want %d", got, seen<<10)
	}
}

func TestIT05InterfacesWithoutAddressesCarryNoPods(t *testing.T) {
	nic := func(card, device int64, kind string) model.NetworkInterface {
		return model.NetworkInterface{Card: card, Device: device, Type: kind}
	}
	m := changed(func(m *model.InstanceTypeInfo) { m.Cards, m.EFAInterfaces, m.ENA = []int64{3, 3}, 2, true })
	tests := []struct {
		name     string
		nics     []model.NetworkInterface
		reserved int64
		pods     int64
		memory   int64 // MiB of kube-reserved
	}{
		{"none named", nil, 0, 29, 11*29 + 255},
		{"an ordinary one", []model.NetworkInterface{nic(0, 0, "interface")}, 0, 29, 11*29 + 255},
		{"efa-only on the first card", []model.NetworkInterface{nic(0, 0, "interface"), nic(0, 1, "efa-only")}, 0, 20, 11*20 + 255},
		{"efa-only on another card", []model.NetworkInterface{nic(0, 0, "interface"), nic(1, 0, "efa-only")}, 0, 29, 11*29 + 255},
		{"and one reserved", []model.NetworkInterface{nic(0, 0, "interface"), nic(0, 1, "efa-only")}, 1, 11, 11*20 + 255},
		{"none left", []model.NetworkInterface{nic(0, 0, "interface"), nic(0, 1, "efa-only")}, 5, 0, 11*20 + 255},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := class(func(c *model.Class) { c.NetworkInterfaces = test.nics })
			it := one(t, m, c, Settings{ReservedENIs: test.reserved})
			if got := it.Capacity[model.Pods]; got != test.pods {
				t.Errorf("pods = %d, want %d", got, test.pods)
			}
			if got := it.Overhead[model.Memory]; got != (test.memory+100)*mi {
				t.Errorf("overhead = %d MiB, want %d", got/mi, test.memory+100)
			}
		})
	}
}

func TestIT06WhatIsReservedFollowsInterfacesOrPods(t *testing.T) {
	for family, pods := range map[string]int64{"AL2": 29, "AL2023": 29, "Custom": 29, "Bottlerocket": 20, "Windows2022": 20} {
		c := class(func(c *model.Class) { c.Family, c.Kubelet.MaxPods = family, 20 })
		if got := one(t, large(), c, Settings{}).Overhead[model.Memory]; got != (11*pods+255+100)*mi {
			t.Errorf("%s: overhead = %d MiB, want that of %d pods", family, got/mi, pods)
		}
	}
}

func TestIT07PodsPerCore(t *testing.T) {
	tests := []struct {
		family          string
		maxPods, cores  int64
		want            int64
		reservedForPods int64
	}{
		{"AL2023", 0, 0, 29, 29}, {"AL2023", 110, 0, 110, 29}, {"AL2023", 110, 4, 8, 29}, {"AL2023", 5, 4, 5, 29},
		{"Bottlerocket", 110, 4, 110, 110}, {"Windows2022", 0, 4, 8, 8},
	}
	for _, test := range tests {
		c := class(func(c *model.Class) {
			c.Family, c.Kubelet.MaxPods, c.Kubelet.PodsPerCore = test.family, test.maxPods, test.cores
		})
		it := one(t, large(), c, Settings{})
		if it.Capacity[model.Pods] != test.want || it.Overhead[model.Memory] != (11*test.reservedForPods+355)*mi {
			t.Errorf("%+v: %d pods, %d MiB of overhead", test, it.Capacity[model.Pods], it.Overhead[model.Memory]/mi)
		}
	}
}

func TestIT08EvictionThresholds(t *testing.T) {
	const memory = (8192 - 615) * mi
	tests := []struct {
		text string
		want int64
	}{
		{"", 100 * mi}, {"0", 0}, {"1Gi", gi}, {"1G", 1e9}, {"1e9", 1e9}, {"1.5E6", 1.5e6}, {"1E-3", 1}, {"500m", 1}, {"1500u", 1}, {"+5", 5},
		{"5%", (memory*5 + 99) / 100}, {"0.1%", (memory + 999) / 1000}, {"99.9%", (memory*999 + 999) / 1000}, {"0%", 0}, {"100%", 0}, {"100.0%", 0},
		{"1e99", 100 * mi}, {"1e-99999999", 100 * mi}, {"five", 100 * mi},
	}
	for _, test := range tests {
		c := class(func(c *model.Class) {
			c.Kubelet.EvictionHard = map[string]string{"memory.available": test.text}
		})
		if got := one(t, large(), c, Settings{}).Overhead[model.Memory] - (11*29+255)*mi; got != test.want {
			t.Errorf("memory.available %q keeps %d free, want %d", test.text, got, test.want)
		}
	}
}

func TestIT09InstanceStoreHoldsPodsWhereItIsJoined(t *testing.T) {
	root := []model.BlockDevice{{DeviceName: "/dev/xvda", RootVolume: true, VolumeSizeGiB: 70}}
	m := changed(func(m *model.InstanceTypeInfo) { m.InstanceStoreGB = 950 })
	tests := []struct {
		name, family, policy string
		m                    model.InstanceTypeInfo
		want                 int64
	}{
		{"joined", "AL2023", "RAID0", m, 950_000_000_000},
		{"joined by AL2", "AL2", "RAID0", m, 950_000_000_000},
		{"joined by Bottlerocket", "Bottlerocket", "RAID0", m, 950_000_000_000},
		{"left alone", "AL2023", "", m, 70 * gi},
		{"a machine without", "AL2023", "RAID0", large(), 70 * gi},
		{"nobody joins them on Windows", "Windows2022", "RAID0", m, 70 * gi},
		{"nor with an image of one's own", "Custom", "RAID0", m, 70 * gi},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := class(func(c *model.Class) { c.Family, c.InstanceStorePolicy, c.BlockDevices = test.family, test.policy, root })
			if got := one(t, test.m, c, Settings{}).Capacity[model.EphemeralStorage]; got != test.want {
				t.Errorf("ephemeral storage = %d, want %d", got, test.want)
			}
		})
	}
}

func TestIT10Devices(t *testing.T) {
	const prefix = "vpc.amazonaws.com/"
	efaOnly := []model.NetworkInterface{{Type: "interface"}, {Device: 1, Type: "efa-only"}, {Card: 1, Type: "efa-only"}}
	tests := []struct {
		name   string
		m      model.InstanceTypeInfo
		change func(*model.Class)
		want   model.Resources
	}{
		{"nvidia", changed(func(m *model.InstanceTypeInfo) { m.GPUManufacturer, m.GPUCount = "nvidia", 8 }), nil, model.Resources{"nvidia.com/gpu": 8}},
		{"amd", changed(func(m *model.InstanceTypeInfo) { m.GPUManufacturer, m.GPUCount = "amd", 4 }), nil, model.Resources{"amd.com/gpu": 4}},
		{"gaudi", changed(func(m *model.InstanceTypeInfo) { m.GPUManufacturer, m.GPUCount = "habana", 8 }), nil, model.Resources{"habana.ai/gaudi": 8}},
		{"neuron", changed(func(m *model.InstanceTypeInfo) { m.NeuronCount, m.NeuronCores = 6, 2 }), nil,
			model.Resources{"aws.amazon.com/neuron": 6, "aws.amazon.com/neuroncore": 12}},
		{"efa", changed(func(m *model.InstanceTypeInfo) { m.EFAInterfaces = 4 }), nil, model.Resources{prefix + "efa": 4}},
		{"efa as the class says", changed(func(m *model.InstanceTypeInfo) { m.EFAInterfaces, m.Cards, m.ENA = 4, []int64{3, 3}, true }),
			func(c *model.Class) { c.NetworkInterfaces = efaOnly }, model.Resources{prefix + "efa": 2}},
		{"no efa as the class says", changed(func(m *model.InstanceTypeInfo) { m.EFAInterfaces, m.ENA = 4, true }),
			func(c *model.Class) { c.NetworkInterfaces = efaOnly[:1] }, model.Resources{}},
		{"Windows", large(), func(c *model.Class) { c.Family = "Windows2022" }, model.Resources{prefix + "PrivateIPv4Address": 9}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := one(t, test.m, class(test.change), Settings{}).Capacity
			want := maps.Clone(test.want)
			want[prefix+"pod-eni"] = 9
			for _, name := range []string{model.CPU, model.Memory, model.EphemeralStorage, model.Pods} {
				want[name] = got[name]
			}
			if !maps.Equal(got, want) {
				t.Errorf("capacity = %v, want %v", got, want)
			}
		})
	}
}

func TestIT11LabelsOfReservationsAndPlacementGroups(t *testing.T) {
	c := class(func(c *model.Class) {
		c.Status.PlacementGroup = &model.PlacementGroup{ID: "pg-1", Strategy: "partition", Partitions: 3}
		c.Status.Reservations = []model.Reservation{
			{ID: "cr-2", InstanceType: "m5.large", Zone: "a", Free: 1, Interruptible: true},
			{ID: "cr-1", InstanceType: "m5.large", Zone: "b", Free: 0},
			{ID: "cr-3", InstanceType: "m5.large", Zone: "c", Free: 1, Block: true}, // no subnet there
			{ID: "cr-4", InstanceType: "m5.xlarge", Zone: "a", Free: 1},
		}
	})
	m := changed(func(m *model.InstanceTypeInfo) {
		m.Strategies = []string{"partition"}
		m.UsageClasses = []string{"on-demand"}
	})
	it := one(t, m, c, Settings{})
	want := map[string][]string{
		model.LabelReservationID: {"cr-1", "cr-2"}, model.LabelReservationType: {"default"}, model.LabelInterruptible: {"false", "true"},
		model.LabelPlacementGroup: {"pg-1"}, model.LabelPartition: {"1", "2", "3"}, model.LabelCapacityType: {"on-demand", "reserved"},
		model.LabelTenancy: {"dedicated", "default"},
	}
	for key, values := range want {
		if !slices.Equal(it.Labels[key], values) {
			t.Errorf("%s = %q, want %q", key, it.Labels[key], values)
		}
	}
	plain := one(t, large(), class(nil), Settings{})
	for _, key := range []string{model.LabelReservationID, model.LabelReservationType, model.LabelInterruptible, model.LabelPlacementGroup, model.LabelPartition} {
		if values, has := plain.Labels[key]; has {
			t.Errorf("without reservation and group %s = %q, want no such label", key, values)
		}
	}
	c.Status.PlacementGroup.Strategy = "spread"
	if values, has := one(t, m, c, Settings{}).Labels[model.LabelPartition]; has {
		t.Errorf("partitions of a group that spreads = %q", values)
	}
}

// IT-13: upstream shares what it found out between classes with equal subnets.
func TestIT13FirstARMGenerationDependsOnTheFamilyOnly(t *testing.T) {
	m := changed(func(m *model.InstanceTypeInfo) { m.Name, m.Arch = "a1.large", "arm64" })
	for family, want := range map[string]int{"AL2023": 0, "AL2": 4, "Bottlerocket": 4, "Custom": 4} {
		c := class(func(c *model.Class) { c.Family = family })
		if got := available(one(t, m, c, Settings{})); got != want {
			t.Errorf("%s: %d offers are available, want %d", family, got, want)
		}
	}
}

func TestIT14ZoneWithoutSubnetIsUnavailableAndNotAbsent(t *testing.T) {
	it := one(t, large(), class(nil), Settings{})
	if len(it.Offerings) != 6 {
		t.Fatalf("%d offers, want those of all three zones", len(it.Offerings))
	}
	for _, o := range it.Offerings {
		if o.Available != (o.Zone != "c") {
			t.Errorf("zone %s: available = %v", o.Zone, o.Available)
		}
	}
	if slices.Contains(it.Labels[model.LabelZone], "c") {
		t.Errorf("zones = %q, want none without subnet", it.Labels[model.LabelZone])
	}
}

func TestIT15InstancesThatCannotDoWhatTheClassAsks(t *testing.T) {
	nic := func(card, device int64, kind string) model.NetworkInterface {
		return model.NetworkInterface{Card: card, Device: device, Type: kind}
	}
	nics := func(list ...model.NetworkInterface) func(*model.Class) {
		return func(c *model.Class) { c.NetworkInterfaces = list }
	}
	tracking := func(c *model.Class) { c.ConnectionTracking = &model.ConnectionTracking{UDPSeconds: 60} }
	nested := func(value string) func(*model.Class) {
		return func(c *model.Class) { c.NestedVirtualization = value }
	}
	group := func(strategy string) func(*model.Class) {
		return func(c *model.Class) {
			c.PlacementGroup = &model.SelectorTerm{ID: "pg-1"}
			c.Status.PlacementGroup = &model.PlacementGroup{ID: "pg-1", Strategy: strategy, Partitions: 2}
		}
	}
	able := changed(func(m *model.InstanceTypeInfo) {
		m.ENA, m.Cards, m.EFAInterfaces, m.Nested, m.Strategies = true, []int64{3, 2}, 2, true, []string{"cluster", "partition", "spread"}
	})
	without := func(change func(*model.InstanceTypeInfo)) model.InstanceTypeInfo {
		m := able
		change(&m)
		return m
	}
	tests := []struct {
		name  string
		m     model.InstanceTypeInfo
		class func(*model.Class)
		suits bool
	}{
		{"nothing asked", large(), nil, true},
		{"connection tracking on nitro", able, tracking, true},
		{"connection tracking on xen", without(func(m *model.InstanceTypeInfo) { m.Hypervisor = "xen" }), tracking, false},
		{"connection tracking on bare metal", without(func(m *model.InstanceTypeInfo) { m.Hypervisor = "" }), tracking, false},
		{"nested virtualisation", able, nested("enabled"), true},
		{"no nested virtualisation", without(func(m *model.InstanceTypeInfo) { m.Nested = false }), nested("enabled"), false},
		{"nested virtualisation switched off", without(func(m *model.InstanceTypeInfo) { m.Nested = false }), nested("disabled"), true},
		{"cluster", able, group("cluster"), true},
		{"no cluster", without(func(m *model.InstanceTypeInfo) { m.Strategies = []string{"partition", "spread"} }), group("cluster"), false},
		{"no partition", without(func(m *model.InstanceTypeInfo) { m.Strategies = nil }), group("partition"), false},
		{"a group that is not there", able, func(c *model.Class) { c.PlacementGroup = &model.SelectorTerm{ID: "pg-1"} }, false},
		{"interfaces it has", able, nics(nic(0, 0, "interface"), nic(0, 2, "efa-only"), nic(1, 1, "efa-only")), true},
		{"a card it does not have", able, nics(nic(0, 0, "interface"), nic(2, 0, "interface")), false},
		{"a device its card does not have", able, nics(nic(0, 0, "interface"), nic(1, 2, "interface")), false},
		{"one card, as long as nothing is said of cards", without(func(m *model.InstanceTypeInfo) { m.Cards = nil }), nics(nic(0, 2, "interface")), true},
		{"another card then", without(func(m *model.InstanceTypeInfo) { m.Cards = nil }), nics(nic(1, 0, "interface")), false},
		{"more EFA than it has", without(func(m *model.InstanceTypeInfo) { m.EFAInterfaces = 1 }), nics(nic(0, 0, "interface"), nic(0, 1, "efa-only"), nic(1, 1, "efa-only")), false},
		{"no enhanced networking", without(func(m *model.InstanceTypeInfo) { m.ENA = false }), nics(nic(0, 0, "interface")), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			it := one(t, test.m, class(test.class), Settings{})
			want := 0
			if test.suits {
				want = 4
			}
			if got := available(it); got != want || len(it.Offerings) != 6 {
				t.Errorf("%d of %d offers are available, want %d of 6", got, len(it.Offerings), want)
			}
		})
	}
}

// IT-16, S24: what is known to be dry is no part of what a class sees until it is masked, so that nothing can be stale.
func TestIT16S24UnavailabilityHidesItsTypeFromEveryClassAndNoOther(t *testing.T) {
	other := changed(func(m *model.InstanceTypeInfo) { m.Name = "m5.xlarge" })
	facts := []model.InstanceTypeInfo{large(), other}
	unavailableOfferings := []model.UnavailableOffering{{OfferingKey: model.OfferingKey{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot}, UntilUnix: 100}}
	for _, c := range []model.Class{class(nil), class(func(c *model.Class) { c.Name, c.Family = "other", "AL2" })} {
		for _, now := range []int64{99, 100} {
			types := Mask(Catalog(facts, c, Settings{}), c.Status.Subnets, unavailableOfferings, now)
			want := map[string]int{"m5.large": 3, "m5.xlarge": 4}
			if now >= 100 {
				want["m5.large"] = 4
			}
			for _, it := range types {
				if got := available(it); got != want[it.Name] {
					t.Errorf("class %s at %d: %d offers of %s are available, want %d", c.Name, now, got, it.Name, want[it.Name])
				}
			}
		}
	}
}

func TestPR04ReservedCapacityIsAllButFree(t *testing.T) {
	const end = 1_000_000
	expensive := func(m *model.InstanceTypeInfo) {
		m.Offerings = soldIn(98_320_000, "a", "b", "c")
		m.Offerings[0].ZoneID, m.Offerings[0].Price = "z1", 60_000_000
	}
	base := model.Reservation{ID: "cr-1", InstanceType: "m5.large", Zone: "a", Free: 2}
	tests := []struct {
		name   string
		m      model.InstanceTypeInfo
		change func(*model.Reservation)
		now    int64
		want   model.Offering
	}{
		{"ordinary", changed(expensive), nil, 0, model.Offering{Zone: "a", ZoneID: "z1", Price: 6, ListPrice: 60_000_000, Available: true, ReservationCapacity: 2}},
		{"in another zone", changed(expensive), func(r *model.Reservation) { r.Zone = "b" }, 0,
			model.Offering{Zone: "b", ZoneID: "z2", Price: 9, ListPrice: 98_320_000, Available: true, ReservationCapacity: 2}},
		{"cheap machines cost nothing more", large(), nil, 0, model.Offering{Zone: "a", ZoneID: "z1", ListPrice: 96_000, Available: true, ReservationCapacity: 2}},
		{"no on-demand price is known", changed(func(m *model.InstanceTypeInfo) { m.Offerings = nil }), nil, 0,
			model.Offering{Zone: "a", ZoneID: "z1", Available: true, ReservationCapacity: 2}},
		{"not sold in any other way", changed(func(m *model.InstanceTypeInfo) { m.Offerings, m.UsageClasses = nil, []string{"spot"} }), nil, 0,
			model.Offering{Zone: "a", ZoneID: "z1", Available: true, ReservationCapacity: 2}},
		{"nothing left", large(), func(r *model.Reservation) { r.Free = 0 }, 0, model.Offering{Zone: "a", ZoneID: "z1", ListPrice: 96_000}},
		{"no subnet there", large(), func(r *model.Reservation) { r.Zone = "c" }, 0, model.Offering{Zone: "c", ListPrice: 96_000, ReservationCapacity: 2}},
		{"interruptible", large(), func(r *model.Reservation) { r.Interruptible = true }, 0,
			model.Offering{Zone: "a", ZoneID: "z1", ListPrice: 96_000, Available: true, ReservationCapacity: 2, Interruptible: true}},
		{"a block", large(), func(r *model.Reservation) { r.Block, r.EndUnix = true, end }, end - 41*60,
			model.Offering{Zone: "a", ZoneID: "z1", ListPrice: 96_000, Available: true, ReservationCapacity: 2, ReservationBlock: true}},
		{"a block that soon ends", large(), func(r *model.Reservation) { r.Block, r.EndUnix = true, end }, end - 40*60,
			model.Offering{Zone: "a", ZoneID: "z1", ListPrice: 96_000, ReservationCapacity: 2, ReservationBlock: true}},
		{"others are used to the end", large(), func(r *model.Reservation) { r.EndUnix = end }, end - 1,
			model.Offering{Zone: "a", ZoneID: "z1", ListPrice: 96_000, Available: true, ReservationCapacity: 2}},
		{"and not after it", large(), func(r *model.Reservation) { r.EndUnix = end }, end,
			model.Offering{Zone: "a", ZoneID: "z1", ListPrice: 96_000, ReservationCapacity: 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := base
			if test.change != nil {
				test.change(&r)
			}
			c := class(func(c *model.Class) { c.Status.Reservations = []model.Reservation{r} })
			var got []model.Offering
			for _, o := range one(t, test.m, c, Settings{NowUnix: test.now}).Offerings {
				if o.CapacityType == model.Reserved {
					got = append(got, o)
				}
			}
			test.want.CapacityType, test.want.ReservationID = model.Reserved, "cr-1"
			if len(got) != 1 || got[0] != test.want {
				t.Errorf("reserved offers = %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestPR04ReservationsOfOthersAreNoOffering(t *testing.T) {
	c := class(func(c *model.Class) {
		c.Status.Reservations = []model.Reservation{{ID: "cr-1", InstanceType: "m5.xlarge", Zone: "a", Free: 2}}
	})
	if it := one(t, large(), c, Settings{}); len(it.Offerings) != 6 {
		t.Errorf("offers = %+v, want none reserved", it.Offerings)
	}
}

func TestPR04TypeWithoutPriceIsUnavailable(t *testing.T) {
	m := changed(func(m *model.InstanceTypeInfo) { m.Offerings = soldIn(0, "a", "b") })
	if it := one(t, m, class(nil), Settings{}); available(it) != 0 || len(it.Offerings) != 4 {
		t.Errorf("offers = %+v, want all there and none available", it.Offerings)
	}
}

func TestNC18ExpressionsAreWorkedOutForEachType(t *testing.T) {
	c := class(func(c *model.Class) {
		c.Kubelet = model.Kubelet{
			MaxPodsExpr: "min(max_pods, vcpus * 12)", PodsPerCore: 11, KubeReserved: model.Resources{"pid": 100},
			KubeReservedExpr: map[string]string{"memory": "max_pods * 10"}, SystemReservedExpr: map[string]string{"cpu": "double(vcpus) * 21.5"},
		}
	})
	it := one(t, large(), c, Settings{NodeClassCEL: true})
	if got := it.Capacity[model.Pods]; got != 22 { // 24 by the expression, 22 by cores
		t.Errorf("pods = %d, want 22", got)
	}
	if want := map[string]string{"pid": "100", "memory": "224Mi"}; !maps.Equal(it.KubeReserved, want) {
		t.Errorf("kubeReserved = %v, want %v", it.KubeReserved, want)
	}
	if want := map[string]string{"cpu": "50m"}; !maps.Equal(it.SystemReserved, want) {
		t.Errorf("systemReserved = %v, want %v", it.SystemReserved, want)
	}
	if it.Overhead[model.Memory] != (224+100)*mi || it.Overhead[model.CPU] != 70+50 || it.Overhead["pid"] != 100 {
		t.Errorf("overhead = %v", it.Overhead)
	}
	if available(it) != 4 {
		t.Errorf("%d offers are available, want 4", available(it))
	}
	if plain := one(t, large(), class(nil), Settings{}); plain.KubeReserved != nil || plain.SystemReserved != nil {
		t.Errorf("a class that says nothing reserves %v and %v", plain.KubeReserved, plain.SystemReserved)
	}
}

func TestNC18NothingIsBoughtByAnExpressionThatCannotBeUsed(t *testing.T) {
	small := changed(func(m *model.InstanceTypeInfo) { m.Name, m.VCPUs = "m5.small", 1 })
	facts := []model.InstanceTypeInfo{large(), small}
	tests := []struct {
		name, text string
		enabled    bool
		reason     string
		available  map[string]int
	}{
		{"usable", "vcpus * 10", true, "", map[string]int{"m5.large": 4, "m5.small": 4}},
		{"not enabled", "vcpus * 10", false, "KubeletExpressionsDisabled", map[string]int{}},
		{"no expression", "lots", true, "KubeletExpressionInvalid", map[string]int{}},
		{"fails on one type", "10 / (vcpus - 1)", true, "KubeletExpressionEvaluationFailed", map[string]int{"m5.large": 4}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := class(func(c *model.Class) {
				c.Kubelet = model.Kubelet{MaxPodsExpr: test.text, KubeReserved: model.Resources{"cpu": 200}}
			})
			settings := Settings{NodeClassCEL: test.enabled}
			problems := ClassProblems(facts, c, settings)
			switch {
			case test.reason == "" && len(problems) > 0:
				t.Errorf("problems = %v, want none", problems)
			case test.reason != "" && (len(problems) != 1 || problems[0].Reason != test.reason):
				t.Errorf("problems = %v, want %s", problems, test.reason)
			}
			for _, it := range Catalog(facts, c, settings) {
				if got := available(it); got != test.available[it.Name] {
					t.Errorf("%d offers of %s are available, want %d", got, it.Name, test.available[it.Name])
				}
				if it.Overhead[model.CPU] != 200 { // what stands outright holds for the nodes there are
					t.Errorf("%s reserves %dm, want 200m", it.Name, it.Overhead[model.CPU])
				}
			}
		})
	}
	if problems := ClassProblems(facts, class(nil), Settings{}); problems != nil {
		t.Errorf("a class without expressions has problems %v", problems)
	}
}

// Whoever is root on one node writes what its kubelet says; the type is not lost by that to the clusters of the account.
func TestW5LearnedMemoryHasAFloor(t *testing.T) {
	c := class(images("ami-1"))
	m := changed(func(*model.InstanceTypeInfo) {})
	least := MinMemoryMiB(&m)
	if least >= m.MemoryMiB || least < m.MemoryMiB*7/10 {
		t.Errorf("of %d MiB no less than %d are believed", m.MemoryMiB, least)
	}
	of := func(mib int64) int64 {
		m := changed(func(m *model.InstanceTypeInfo) {
			m.LearnedMiB = []model.Learned{{Images: c.Status.ImagesKey(), MiB: mib}}
		})
		return Catalog([]model.InstanceTypeInfo{m}, c, Settings{})[0].Capacity[model.Memory] >> 20
	}
	estimate := of(0)
	for _, lie := range []int64{2, least - 1} {
		if got := of(lie); got != estimate {
			t.Errorf("%d MiB were believed: %d, not %d", lie, got, estimate)
		}
	}
	if got := of(least); got != least {
		t.Errorf("the least that is believed is %d, and %d came of it", least, got)
	}
	small := model.InstanceTypeInfo{MemoryMiB: 512, Arch: "arm64"}
	if got := MinMemoryMiB(&small); got < 1 || got > 300 {
		t.Errorf("of a machine of 512 MiB no less than %d are believed", got)
	}
}
