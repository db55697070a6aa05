package conform

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
)

// MarketUnderTest is a market of the sandbox catalog whose world can be moved.
type MarketUnderTest struct {
	catalog.CatalogSource
	Now     func() time.Time
	Advance func(time.Duration)
	Fail    func(parts model.CatalogParts) // those, and only those, fail from now on
	SetSpot func(instanceType, zone string, price model.MicroUSD)
}

// Market is the contract of a market. start returns a new one for each case.
func Market(t *testing.T, start func(t *testing.T) MarketUnderTest) {
	for name, rule := range map[string]func(stall){
		"all parts are read, each with its time":                       marketReads,
		"a part that is not asked for stays as it was, with its time":  marketKeepsTheRest,
		"a part that cannot be read stays, and the others do not wait": marketKeepsWhatFails,
		"until spot prices were read they are the on-demand ones":      marketStandsIn,
		"what is known is left alone":                                  marketLeavesAlone,
		"what was learned is carried over and is part of the version":  marketCarriesLearned,
		"nothing read at all is an error without types":                marketHasNothing,
	} {
		t.Run(name, func(t *testing.T) { rule(stall{start(t), t}) })
	}
}

type stall struct {
	MarketUnderTest
	t *testing.T
}

var everyPart = model.CatalogParts{Types: true, Prices: true, Spot: true}

func (s stall) refresh(known model.InstanceCatalog, parts model.CatalogParts) model.InstanceCatalog {
	s.t.Helper()
	next, err := s.Refresh(s.t.Context(), known, parts)
	if err != nil {
		s.t.Fatal(err)
	}
	return next
}

func (s stall) offering(c model.InstanceCatalog, capacityType string) model.Offering {
	s.t.Helper()
	for _, m := range c.Types {
		for _, o := range m.Offerings {
			if m.Name == "m5.large" && o.Zone == "us-west-2a" && o.CapacityType == capacityType {
				return o
			}
		}
	}
	s.t.Fatalf("m5.large is not sold %s in us-west-2a", capacityType)
	return model.Offering{}
}

func marketReads(s stall) {
	c := s.refresh(model.InstanceCatalog{}, everyPart)
	now := s.Now().Unix()
	if c.ReadUnix != now || c.PriceUnix != now || c.SpotUnix != now || c.Version == "" || len(c.Types) < 60 {
		s.t.Errorf("read %d, prices %d, spot %d, version %q, %d types at %d", c.ReadUnix, c.PriceUnix, c.SpotUnix, c.Version, len(c.Types), now)
	}
	if !slices.IsSortedFunc(c.Types, func(a, b model.InstanceTypeInfo) int { return strings.Compare(a.Name, b.Name) }) {
		s.t.Error("types are not sorted by name")
	}
	if o := s.offering(c, model.OnDemand); o.Price != 96_000 || !o.Available || o.ZoneID != "usw2-az1" {
		s.t.Errorf("%+v", o)
	}
	if o := s.offering(c, model.Spot); o.Price == 0 || o.Price >= 96_000 || !o.Available {
		s.t.Errorf("%+v", o)
	}
}

func marketKeepsTheRest(s stall) {
	first := s.refresh(model.InstanceCatalog{}, everyPart)
	s.Advance(time.Hour)
	s.SetSpot("m5.large", "us-west-2a", 12_300)
	spot := s.refresh(first, model.CatalogParts{Spot: true})
	if spot.ReadUnix != first.ReadUnix || spot.PriceUnix != first.PriceUnix || spot.SpotUnix != s.Now().Unix() {
		s.t.Errorf("read %d, prices %d, spot %d", spot.ReadUnix, spot.PriceUnix, spot.SpotUnix)
	}
	if o := s.offering(spot, model.Spot); o.Price != 12_300 || s.offering(spot, model.OnDemand) != s.offering(first, model.OnDemand) {
		s.t.Errorf("%+v", o)
	}
	s.SetSpot("m5.large", "us-west-2a", 45_600)
	types := s.refresh(spot, model.CatalogParts{Types: true, Prices: true})
	if types.ReadUnix != s.Now().Unix() || types.PriceUnix != s.Now().Unix() || s.offering(types, model.Spot).Price != 12_300 {
		s.t.Errorf("read %d, prices %d, spot %+v", types.ReadUnix, types.PriceUnix, s.offering(types, model.Spot))
	}
}

