package pack

import (
	"fmt"
	"math"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/model"
)

// pricingWorld is a pool that sells three kinds of instance in one zone, and waiting pods of two sizes: one asks for CPU
// mostly, the other for memory.
func pricingWorld(cpuPods, memoryPods int) *world {
	w := newWorld(0).pool("general", nil)
	instance := func(name string, cores, gib int64, price model.MicroUSD) model.InstanceType {
		return model.InstanceType{
			Name:      name,
			Capacity:  model.Resources{model.CPU: cores * 1000, model.Memory: gib << 30, model.Pods: 200},
			Labels:    map[string][]string{model.LabelInstanceType: {name}, model.LabelArch: {"amd64"}, model.LabelOS: {"linux"}, model.LabelZone: {"a"}, model.LabelCapacityType: {model.OnDemand}},
			Offerings: []model.Offering{{Zone: "a", ZoneID: "id-a", CapacityType: model.OnDemand, Price: price, Available: true}},
		}
	}
	w.in.Catalogs["default"] = []model.InstanceType{instance("balanced", 16, 64, 1_000_000), instance("dear", 16, 64, 2_000_000), instance("lean", 16, 16, 800_000)}
	sized := func(cpuMilli, gib int64) func(*model.PodShape) {
		return func(s *model.PodShape) {
			s.Requests = model.Resources{model.CPU: cpuMilli, model.Memory: gib << 30, model.Pods: 1}
		}
	}
	return w.pods("cores", cpuPods, sized(2000, 1)).pods("memory", memoryPods, sized(500, 7))
}

// pricingOf returns the rates of everything that waits in the world, and its two classes: of CPU, of memory.
func pricingOf(t *testing.T, w *world) (*pricing, []podRequest) {
	t.Helper()
	b := newSolver(question{in: &w.in}, group.NoPreferences)
	var requests []podRequest
	for _, c := range group.InOrder(b.podGroups) {
		_, options := b.planner.anywhere(c)
		requests = append(requests, podRequest{c, options, c.Units()})
	}
	if len(requests) == 2 && requests[0].podGroup.Resources[model.CPU] < requests[1].podGroup.Resources[model.CPU] {
		requests[0], requests[1] = requests[1], requests[0]
	}
	pool := b.planner.pools()[0]
	return newPricing(b.dims, pool, pool.Open, requests), requests
}

// TestWorthIsNearTheDual guards that together all pods are worth what parts of instances for them cost at least, and not
// more: the dual of a linear program is never above it.
func TestWorthIsNearTheDual(t *testing.T) {
	for _, x := range []struct{ cores, memory int }{{1000, 10}, {10, 1000}, {600, 600}} {
		t.Run(fmt.Sprintf("%d of CPU, %d of memory", x.cores, x.memory), func(t *testing.T) {
			p, requests := pricingOf(t, pricingWorld(x.cores, x.memory))
			got := 0.0
			for i := range requests {
				got += float64(requests[i].count) * float64(p.value(requests[i].podGroup, requests[i].options)) / 1e9
			}
			if want := cheapestDivisible(float64(x.cores), float64(x.memory)); got > want*1.001 || got < want*0.98 {
				t.Errorf("everything is worth $%.3f, want $%.3f and no more", got, want)
			}
		})
	}
}

// cheapestDivisible returns the price of parts of lean and balanced instances for the pods, by trying every share of either
// pod on lean ones in steps of a hundredth.
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
	p, _ := pricingOf(t, pricingWorld(300, 200))
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

// TestPodsThatKeepApartTakeSmallNodes guards the order nodes are opened in: were large ones filled first, pods that want a
// node each would find nothing left to share theirs with.
func TestPodsThatKeepApartTakeSmallNodes(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	w.pods("alone", 100, asPod(appPod("alone"), apartFrom(model.LabelHostname, "alone"))).pods("plain", 300, appPod("plain"))
	together := w.complete(t).Price
	plain := newWorld(64).pool("general", nil).pods("plain", 300, appPod("plain")).complete(t).Price
	alone := newWorld(64).pool("general", nil).pods("alone", 100, asPod(appPod("alone"), apartFrom(model.LabelHostname, "alone"))).complete(t).Price
	if float64(together) > 0.75*float64(plain+alone) {
		t.Errorf("together %d, apart %d and %d: want the plain pods beside those that keep apart", together, plain, alone)
	}
}
