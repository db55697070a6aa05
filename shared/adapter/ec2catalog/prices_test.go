package ec2catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

// priceList is a Price List service of our own: what it says can be changed, and it counts what it was asked.
type priceList struct {
	mu       sync.Mutex
	families map[string]map[string]string // price by type, by product family
	currency string
	asked    []map[string]string // filters of each request
}

func (p *priceList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var in struct {
		Filters []struct{ Field, Value string }
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	filters := map[string]string{}
	for _, f := range in.Filters {
		filters[f.Field] = f.Value
	}
	p.asked = append(p.asked, filters)
	entries := []string{}
	prices := p.families[filters["productFamily"]]
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		entries = append(entries, fmt.Sprintf(`{"product":{"attributes":{"instanceType":%q}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"pricePerUnit":{%q:%q}}}}}}}`,
			name, p.currency, prices[name]))
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_ = json.NewEncoder(w).Encode(map[string]any{"FormatVersion": "aws_v1", "PriceList": entries})
}

func (p *priceList) client(t *testing.T) *pricing.Client {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return pricing.New(pricing.Options{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
}

const (
	shared = "Compute Instance"
	metal  = "Compute Instance (bare metal)"
)

func TestPR01SharedInstancesAndBareMetalAreMergedAndAnEmptyAnswerKeepsWhatWasKnown(t *testing.T) {
	r := start(t)
	list := &priceList{currency: "USD", families: map[string]map[string]string{
		shared: {"m5.large": "0.1000000000", "c5.large": "0.0800000000"}, metal: {"m5.metal": "4.5"},
	}}
	r.catalog.Types.clients.Pricing = list.client(t)
	price := func(catalog model.InstanceCatalog, name string) model.MicroUSD {
		return offering(catalog, name, "us-west-2a", model.OnDemand).Price
	}
	first := read(t, r)
	if price(first, "m5.large") != 100_000 || price(first, "m5.metal") != 4_500_000 || price(first, "c5.large") != 80_000 {
		t.Fatalf("m5.large %d, m5.metal %d", price(first, "m5.large"), price(first, "m5.metal"))
	}
	for _, filters := range list.asked {
		want := map[string]string{
			"regionCode": catalog.Region, "preInstalledSw": "NA", "operatingSystem": "Linux", "capacitystatus": "Used", "marketoption": "OnDemand",
			"productFamily": filters["productFamily"], "tenancy": map[string]string{shared: "Shared", metal: "Dedicated"}[filters["productFamily"]],
		}
		if !maps.Equal(filters, want) {
			t.Errorf("asked with %v, want %v", filters, want)
		}
	}
	// One of the two families comes back empty: neither answer is believed, and nothing is forgotten.
	list.mu.Lock()
	list.families = map[string]map[string]string{shared: {"m5.large": "0.2"}}
	list.mu.Unlock()
	r.clock.Advance(12 * time.Hour)
	second, err := r.catalog.Refresh(t.Context(), first, model.CatalogParts{Types: true, Prices: true, Spot: true})
	if fault.CodeOf(err) != "EmptyPriceList" || second.PriceUnix != first.PriceUnix || second.ReadUnix == first.ReadUnix {
		t.Errorf("%v, prices of %d", err, second.PriceUnix)
	}
	if price(second, "m5.large") != 100_000 || price(second, "m5.metal") != 4_500_000 {
		t.Errorf("m5.large %d, m5.metal %d", price(second, "m5.large"), price(second, "m5.metal"))
	}
	// A list that leaves a type out does not take its price away.
	list.mu.Lock()
	list.families = map[string]map[string]string{shared: {"m5.large": "0.2", "c5.large": "0"}, metal: {"m5.metal": "x", "c5.metal": "1"}}
	list.mu.Unlock()
	third, err := r.catalog.Refresh(t.Context(), second, model.CatalogParts{Prices: true})
	if err != nil || price(third, "m5.large") != 200_000 || price(third, "c5.large") != 80_000 || price(third, "m5.metal") != 4_500_000 {
		t.Errorf("%v: m5.large %d, c5.large %d, m5.metal %d", err, price(third, "m5.large"), price(third, "c5.large"), price(third, "m5.metal"))
	}
	if price(first, "m5.large") != 100_000 {
		t.Error("what was handed out before was written to")
	}
}

func TestPR01PricesAreInTheCurrencyOfThePartition(t *testing.T) {
	list := &priceList{currency: "CNY", families: map[string]map[string]string{shared: {"m5.large": "0.5"}, metal: {"m5.metal": "9"}}}
	c := New(Clients{Pricing: list.client(t)}, Settings{Region: "cn-north-1"})
	if prices, err := c.readOnDemand(t.Context()); err != nil || prices["m5.large"] != 500_000 {
		t.Errorf("%v %v", prices, err)
	}
	c = New(Clients{Pricing: list.client(t)}, Settings{Region: "us-east-1"})
	if prices, err := c.readOnDemand(t.Context()); fault.CodeOf(err) != "EmptyPriceList" {
		t.Errorf("prices in another currency were read: %v %v", prices, err)
	}
}

// PR-02, M32: spot costs what on-demand does until spot prices were read. After that an offering without one is
// unavailable, and one that an answer leaves out keeps its last.
func TestPR02SpotWithoutARecordIsNotAvailableOnceSpotPricesWereRead(t *testing.T) {
	r := start(t)
	mend := r.fail("ec2", "DescribeSpotPriceHistory", "InternalError")
	before := read(t, r)
	if before.SpotUnix != 0 {
		t.Errorf("spot prices were read at %d", before.SpotUnix)
	}
	for _, zone := range []string{"us-west-2a", "us-west-2b", "us-west-2c"} {
		spot, onDemand := offering(before, "m5.large", zone, model.Spot), offering(before, "m5.large", zone, model.OnDemand)
		if spot.Price != onDemand.Price || !spot.Available {
			t.Errorf("before, spot in %s is %+v", zone, spot)
		}
	}
	mend()
	r.ec2.SetSpotPrice("m5.large", "us-west-2b", 0) // the history has no price above zero for it
	r.clock.Advance(time.Minute)
	after := read(t, r)
	if after.SpotUnix != r.clock.Now().Unix() {
		t.Errorf("spot prices are of %d", after.SpotUnix)
	}
	if gone := offering(after, "m5.large", "us-west-2b", model.Spot); gone.Available || gone.Price != 0 {
		t.Errorf("after, spot without a record is %+v", gone)
	}
	if kept := offering(after, "m5.large", "us-west-2a", model.Spot); !kept.Available || kept.Price == offering(after, "m5.large", "us-west-2a", model.OnDemand).Price {
		t.Errorf("after, spot with a record is %+v", kept)
	}
	// What an answer leaves out keeps its last price.
	r.ec2.SetSpotPrice("m5.large", "us-west-2a", 0)
	r.clock.Advance(10 * time.Minute)
	if last := offering(read(t, r), "m5.large", "us-west-2a", model.Spot); last != offering(after, "m5.large", "us-west-2a", model.Spot) {
		t.Errorf("left out, it is %+v", last)
	}
}

func TestPR03SE02WithoutAPriceListNoneIsAskedAndTheBuiltInTableStandsIn(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"isolated": func(s *Settings) { s.Isolated = true },
		"GovCloud": func(s *Settings) { s.Region = "us-gov-west-1" },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			change(&r.catalog.Types.settings)
			catalog := read(t, r)
			r.clock.Advance(25 * time.Hour)
			read(t, r)
			for _, count := range r.Counts() {
				if count.Service != "ec2" {
					t.Errorf("%d requests of %s went to %s", count.Requests, count.Action, count.Service)
				}
			}
			if r.CountOf("ec2", "DescribeInstanceTypes").Requests == 0 {
				t.Error("nothing was read at all")
			}
			if catalog.PriceUnix != 0 || catalog.SpotUnix == 0 {
				t.Errorf("on-demand prices are of %d, spot prices of %d", catalog.PriceUnix, catalog.SpotUnix)
			}
			m5 := offering(catalog, "m5.large", "us-west-2a", model.OnDemand)
			if want := model.MicroUSD(96_000 * regionPercent(r.catalog.Types.settings.Region) / 100); m5.Price != want || !m5.Available {
				t.Errorf("m5.large is %+v, want %d", m5, want)
			}
		})
	}
}

