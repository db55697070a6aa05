package disruption

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// B11: a node is not replaced by two that just hold its pods, for less than another would cost: kube-scheduler need not bind them as
// planned, and whoever is left over has another bought. Where more is saved than that, it is replaced.
func TestB11SavingIsMoreThanPodsLeftOverMayCost(t *testing.T) {
	build := func(price model.MicroUSD) *world {
		w := newWorld().pool("general")
		for i := range w.in.Catalogs["default"] {
			instanceType := &w.in.Catalogs["default"][i]
			for j := range instanceType.Offerings {
				if o := &instanceType.Offerings[j]; instanceType.Name == "m5.2xlarge" {
					o.Price = price
				} else if instanceType.Name != "m5.xlarge" {
					o.Available = false
				}
			}
		}
		w.node("n", "general", sized("m5.2xlarge", model.OnDemand), func(_ *model.Node, c *model.Claim) { c.Price = price })
		asks := func(milli, gib int64) func(*model.PodShape) {
			return func(s *model.PodShape) {
				s.Requests = model.Resources{model.CPU: milli, model.Memory: gib << 30, model.Pods: 1}
			}
		}
		return w.running("a", "n", 1, asks(900, 1)).running("b", "n", 2, asks(1700, 3)).running("c", "n", 1, asks(600, 5))
	}
	for price, replaced := range map[model.MicroUSD]bool{530_000: false, 620_000: true} {
		plan := Plan(build(price).in)
		if got := len(plan.Commands) == 1 && len(plan.Commands[0].Replacements) == 2; got != replaced {
			t.Errorf("of $%.2f per hour: %+v, kept %+v", price.USD(), plan.Commands, plan.Kept)
		}
	}
}

// B11: the same where pods of the node are to go to nodes that exist: kube-scheduler may bind them to the new ones, and whoever was to have
// that room fits nowhere else.
func TestB11PodsForRoomThatExistsMayTakeThatOfOthers(t *testing.T) {
	build := func(price model.MicroUSD) *world {
		w := newWorld().pool("general")
		for i := range w.in.Catalogs["default"] {
			instanceType := &w.in.Catalogs["default"][i]
			for j := range instanceType.Offerings {
				if o := &instanceType.Offerings[j]; instanceType.Name == "m5.4xlarge" {
					o.Price = price
				} else if instanceType.Name != "m5.xlarge" {
					o.Available = false
				}
			}
		}
		asks := func(milli, gib int64) func(*model.PodShape) {
			return func(s *model.PodShape) {
				s.Requests = model.Resources{model.CPU: milli, model.Memory: gib << 30, model.Pods: 1}
			}
		}
		w.node("n", "general", sized("m5.4xlarge", model.OnDemand), func(_ *model.Node, c *model.Claim) { c.Price = price })
		w.node("m", "general").running("db", "m", 1, asks(3200, 1)).pdb("db", "db", 0)
		return w.running("a", "n", 2, asks(300, 1)).running("b", "n", 4, asks(1850, 1))
	}
	for price, replaced := range map[model.MicroUSD]bool{580_000: false, 620_000: true} {
		plan := Plan(build(price).in)
		if got := len(plan.Commands) == 1 && len(plan.Commands[0].Replacements) == 2; got != replaced {
			t.Errorf("of $%.2f per hour: %+v, kept %+v", price.USD(), plan.Commands, plan.Kept)
		}
	}
}
