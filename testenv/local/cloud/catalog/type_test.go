package catalog_test

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

func TestTypesFollowFromFamilyAndSize(t *testing.T) {
	tests := []struct {
		name      string
		vcpus     int
		memoryMiB int64
		arch      string
		maxPods   int
		microUSD  int64
	}{
		{"m5.large", 2, 8192, catalog.X86_64, 29, 96_000},
		{"m5.24xlarge", 96, 393216, catalog.X86_64, 737, 4_608_000},
		{"m5.metal", 96, 393216, catalog.X86_64, 737, 4_608_000},
		{"m6g.metal", 64, 262144, catalog.ARM64, 737, 2_611_200},
		{"m6g.xlarge", 4, 16384, catalog.ARM64, 58, 154_000},
		{"m7i.metal-24xl", 96, 393216, catalog.X86_64, 737, 5_322_240},
		{"c7g.medium", 1, 2048, catalog.ARM64, 8, 36_250},
		{"i3.large", 2, 15616, catalog.X86_64, 29, 156_000},
		{"a1.medium", 1, 2048, catalog.ARM64, 8, 25_500},
		{"t3.micro", 2, 1024, catalog.X86_64, 4, 10_400},
		{"g4dn.xlarge", 4, 16384, catalog.X86_64, 29, 526_000},
		{"p4d.24xlarge", 96, 1179648, catalog.X86_64, 737, 21_957_642},
		{"inf2.xlarge", 4, 16384, catalog.X86_64, 58, 758_200},
	}
	for _, tt := range tests {
		got, ok := catalog.Lookup(tt.name)
		if !ok {
			t.Errorf("%s is missing", tt.name)
			continue
		}
		if got.VCPUs != tt.vcpus || got.MemoryMiB != tt.memoryMiB || got.Architecture != tt.arch ||
			got.MaxPods() != tt.maxPods || got.OnDemandMicroUSDPerHour != tt.microUSD {
			t.Errorf("%s: got %d vCPU, %d MiB, %s, %d pods, %d µUSD/h; want %+v", tt.name, got.VCPUs, got.MemoryMiB,
				got.Architecture, got.MaxPods(), got.OnDemandMicroUSDPerHour, tt)
		}
	}
}

func TestLookupOfAnUnknownTypeIsFalse(t *testing.T) {
	for _, name := range []string{"", "m5", "m5.", "m5.gigantic", "zz.large"} {
		if got, ok := catalog.Lookup(name); ok {
			t.Errorf("%q gave %s", name, got.Name)
		}
	}
}

func TestEveryTypeIsComplete(t *testing.T) {
	types := catalog.Types()
	if len(types) < 300 {
		t.Errorf("%d types, want at least 300", len(types))
	}
	if !slices.IsSortedFunc(types, func(a, b catalog.Type) int { return cmpStrings(a.Name, b.Name) }) {
		t.Error("types are not sorted, or one is there twice")
	}
	for _, x := range types {
		switch {
		case x.VCPUs < 1 || x.MemoryMiB < 512 || x.ThreadsPerCore < 1 || x.VCPUs%x.ThreadsPerCore != 0 && x.VCPUs > 1:
			t.Errorf("%s: %d vCPU, %d threads per core, %d MiB", x.Name, x.VCPUs, x.ThreadsPerCore, x.MemoryMiB)
		case x.InterfacesPerCard < 2 || x.IPv4PerInterface < 2 || x.NetworkPeakGbps < x.NetworkBaselineGbps:
			t.Errorf("%s: network of %+v", x.Name, x)
		case x.EBSMaximumMbps < x.EBSBaselineMbps || x.EBSBaselineMbps <= 0:
			t.Errorf("%s: EBS %d to %d Mbps", x.Name, x.EBSBaselineMbps, x.EBSMaximumMbps)
		case x.BareMetal != (x.Hypervisor == ""):
			t.Errorf("%s: bare metal %v, hypervisor %q", x.Name, x.BareMetal, x.Hypervisor)
		case len(x.Zones) == 0 || x.OnDemandMicroUSDPerHour <= 0:
			t.Errorf("%s: zones %v, price %d", x.Name, x.Zones, x.OnDemandMicroUSDPerHour)
		}
		for _, zone := range x.Zones {
			if catalog.ZoneID(zone) == "" {
				t.Errorf("%s is offered in unknown zone %s", x.Name, zone)
			}
		}
	}
}

func TestSpotPricesLieBetweenAQuarterAndSeventyPercent(t *testing.T) {
	differ := 0
	for _, x := range catalog.Types() {
		seen := map[int64]bool{}
		for _, zone := range x.Zones {
			price := x.SpotMicroUSDPerHour(zone)
			if x.NoSpot {
				if price != 0 {
					t.Errorf("%s is not sold as spot, yet costs %d", x.Name, price)
				}
				continue
			}
			od := x.OnDemandMicroUSDPerHour
			if slack := int64(100); price < od/4-slack || price > od*7/10+slack || price%100 != 0 {
				t.Errorf("%s in %s: spot %d of on-demand %d", x.Name, zone, price, od)
			}
			seen[price] = true
		}
		if len(seen) > 1 {
			differ++
		}
	}
	if differ < len(catalog.Types())*8/10 {
		t.Errorf("spot prices differ between zones for %d types of %d", differ, len(catalog.Types()))
	}
}

func TestNoSpotPriceWhereATypeIsNotOffered(t *testing.T) {
	p5, _ := catalog.Lookup("p5.48xlarge")
	if got := p5.SpotMicroUSDPerHour("us-west-2c"); got != 0 {
		t.Errorf("p5.48xlarge in us-west-2c: %d, want 0", got)
	}
}

func TestSomeTypesAreMissingInSomeZones(t *testing.T) {
	for _, zone := range catalog.Zones() {
		missing := 0
		for _, x := range catalog.Types() {
			if !x.OfferedIn(zone.Name) {
				missing++
			}
		}
		if missing == 0 {
			t.Errorf("every type is offered in %s", zone.Name)
		}
	}
}

func TestAcceleratorsAreDescribed(t *testing.T) {
	p4d, _ := catalog.Lookup("p4d.24xlarge")
	if g := p4d.GPU; g == nil || g.Name != "A100" || g.Count != 8 || g.MemoryMiB != 40960 || p4d.EFAInterfaces != 4 || p4d.NetworkCards != 4 {
		t.Errorf("p4d.24xlarge: %+v, GPU %+v", p4d, g)
	}
	dl1, _ := catalog.Lookup("dl1.24xlarge")
	if g := dl1.GPU; g == nil || g.Manufacturer != "Habana" || g.Name != "Gaudi HL-205" {
		t.Errorf("dl1.24xlarge: GPU %+v", g)
	}
	trn1, _ := catalog.Lookup("trn1.32xlarge")
	if n := trn1.Neuron; n == nil || n.Name != "Trainium" || n.Count != 16 || n.CoresPerDevice != 2 {
		t.Errorf("trn1.32xlarge: Neuron %+v", n)
	}
}

func cmpStrings(a, b string) int {
	if a < b {
		return -1
	}
	return 1 // equal counts as out of order: names are unique
}
