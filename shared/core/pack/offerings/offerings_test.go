package offerings

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

var testDims = vector.Dimensions{model.CPU, model.Memory, model.Pods}

// drawPool draws a pool that allows all of what its class can buy.
func drawPool(t *rapid.T) *Pool {
	in := &input.Input{Snapshot: &model.Snapshot{Pools: []model.Pool{{Name: "general", Template: model.Template{ClassName: "default"}}}}, Catalogs: map[string][]model.InstanceType{}}
	for i := range rapid.IntRange(1, 8).Draw(t, "types") {
		name, cores := fmt.Sprintf("t%d.large", i), rapid.Int64Range(1, 16).Draw(t, "cores")
		typ := model.InstanceType{Name: name, Capacity: model.Resources{model.CPU: cores * 1000, model.Memory: cores << 32, model.Pods: 20},
			Labels: map[string][]string{model.LabelInstanceType: {name}, model.LabelArch: {rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "arch")}, model.LabelOS: {"linux"}}}
		for _, zone := range []string{"a", "b"} {
			for _, kind := range []string{model.OnDemand, model.Spot} {
				typ.Offerings = append(typ.Offerings, model.Offering{Zone: zone, ZoneID: "id-" + zone, CapacityType: kind,
					Price: model.MicroUSD(rapid.Int64Range(1, 5).Draw(t, "price")), Available: rapid.Bool().Draw(t, "available")})
			}
		}
		in.Catalogs["default"] = append(in.Catalogs["default"], typ)
	}
	return NewPools(in, testDims, NewMarkets(in, testDims), nil)[0]
}

// A catalog of others may have types whose kubelet would not start; see KubeletStarts.
func TestTypesWhoseKubeletWouldNotStartAreNotOpen(t *testing.T) {
	typ := model.InstanceType{Name: "t.nano", Capacity: model.Resources{model.CPU: 2000, model.Memory: 512 << 20},
		Overhead:  model.Resources{model.Memory: 512 << 20},
		Offerings: []model.Offering{{Zone: "a", CapacityType: model.OnDemand, Price: 1, Available: true}}}
	for beyond, open := range map[int64]bool{0: true, 1: false} {
		typ.Overhead[model.Memory] = 512<<20 + beyond
		pools := []model.Pool{{Name: "general", Template: model.Template{ClassName: "default"}}}
		in := &input.Input{Snapshot: &model.Snapshot{Pools: pools},
			Catalogs: map[string][]model.InstanceType{"default": {typ}}}
		pool := NewPools(in, testDims, NewMarkets(in, testDims), nil)[0]
		if pool.Open.Has(0) != open {
			t.Errorf("open with %d bytes reserved more than there are: %v", beyond, pool.Open.Has(0))
		}
	}
}

// TestColumnsAreSearchedAsIfOneAfterTheOther compares sets of columns, and the cheapest of them, with looking at each
// offering.
func TestColumnsAreSearchedAsIfOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := drawPool(t)
		zone, arch := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone"), rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "arch")
		request := vector.Vector{rapid.Int64Range(1, 16_000).Draw(t, "request"), 1, 1}
		meeting := pool.Market.ColumnsMeeting(requirement.Requirements{model.LabelZone: requirement.Values(zone), model.LabelArch: requirement.Values(arch)})
		cheapest, price := -1, int64(0)
		for c, column := range pool.Market.Columns {
			typ := pool.Market.Types[column.Instance]
			if want := column.Offering.Zone == zone && typ.Labels[model.LabelArch][0] == arch; meeting.Has(c) != want {
				t.Fatalf("%s in %s meets zone %s and %s: %v", typ.Name, column.Offering.Zone, zone, arch, !want)
			}
			if column.Price < price {
				t.Fatalf("column %d costs %d, after one of %d", c, column.Price, price)
			}
			price = column.Price
			if cheapest < 0 && meeting.Has(c) && column.Offering.Available && request[0] <= typ.Capacity[model.CPU] {
				cheapest = c
			}
		}
		if got, found := pool.Cheapest(meeting, pool.Open, request, nil); found != (cheapest >= 0) || found && got != cheapest {
			t.Fatalf("the cheapest is column %d, found %v, want %d", got, found, cheapest)
		}
	})
}

// TestOptionSetsHoldNothingThatIsNotAccepted grows an option set around one column: a claim says types, zones and
// capacity types, and every combination of what it says must be accepted.
func TestOptionSetsHoldNothingThatIsNotAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawPool(t).Market
		accepted, order := vector.NewBitset(len(m.Columns)), []int{}
		for c := range m.Columns {
			if rapid.Bool().Draw(t, "accepted") {
				accepted.Set(c)
				order = append(order, c)
			}
		}
		if len(order) == 0 {
			return
		}
		set := m.NewOptionSet()
		set.Add(&m.Columns[order[0]])
		m.Grow(&set, order, accepted, "")
		inside, ok := m.Inside(set, accepted, "")
		if !ok || !inside.Has(order[0]) {
			t.Fatalf("of %v accepted, a set of %v around column %d", accepted, inside, order[0])
		}
		for c := range m.Columns {
			if inside.Has(c) && !accepted.Has(c) {
				t.Fatalf("column %d is in the set and not accepted", c)
			}
		}
	})
}