// The table is right to 2 % for what it lists, in the regions whose prices it has.
func TestPR03EstimatesAreCloseToThePriceList(t *testing.T) {
	for _, listed := range catalog.Types() {
		family, _, _ := strings.Cut(listed.Name, ".")
		if rates()[family] == 0 {
			continue
		}
		m := model.InstanceTypeInfo{Name: listed.Name, VCPUs: int64(listed.VCPUs), MemoryMiB: listed.MemoryMiB}
		got, want := float64(estimate(&m, "us-west-2")), float64(listed.OnDemandMicroUSDPerHour)
		if got < 0.98*want || got > 1.02*want {
			t.Errorf("%s is estimated at %.0f, the list has %.0f", listed.Name, got, want)
		}
	}
}

func TestPR03EstimatesOfFamiliesNobodyListed(t *testing.T) {
	m9 := model.InstanceTypeInfo{Name: "m99.large", VCPUs: 2, MemoryMiB: 8192, Arch: "amd64"}
	arm := m9
	arm.Arch = "arm64"
	gpu := m9
	gpu.GPUCount = 1
	if a, b, c := estimate(&m9, "us-east-1"), estimate(&arm, "us-east-1"), estimate(&gpu, "us-east-1"); a != 98_000 || b != 78_400 || c != 0 {
		t.Errorf("amd64 %d, arm64 %d, with a GPU %d", a, b, c)
	}
	if a := estimate(&m9, "xx-new-1"); a != 98_000*125/100 {
		t.Errorf("in a region nobody knows %d", a)
	}
}