func marketKeepsWhatFails(s stall) {
	first := s.refresh(model.InstanceCatalog{}, everyPart)
	for _, failing := range []model.CatalogParts{{Types: true}, {Prices: true}, {Spot: true}} {
		s.Advance(time.Hour)
		s.Fail(failing)
		next, err := s.Refresh(s.t.Context(), first, everyPart)
		if err == nil || len(next.Types) != len(first.Types) {
			s.t.Errorf("%+v failing: %v, %d types", failing, err, len(next.Types))
		}
		for _, part := range []struct {
			failed      bool
			first, next int64
		}{{failing.Types, first.ReadUnix, next.ReadUnix}, {failing.Prices, first.PriceUnix, next.PriceUnix}, {failing.Spot, first.SpotUnix, next.SpotUnix}} {
			if want := map[bool]int64{true: part.first, false: s.Now().Unix()}[part.failed]; part.next != want {
				s.t.Errorf("%+v failing: the time of a part is %d, want %d", failing, part.next, want)
			}
		}
		if s.offering(next, model.OnDemand) != s.offering(first, model.OnDemand) || s.offering(next, model.Spot) != s.offering(first, model.Spot) {
			s.t.Errorf("%+v failing: %+v", failing, s.offering(next, model.Spot))
		}
	}
}

func marketStandsIn(s stall) {
	c := s.refresh(model.InstanceCatalog{}, model.CatalogParts{Types: true, Prices: true})
	if spot, onDemand := s.offering(c, model.Spot), s.offering(c, model.OnDemand); spot.Price != onDemand.Price || !spot.Available || c.SpotUnix != 0 {
		s.t.Errorf("spot %+v, on demand %+v", spot, onDemand)
	}
	unpriced := s.refresh(model.InstanceCatalog{}, model.CatalogParts{Types: true})
	if o := s.offering(unpriced, model.OnDemand); unpriced.PriceUnix != 0 || o.Price == 0 || !o.Available {
		s.t.Errorf("without a price list %+v", o)
	}
	if o := s.offering(s.refresh(unpriced, everyPart), model.OnDemand); o.Price != 96_000 {
		s.t.Errorf("once it is read %+v", o)
	}
}

func marketLeavesAlone(s stall) {
	first := s.refresh(model.InstanceCatalog{}, everyPart)
	before, err := json.Marshal(first)
	if err != nil {
		s.t.Fatal(err)
	}
	s.SetSpot("m5.large", "us-west-2a", 12_300)
	s.refresh(first, everyPart)
	if after, _ := json.Marshal(first); string(after) != string(before) {
		s.t.Error("what was handed in was written to")
	}
}

func marketCarriesLearned(s stall) {
	first := s.refresh(model.InstanceCatalog{}, everyPart)
	if again := s.refresh(first, model.CatalogParts{}); again.Version != first.Version || again.ReadUnix != first.ReadUnix {
		s.t.Errorf("nothing asked for: version %q became %q", first.Version, again.Version)
	}
	taught := first
	taught.Types = slices.Clone(first.Types)
	for i := range taught.Types {
		if taught.Types[i].Name == "m5.large" {
			taught.Types[i].LearnedMiB = []model.Learned{{Images: "a", MiB: 7700, SeenUnix: 5}}
		}
	}
	for _, parts := range []model.CatalogParts{{}, everyPart} {
		next := s.refresh(taught, parts)
		if next.Version == first.Version {
			s.t.Errorf("%+v: the version does not say that something was learned", parts)
		}
		for _, m := range next.Types {
			if m.Name == "m5.large" && (len(m.LearnedMiB) != 1 || m.LearnedMiB[0].MiB != 7700) {
				s.t.Errorf("%+v: learned %+v", parts, m.LearnedMiB)
			}
		}
	}
}

func marketHasNothing(s stall) {
	s.Fail(everyPart)
	if c, err := s.Refresh(s.t.Context(), model.InstanceCatalog{}, everyPart); err == nil || len(c.Types) != 0 {
		s.t.Errorf("%d types, %v", len(c.Types), err)
	}
	s.Fail(model.CatalogParts{})
	s.refresh(model.InstanceCatalog{}, everyPart)
}
