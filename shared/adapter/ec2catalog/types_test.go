package ec2catalog

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

func read(t *testing.T, r *region) model.InstanceCatalog {
	t.Helper()
	catalog, err := r.catalog.InstanceTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// offering returns an offering of an instance type; the zero value where there is none.
func offering(catalog model.InstanceCatalog, name, zone, capacityType string) model.Offering {
	for _, m := range catalog.Types {
		for _, o := range m.Offerings {
			if m.Name == name && o.Zone == zone && o.CapacityType == capacityType {
				return o
			}
		}
	}
	return model.Offering{}
}

// Everything that crosses the wire arrives: the same types, offerings and prices as the sandbox catalog has as data.
func TestTypesAreThoseOfTheRegion(t *testing.T) {
	r := start(t)
	got := read(t, r)
	want, err := world.New(world.Options{}).Catalog.InstanceTypes(t.Context())
	want.Types = slices.Clone(want.Types)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Types) != len(want.Types) || len(got.Types) < 60 {
		t.Fatalf("%d types, want %d", len(got.Types), len(want.Types))
	}
	for i := range want.Types {
		want.Types[i].BranchInterfaces = got.Types[i].BranchInterfaces // EC2 says nothing of them
		if !reflect.DeepEqual(got.Types[i], want.Types[i]) {
			t.Errorf("got  %+v\nwant %+v", got.Types[i], want.Types[i])
		}
	}
	if got.ReadUnix != r.clock.Now().Unix() || got.Version == "" {
		t.Errorf("read at %d, version %q", got.ReadUnix, got.Version)
	}
}

func TestTypesAreKeptUntilTheyAreOld(t *testing.T) {
	r := start(t)
	first := read(t, r)
	calls := func() int64 { return r.CountOf("ec2", "DescribeInstanceTypes").Requests }
	before := calls()
	r.ec2.SetSpotPrice("m5.large", "us-west-2a", 77_700)
	r.clock.Advance(9 * time.Minute)
	if again := read(t, r); calls() != before || again.Version != first.Version {
		t.Errorf("read again after nine minutes: %d more calls", calls()-before)
	}
	r.clock.Advance(time.Minute)
	second := read(t, r)
	if price := offering(second, "m5.large", "us-west-2a", model.Spot).Price; price != 77_700 || second.Version == first.Version {
		t.Errorf("after ten minutes the spot price is %d, version %s", price, second.Version)
	}
	if calls() != before || second.ReadUnix != first.ReadUnix {
		t.Error("spot prices alone were due")
	}
	r.clock.Advance(12 * time.Hour)
	if third := read(t, r); calls() == before || third.ReadUnix == first.ReadUnix {
		t.Error("after twelve hours the types were not read again")
	}
}

func TestTypesReadBeforeStayWhereARefreshFails(t *testing.T) {
	for _, c := range []struct{ service, action string }{
		{"ec2", "DescribeInstanceTypes"}, {"ec2", "DescribeInstanceTypeOfferings"}, {"ec2", "DescribeAvailabilityZones"}, {"ec2", ""}, {"", ""},
	} {
		t.Run(c.service+" "+c.action, func(t *testing.T) {
			r := start(t)
			first := read(t, r)
			mend := r.fail(c.service, c.action, "InternalError")
			r.clock.Advance(13 * time.Hour)
			stale := read(t, r)
			if stale.ReadUnix != first.ReadUnix || len(stale.Types) != len(first.Types) {
				t.Errorf("read at %d, %d types", stale.ReadUnix, len(stale.Types))
			}
			before := r.CountOf("ec2", "DescribeInstanceTypes").Requests
			r.clock.Advance(30 * time.Second)
			if read(t, r); r.CountOf("ec2", "DescribeInstanceTypes").Requests != before {
				t.Error("asked again within a minute of the failure")
			}
			mend()
			r.clock.Advance(time.Minute)
			if fresh := read(t, r); fresh.ReadUnix != r.clock.Now().Unix() {
				t.Errorf("after it was mended the types are of %d", fresh.ReadUnix)
			}
		})
	}
}

func TestPricesOfBeforeStayWhereThePriceListFails(t *testing.T) {
	r := start(t)
	first := read(t, r)
	r.fail("pricing", "", "InternalErrorException")
	r.clock.Advance(13 * time.Hour)
	now := read(t, r)
	want := offering(first, "m5.large", "us-west-2a", model.OnDemand)
	if got := offering(now, "m5.large", "us-west-2a", model.OnDemand); got != want || got.Price == 0 || now.ReadUnix == first.ReadUnix {
		t.Errorf("got %+v, want %+v with fresh types", got, want)
	}
}

func TestNothingReadYetIsAnError(t *testing.T) {
	r := start(t)
	mend := r.fail("ec2", "DescribeInstanceTypes", "RequestLimitExceeded")
	for range 2 { // the second time within the pause
		if _, err := r.catalog.InstanceTypes(t.Context()); err == nil {
			t.Fatal("an empty catalogue is no answer")
		}
	}
	mend()
	r.clock.Advance(time.Minute)
	read(t, r)
}

func TestErrorsOfEC2KeepTheirKind(t *testing.T) {
	r := start(t)
	r.fail("ec2", "DescribeInstanceTypes", "UnauthorizedOperation")
	if _, err := r.catalog.InstanceTypes(t.Context()); !fault.Is(err, fault.Denied) || fault.CodeOf(err) != "UnauthorizedOperation" {
		t.Errorf("got %v, want Denied", err)
	}
}

// A region whose spot prices cannot be read can launch spot, at no better price than on-demand.
func TestSpotCostsAsMuchAsOnDemandUntilItsPricesWereRead(t *testing.T) {
	r := start(t)
	mend := r.fail("ec2", "DescribeSpotPriceHistory", "InternalError")
	instances := read(t, r)
	onDemand := offering(instances, "m5.large", "us-west-2a", model.OnDemand)
	if spot := offering(instances, "m5.large", "us-west-2a", model.Spot); spot.Price != onDemand.Price || !spot.Available || spot.Price == 0 {
		t.Errorf("spot %+v, on-demand %+v", spot, onDemand)
	}
	mend()
	r.clock.Advance(time.Minute)
	listed, _ := catalog.Lookup("m5.large")
	if spot := offering(read(t, r), "m5.large", "us-west-2a", model.Spot); int64(spot.Price) != listed.SpotMicroUSDPerHour("us-west-2a") {
		t.Errorf("once read, spot is %+v, want %d", spot, listed.SpotMicroUSDPerHour("us-west-2a"))
	}
}

func TestPricesAreReadAsMicroDollars(t *testing.T) {
	for text, want := range map[string]model.MicroUSD{
		"0.0960000000": 96_000, "0.0031": 3_100, "109.2": 109_200_000, "0": 0, "0.0000000000": 0, "": 0, "free": 0, "-1": 0, "NaN": 0, "Inf": 0,
	} {
		if got := micro(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	if math.MaxInt64 == micro("1e300") {
		t.Error("a price beyond reason was taken")
	}
}

func TestPriceListRegionServesItsContinent(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2": "us-east-1", "sa-east-1": "us-east-1", "eu-north-1": "eu-central-1", "ap-south-2": "ap-south-1", "cn-north-1": "cn-northwest-1",
	} {
		if got := PricingRegion(region); got != want {
			t.Errorf("%s is served by %s, want %s", region, got, want)
		}
	}
}
