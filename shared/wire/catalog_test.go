package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// drawCatalog makes a catalog that uses every field of a type.
func drawCatalog(t *rapid.T) *model.InstanceCatalog {
	c := &model.InstanceCatalog{
		ReadUnix: rapid.Int64().Draw(t, "read"), PriceUnix: rapid.Int64().Draw(t, "price"), SpotUnix: rapid.Int64().Draw(t, "spot"),
		TriedUnix: rapid.Int64().Draw(t, "tried"), Version: rapid.String().Draw(t, "version"),
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "types") {
		m := drawAny[model.InstanceTypeInfo](t, "type")
		m.Name, m.Offerings = fmt.Sprintf("t%03d", i), nil
		for range rapid.IntRange(0, 6).Draw(t, "offers") {
			n := rapid.IntRange(0, 3).Draw(t, "zone")
			m.Offerings = append(m.Offerings, model.Offering{
				Zone: fmt.Sprintf("z%d", n), ZoneID: fmt.Sprintf("id%d", n), CapacityType: rapid.SampledFrom([]string{model.OnDemand, model.Spot}).Draw(t, "way"),
				Price: model.MicroUSD(rapid.Int64Range(0, 1e12).Draw(t, "micro")), Available: rapid.Bool().Draw(t, "available"),
			})
		}
		c.Types = append(c.Types, m)
	}
	return c
}

func TestCatalogSurvivesARoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawCatalog(t)
		data, err := EncodeCatalog(want)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		got, err := DecodeCatalog(data)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		if len(want.Types) == 0 {
			got.Types = nil // an empty list and none are the same
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %s\nwant %s", text(got), text(want))
		}
		again, err := EncodeCatalog(got)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("the same catalogue has other bytes (%v)", err)
		}
	})
}