// Estimates are no prices: the first price list replaces all of them.
func TestPR03EstimatesGoWhenThePriceListIsRead(t *testing.T) {
	r := start(t)
	list := &priceList{currency: "USD", families: map[string]map[string]string{shared: {"m5.large": "0.1"}}}
	r.catalog.Types.clients.Pricing = list.client(t)
	before, err := r.catalog.Refresh(t.Context(), model.InstanceCatalog{}, model.CatalogParts{Types: true, Prices: true})
	if fault.CodeOf(err) != "EmptyPriceList" || before.PriceUnix != 0 || !offering(before, "c5.large", "us-west-2a", model.OnDemand).Available {
		t.Fatalf("%v: %+v", err, offering(before, "c5.large", "us-west-2a", model.OnDemand))
	}
	list.mu.Lock()
	list.families[metal] = map[string]string{"m5.metal": "4"}
	list.mu.Unlock()
	after, err := r.catalog.Refresh(t.Context(), before, model.CatalogParts{Prices: true})
	if c5 := offering(after, "c5.large", "us-west-2a", model.OnDemand); err != nil || c5.Available || c5.Price != 0 {
		t.Errorf("%v: what the list does not have is %+v", err, c5)
	}
}

func TestPR04TypeWithoutAPriceIsNotAvailable(t *testing.T) {
	r := start(t)
	list := &priceList{currency: "USD", families: map[string]map[string]string{shared: {"m5.large": "0.1"}, metal: {"m5.metal": "4"}}}
	r.catalog.Types.clients.Pricing = list.client(t)
	catalog := read(t, r)
	preview, listed := 0, 0
	for _, m := range catalog.Types {
		for _, o := range m.Offerings {
			if o.Available != (o.Price > 0) {
				t.Errorf("%s in %s is %+v", m.Name, o.Zone, o)
			}
			if o.CapacityType == model.OnDemand && o.Available {
				listed++
			} else if o.CapacityType == model.OnDemand {
				preview++
			}
		}
	}
	if listed != 6 || preview < 100 {
		t.Errorf("%d offers have a price and %d have none", listed, preview)
	}
}

// Of several records the newest counts, and those without a time or a number do not.
func TestPR02NewestSpotRecordCounts(t *testing.T) {
	at := func(minute int) *time.Time { return aws.Time(time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC)) }
	prices, newest := map[typeZone]model.MicroUSD{}, map[typeZone]time.Time{}
	for _, record := range []ec2types.SpotPrice{
		{Timestamp: at(1), SpotPrice: aws.String("0.04")}, {Timestamp: at(3), SpotPrice: aws.String("0.03")}, {Timestamp: at(2), SpotPrice: aws.String("0.05")},
		{SpotPrice: aws.String("0.01")}, {Timestamp: at(9), SpotPrice: aws.String("cheap")}, {Timestamp: at(9)},
	} {
		record.InstanceType, record.AvailabilityZone = "m5.large", aws.String("us-west-2a")
		noteSpot(&record, prices, newest)
	}
	if got := prices[typeZone{"m5.large", "us-west-2a"}]; got != 30_000 || len(prices) != 1 {
		t.Errorf("%v", prices)
	}
}
