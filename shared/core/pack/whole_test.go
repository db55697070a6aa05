package pack

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// Five pods of 1 CPU: the instance of 4 CPUs holds three for the best price, and one of 8 holds them all for less than
// two of 4.
func TestOneNodeForAllIsTakenWhereItIsCheaper(t *testing.T) {
	w := newWorld(0)
	for _, size := range []struct {
		name  string
		cores int64
		price model.MicroUSD
	}{{"small.large", 2, 207_374}, {"small.xlarge", 4, 507_374}, {"small.2xlarge", 8, 907_374}} {
		m := model.InstanceTypeInfo{Name: size.name, Arch: "amd64", VCPUs: size.cores, MemoryMiB: size.cores * 4096, Hypervisor: "nitro", CPUManufacturer: "intel",
			Interfaces: 4, IPv4PerInterface: 10, UsageClasses: []string{model.OnDemand}, Offerings: []model.Offering{{Zone: "a", CapacityType: model.OnDemand, Price: size.price, Available: true}}}
		w.in.Catalogs["default"] = append(w.in.Catalogs["default"], offering.Catalog([]model.InstanceTypeInfo{m}, testClass(), offering.Settings{Region: "here"})...)
	}
	plan := w.pool("general", nil).pods("web", 5, cpu(1000)).plan()
	if len(plan.Claims) != 1 || plan.Claims[0].Offering.InstanceType != "small.2xlarge" {
		t.Errorf("%+v", plan.Claims)
	}
	plan = w.pods("api", 4, cpu(500)).plan()
	if len(plan.Claims) != 1 || plan.Claims[0].Offering.InstanceType != "small.2xlarge" {
		t.Errorf("with others: %+v", plan.Claims)
	}
}

// No plan costs more than one node that holds all of its pods does, however prices lie.
func TestNoPlanCostsMoreThanOneNodeForAll(t *testing.T) {
	for seed := range int64(12) {
		w := newWorld(0)
		list := instances(48)
		for i := range list {
			for o := range list[i].Offerings { // within a third of what its size says
				list[i].Offerings[o].Price = list[i].Offerings[o].Price * model.MicroUSD(67+(int64(i)*7919+int64(o)*104_729+seed*1299_709)%66) / 100
			}
		}
		w.in.Catalogs["default"] = offering.Catalog(list, testClass(), offering.Settings{Region: "here"})
		w.pool("general", func(p *model.Pool) {
			p.Template.Requirements = []model.Requirement{{Key: model.LabelCapacityType, Operator: model.In, Values: []string{model.OnDemand}}}
		})
		for k := range 1 + int(seed%4) {
			w.pods(fmt.Sprintf("web%d", k), 1+int(seed+int64(k)*5)%9, cpu(500*(1+(seed+int64(k))%4)))
		}
		load := model.Resources{}
		for _, pod := range w.in.Snapshot.Pods {
			for name, amount := range w.in.Snapshot.Shapes[pod.Shape].Requests {
				load[name] += amount
			}
		}
		one := model.MicroUSD(-1)
		for _, kind := range w.in.Catalogs["default"] {
			room := kind.Allocatable()
			if room[model.CPU] < load[model.CPU] || room[model.Memory] < load[model.Memory] || room[model.Pods] < load[model.Pods] || kind.Capacity["nvidia.com/gpu"] > 0 {
				continue
			}
			for _, o := range kind.Offerings {
				if o.CapacityType == model.OnDemand && (one < 0 || o.Price < one) {
					one = o.Price
				}
			}
		}
		plan, sum := w.plan(), model.MicroUSD(0)
		for _, c := range plan.Claims {
			sum += c.Price
		}
		if one < 0 || len(plan.Unschedulable) > 0 || sum > one {
			t.Errorf("seed %d: %d pods on %d nodes for %d, and one node for all costs %d", seed, len(w.in.Snapshot.Pods), len(plan.Claims), sum, one)
		}
	}
}
