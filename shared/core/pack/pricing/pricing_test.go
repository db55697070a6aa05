package pricing

import (
	"fmt"
	"math"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// ratesOf returns the rates of a pool that sells three kinds of instance in one zone, for pods of two sizes: one asks
// for CPU mostly, the other for memory.
func ratesOf(t *testing.T, cpuPods, memoryPods int) (*Rates, []Request) {
	t.Helper()
	instance := func(name string, cores, gib int64, price model.MicroUSD) model.InstanceType {
		return model.InstanceType{
			Name:      name,
			Capacity:  model.Resources{model.CPU: cores * 1000, model.Memory: gib << 30, model.Pods: 200},
			Labels:    map[string][]string{model.LabelInstanceType: {name}, model.LabelArch: {"amd64"}, model.LabelOS: {"linux"}, model.LabelZone: {"a"}, model.LabelCapacityType: {model.OnDemand}},
			Offerings: []model.Offering{{Zone: "a", ZoneID: "id-a", CapacityType: model.OnDemand, Price: price, Available: true}},
		}
	}
	in := &input.Input{Snapshot: &model.Snapshot{Pools: []model.Pool{{Name: "general", Template: model.Template{ClassName: "default"}}}}}
	in.Catalogs = map[string][]model.InstanceType{"default": {instance("balanced", 16, 64, 1_000_000), instance("dear", 16, 64, 2_000_000), instance("lean", 16, 16, 800_000)}}
	dims := vector.Dimensions{model.CPU, model.Memory, model.Pods}
	pool := offerings.NewPools(in, dims, offerings.NewMarkets(in, dims), nil)[0]
	if pool.Skip != nil {
		t.Fatalf("the pool cannot be used: %+v", pool.Skip)
	}
	variants := pool.Variants([]requirement.Requirements{{}}, nil)
	var requests []Request
	for order, x := range []struct{ count, cpu, gib int64 }{{int64(cpuPods), 2000, 1}, {int64(memoryPods), 500, 7}} {
		podGroup := &group.PodGroup{Order: order, Request: vector.Vector{x.cpu, x.gib << 30, 1}}
		requests = append(requests, Request{podGroup, pool.Options(variants, podGroup.Request, 0), int(x.count)})
	}
	return New(dims, pool, pool.Open, requests), requests
}

// TestWorthIsNearTheDual guards that together all pods are worth what parts of instances for them cost at least, and
// not more: the dual of a linear program is never above it.
func TestWorthIsNearTheDual(t *testing.T) {
	for _, x := range []struct{ cores, memory int }{{1000, 10}, {10, 1000}, {600, 600}} {
		t.Run(fmt.Sprintf("%d of CPU, %d of memory", x.cores, x.memory), func(t *testing.T) {
			p, requests := ratesOf(t, x.cores, x.memory)
			got := 0.0
			for i := range requests {
				got += float64(requests[i].Count) * float64(p.Value(requests[i].PodGroup, requests[i].Options)) / 1e9
			}
			if want := cheapestDivisible(float64(x.cores), float64(x.memory)); got > want*1.001 || got < want*0.98 {
				t.Errorf("everything is worth $%.3f, want $%.3f and no more", got, want)
			}
		})
	}
}

// cheapestDivisible returns the price of parts of lean and balanced instances for the pods, by trying every share of
// either pod on lean ones in steps of a hundredth.
func cheapestDivisible(cores, memory float64) float64 {
	least := math.Inf(1)
	part := func(cores, memory, gib, price float64) float64 {
		return price * max((2*cores+0.5*memory)/16, (cores+7*memory)/gib)
	}
	for i := range 101 {
		for j := range 101 {
			a, b := cores*float64(i)/100, memory*float64(j)/100
			least = min(least, part(a, b, 16, 0.8)+part(cores-a, memory-b, 64, 1))
		}
	}
	return least
}

func TestRatesChargeEveryOfferingItsPrice(t *testing.T) {
	p, _ := ratesOf(t, 300, 200)
	for o, column := range p.columns {
		sum, price := 0.0, float64(p.pool.Market.Columns[column].Price)
		for d, rate := range p.best[o] {
			if rate < 0 {
				t.Errorf("offer %d: a rate of %v", column, rate)
			}
			sum += rate * p.rooms[o][d]
		}
		if math.Abs(sum-price) > price*1e-9 {
			t.Errorf("offer %d: its room is worth %v, its price is %v", column, sum, price)
		}
	}
	if len(p.columns) != 2 {
		t.Errorf("%d offers are compared, want the two that are not dearer than another as large", len(p.columns))
	}
}

func TestMagnitudeTellsSizesApartByTheirRatio(t *testing.T) {
	for fine := range uint(3) {
		last := int64(0)
		for amount := int64(1); amount < 1<<40; amount += max(1, amount>>6) {
			m := magnitude(amount, fine)
			if m < last || m > last+1<<fine {
				t.Fatalf("magnitude(%d, %d) = %d after %d", amount, fine, m, last)
			}
			last = m
		}
		if got, want := magnitude(1<<30, fine)-magnitude(1<<20, fine), int64(10)<<fine; got != want {
			t.Errorf("a factor of 1,024 is %d steps of 1/2^%d of a doubling, want %d", got, fine, want)
		}
	}
	if magnitude(0, 2) != 0 || magnitude(1, 2) == 0 {
		t.Error("something and nothing are told apart")
	}
}