func TestCatalogRefusesWhatTheReaderWould(t *testing.T) {
	offerings := func(o model.Offering) []model.InstanceTypeInfo {
		return []model.InstanceTypeInfo{{Name: "a", Offerings: []model.Offering{o}}}
	}
	var zones []model.Offering
	for i := range 101 {
		zones = append(zones, model.Offering{Zone: fmt.Sprint(i), CapacityType: model.Spot})
	}
	for name, types := range map[string][]model.InstanceTypeInfo{
		"not sorted": {{Name: "b"}, {Name: "a"}}, "twice": {{Name: "a"}, {Name: "a"}}, "no name": {{}},
		"reserved": offerings(model.Offering{CapacityType: model.Reserved}), "of a reservation": offerings(model.Offering{CapacityType: model.OnDemand, ReservationID: "cr-1"}),
		"below nothing": offerings(model.Offering{CapacityType: model.Spot, Price: -1}), "too many types": make([]model.InstanceTypeInfo, 10_001), "too many zones": {{Name: "a", Offerings: zones}},
	} {
		if _, err := EncodeCatalog(&model.InstanceCatalog{Types: types}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCatalogOfANewerVersionIsRefused(t *testing.T) {
	plain := append([]byte(catalogMagic), CatalogVersion+1, 2, '{', '}')
	data, err := new(Compressor).within(MaxCatalogBytes, "test", plain)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeCatalog(data); fault.CodeOf(err) != "UnknownVersion" {
		t.Errorf("got %v", err)
	}
}

func FuzzDecodeCatalog(f *testing.F) {
	data, err := EncodeCatalog(region(3, 2))
	if err != nil {
		f.Fatal(err)
	}
	plain, err := decompress("test", data, MaxCatalogBytes, maxCatalogExpandedBytes)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add([]byte(catalogMagic + "\x01\x02{}"))
	f.Fuzz(func(t *testing.T, plain []byte) {
		packed, err := new(Compressor).within(MaxCatalogBytes, "test", plain)
		if err != nil {
			return
		}
		bounds.Check(t, len(plain), func() {
			c, err := DecodeCatalog(packed)
			if err != nil {
				invalid(t, err)
				return
			}
			if _, err := EncodeCatalog(c); err != nil {
				t.Fatalf("what was decoded cannot be encoded: %v", err)
			}
		})
	})
}

// region is a catalog of as many types, each sold in as many zones both ways.
func region(types, zones int) *model.InstanceCatalog {
	chance := rand.New(rand.NewPCG(1, 2)) // prices that are not alike, as a market's are
	c := &model.InstanceCatalog{ReadUnix: 1772366400, PriceUnix: 1772366400, SpotUnix: 1772366400, Version: "0123456789abcdef"}
	for i := range types {
		size := int64(1) << (i % 7)
		m := model.InstanceTypeInfo{
			Name: fmt.Sprintf("m%03d.%dxlarge", i, size), Arch: "amd64", VCPUs: 4 * size, MemoryMiB: 16384 * size, Hypervisor: "nitro", CPUManufacturer: "intel", ClockSpeedGHz: 3.5,
			Interfaces: 4 + size%4, IPv4PerInterface: 15, NetworkMbps: 1562 * size, EBSMbps: 10000, EncryptedTransit: true, NitroEnclaves: true, BranchInterfaces: 18,
			UsageClasses: []string{model.OnDemand, model.Spot}, ENA: true, Strategies: []string{"cluster", "partition", "spread"},
		}
		if i%20 == 0 {
			m.LearnedMiB = []model.Learned{{Images: "0123456789abcdef", MiB: 15000 * size, SeenUnix: 1772366400 + int64(i)}}
		}
		for z := range zones {
			zone, id, price := fmt.Sprintf("us-east-1%c", 'a'+z), fmt.Sprintf("use1-az%d", z+1), model.MicroUSD(201_600*size)
			spot := price*25/100 + model.MicroUSD(chance.Int64N(int64(price/2)/100))*100
			m.Offerings = append(m.Offerings, model.Offering{Zone: zone, ZoneID: id, CapacityType: model.OnDemand, Price: price, Available: true},
				model.Offering{Zone: zone, ZoneID: id, CapacityType: model.Spot, Price: spot, Available: true})
		}
		c.Types = append(c.Types, m)
	}
	return c
}

func BenchmarkDecodeCatalog(b *testing.B) {
	data, err := EncodeCatalog(region(800, 6))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(data)), "bytes")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeCatalog(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data)), "bytes")
}

func BenchmarkEncodeCatalog(b *testing.B) {
	c := region(800, 6)
	for b.Loop() {
		if _, err := EncodeCatalog(c); err != nil {
			b.Fatal(err)
		}
	}
}

// TestW7ACatalogIsBounded: too many types, zones, offerings of a type or bytes in memory are refused by name and bound.
func TestW7ACatalogIsBounded(t *testing.T) {
	plain := func(head string, offerings ...byte) []byte {
		out := binary.AppendUvarint(append([]byte(catalogMagic), CatalogVersion), uint64(len(head)))
		return compress(t, append(append(out, head...), offerings...))
	}
	many := binary.AppendUvarint(nil, maxCatalogOfferings+1)
	for range maxCatalogOfferings + 1 {
		many = append(many, 0, 0, 0)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"types":  {plain(`{"types":[` + numbered(maxCatalogTypes+1, `{}`) + `]}`), "has more than 10000 types"},
		"zones":  {plain(`{"zones":[` + numbered(maxCatalogZones+1, `{}`) + `]}`), "has more than 100 zones"},
		"weight": {plain(`{"types":[{"name":"a","learned":[` + numbered(3_000_000, `{}`) + `]}]}`), "128 MiB"},
		"offers": {plain(`{"zones":[{"name":"a"}],"types":[{"name":"a"}]}`, many...), "offerings of the catalog are damaged"},
	} {
		made := allocated(func() {
			if _, err := DecodeCatalog(c.data); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		})
		if made > 64<<20 {
			t.Errorf("%s: %d bytes were made", name, made)
		}
	}
}
