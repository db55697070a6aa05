package offering

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// usual are the types a class is tried with where its pools say nothing that helps.
var usual = []string{"m5.large", "m6g.large"}

// Trial picks the instance type that a class is tried on EC2 with: one that its pools may launch and that one of its
// images boots, else a usual one, else any; without accelerators where there is one, since their images want larger disks;
// then the cheapest. pools are those that name the class. False where no image boots any type in a zone of the class.
func Trial(class model.Class, types []model.InstanceType, pools []model.Pool) (model.InstanceType, bool) {
	var bootable []*model.InstanceType
	for i := range types {
		_, boots := ImageFor(class, types[i])
		if _, sold := Cheapest(types[i], onDemandHere(class)); boots && sold {
			bootable = append(bootable, &types[i])
		}
	}
	for _, wanted := range []func(*model.InstanceType) bool{
		func(t *model.InstanceType) bool {
			return slices.ContainsFunc(pools, func(p model.Pool) bool { return typeMeets(t, p.Template.Requirements) })
		},
		func(t *model.InstanceType) bool { return slices.Contains(usual, t.Name) },
		func(*model.InstanceType) bool { return true },
	} {
		if t := cheapestOf(class, bootable, wanted); t != nil {
			return *t, true
		}
	}
	return model.InstanceType{}, false
}

// onDemandHere allows on-demand offerings in zones where the class has a subnet.
func onDemandHere(class model.Class) func(model.Offering) bool {
	return func(o model.Offering) bool {
		return o.CapacityType == model.OnDemand &&
			slices.ContainsFunc(class.Status.Subnets, func(s model.Subnet) bool { return s.Zone == o.Zone })
	}
}

func cheapestOf(class model.Class, types []*model.InstanceType, wanted func(*model.InstanceType) bool) *model.InstanceType {
	var best *model.InstanceType
	price := func(t *model.InstanceType) model.MicroUSD {
		offering, _ := Cheapest(*t, onDemandHere(class))
		return offering.Price
	}
	for _, t := range types {
		if !wanted(t) {
			continue
		}
		if best == nil || cmp.Or(boolCompare(Exotic(t), Exotic(best)), cmp.Compare(price(t), price(best)), cmp.Compare(t.Name, best.Name)) < 0 {
			best = t
		}
	}
	return best
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
