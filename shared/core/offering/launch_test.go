package offering

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// launchWorld returns a class that boots everything and types of it.
func launchWorld(instanceTypes ...model.InstanceTypeInfo) (model.Class, []model.InstanceType) {
	c := class(func(c *model.Class) { c.Status.Images = []model.Image{{ID: "any"}} })
	return c, Catalog(instanceTypes, c, Settings{})
}

func instance(name string, price model.MicroUSD, change func(*model.InstanceTypeInfo)) model.InstanceTypeInfo {
	m := large()
	m.Name, m.Offerings = name, soldIn(price, "a", "b")
	if change != nil {
		change(&m)
	}
	return m
}

func in(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}

func TestLA01LaunchChoicePrefersReservedThenSpotThenOnDemand(t *testing.T) {
	reservedToo := instance("m5.large", 100, func(m *model.InstanceTypeInfo) {
		more := reservedOf(5)
		more.ReservationID = "cr-2"
		m.Offerings = append(m.Offerings, reservedOf(2), more)
	})
	tests := []struct {
		name    string
		info    model.InstanceTypeInfo
		allowed []model.Requirement
		want    string
		pools   int
	}{
		{"all allowed", reservedToo, nil, model.Reserved, 1}, // two reservations of one type and zone are one pool
		{"not reserved", reservedToo, []model.Requirement{in(model.LabelCapacityType, "spot", "on-demand")}, model.Spot, 2},
		{"on-demand only", reservedToo, []model.Requirement{in(model.LabelCapacityType, "on-demand")}, model.OnDemand, 2},
		{"spot gone", instance("m5.large", 100, func(m *model.InstanceTypeInfo) { m.UsageClasses = []string{"on-demand"} }), nil, model.OnDemand, 2},
		{"one zone", reservedToo, []model.Requirement{in(model.LabelCapacityType, "spot"), in(model.LabelZone, "b")}, model.Spot, 1},
		{"one reservation", reservedToo, []model.Requirement{in("karpenter.k8s.aws/capacity-reservation-id", "cr-1")}, model.Reserved, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, types := launchWorld(test.info)
			got, err := LaunchChoice(LaunchInput{Class: c, Types: types, InstanceTypes: []string{"m5.large"}, Requirements: test.allowed, NowUnix: now})
			if err != nil || got.CapacityType != test.want || len(got.Overrides) != test.pools {
				t.Errorf("choice = %+v, %v, want %s in %d pools", got, err, test.want, test.pools)
			}
		})
	}
}

func TestLA03LaunchChoiceLeavesOutWhatNobodyAskedFor(t *testing.T) {
	plain := instance("m5.large", 100, nil)
	metal := instance("m5.metal", 10, nil)
	gpu := instance("g5.large", 10, func(m *model.InstanceTypeInfo) { m.GPUCount, m.GPUManufacturer = 1, "nvidia" })
	flexibleFamily := model.Requirement{Key: "karpenter.k8s.aws/instance-family", Operator: model.Exists, MinValues: 2}
	tests := []struct {
		name          string
		instanceTypes []model.InstanceTypeInfo
		requirements  []model.Requirement
		want          []string
	}{
		{"metal and gpu beside plain", []model.InstanceTypeInfo{plain, metal, gpu}, nil, []string{"m5.large"}},
		{"nothing else", []model.InstanceTypeInfo{metal, gpu}, nil, []string{"g5.large", "m5.metal"}},
		{"minValues keep them", []model.InstanceTypeInfo{plain, metal, gpu}, []model.Requirement{flexibleFamily}, []string{"g5.large", "m5.large", "m5.metal"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, types := launchWorld(test.instanceTypes...)
			got, err := LaunchChoice(LaunchInput{Class: c, Types: types, Requirements: test.requirements, NowUnix: now})
			if names := typeNames(got); err != nil || !slices.Equal(names, test.want) || got.Types != len(test.want) {
				t.Errorf("types = %v (%d), %v, want %v", names, got.Types, err, test.want)
			}
		})
	}
}

func typeNames(choice Choice) []string {
	var names []string
	for _, o := range choice.Overrides {
		names = append(names, o.InstanceType)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestLA04LaunchChoiceRefusesSpotThatCostsMoreThanOnDemand(t *testing.T) {
	cheap := instance("m5.large", 100, nil)
	expensive := instance("m5.xlarge", 400, nil) // spot at 200
	c, types := launchWorld(cheap, expensive)
	got, err := LaunchChoice(LaunchInput{Class: c, Types: types, NowUnix: now})
	if err != nil || !slices.Equal(typeNames(got), []string{"m5.large"}) {
		t.Errorf("choice = %+v, %v, want m5.large alone", got, err)
	}
	got, err = LaunchChoice(LaunchInput{Class: c, Types: types, Requirements: []model.Requirement{in(model.LabelCapacityType, "spot")}, NowUnix: now})
	if err != nil || len(typeNames(got)) != 2 {
		t.Errorf("choice = %+v, %v, want both types where on-demand is not allowed", got, err)
	}
	onlyExpensiveSpot := instance("m5.large", 100, func(m *model.InstanceTypeInfo) {
		for i := range m.Offerings {
			m.Offerings[i].Price = map[string]model.MicroUSD{model.Spot: 150, model.OnDemand: 100}[m.Offerings[i].CapacityType]
		}
	})
	c, types = launchWorld(onlyExpensiveSpot)
	if got, err = LaunchChoice(LaunchInput{Class: c, Types: types, NowUnix: now}); err != nil || got.CapacityType != model.OnDemand {
		t.Errorf("choice = %+v, %v, want on-demand", got, err)
	}
}

func TestLA07IC02LaunchChoiceTakesTheEmptiestSubnet(t *testing.T) {
	c, types := launchWorld(instance("m5.large", 100, nil))
	tests := []struct {
		name                 string
		unavailableOfferings []model.UnavailableOffering
		want                 []string // subnets of zones a and b
	}{
		{"most free addresses", nil, []string{"subnet-a2", "subnet-b"}},
		{"unless it is marked", []model.UnavailableOffering{{SubnetID: "subnet-a2", UntilUnix: now + 1}}, []string{"subnet-a1", "subnet-b"}},
		{"for another type", []model.UnavailableOffering{{SubnetID: "subnet-a2", OfferingKey: model.OfferingKey{InstanceType: "x"}, UntilUnix: now + 1}}, []string{"subnet-a2", "subnet-b"}},
		{"zone without one left", []model.UnavailableOffering{{SubnetID: "subnet-b", UntilUnix: now + 1}}, []string{"subnet-a2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := LaunchChoice(LaunchInput{Class: c, Types: types, UnavailableOfferings: test.unavailableOfferings, NowUnix: now})
			var subnets []string
			for _, o := range got.Overrides {
				subnets = append(subnets, o.SubnetID)
			}
			if err != nil || !slices.Equal(subnets, test.want) {
				t.Errorf("subnets = %v, %v, want %v", subnets, err, test.want)
			}
		})
	}
}

func TestLA02LaunchChoiceNamesTheCheapestSixtyTypes(t *testing.T) {
	var instanceTypes []model.InstanceTypeInfo
	for i := range 100 {
		instanceTypes = append(instanceTypes, instance(fmt.Sprintf("m5.s%02d", i), model.MicroUSD(100+(i*37)%100), nil))
	}
	c, types := launchWorld(instanceTypes...)
	spot := []model.Requirement{in(model.LabelCapacityType, "spot")}
	got, err := LaunchChoice(LaunchInput{Class: c, Types: types, Requirements: spot, NowUnix: now})
	if err != nil || got.Types != MaxLaunchTypes || len(got.Overrides) != 2*MaxLaunchTypes {
		t.Fatalf("choice has %d types in %d pools, %v", got.Types, len(got.Overrides), err)
	}
	for i, o := range got.Overrides {
		if o.Price > 80 {
			t.Errorf("%s costs %d and is among the cheapest sixty", o.InstanceType, o.Price)
		}
		if i > 0 && o.Price < got.Overrides[i-1].Price {
			t.Errorf("override %d is cheaper than the one before", i)
		}
	}
}

func TestLaunchChoiceSaysWhenNothingIsLeft(t *testing.T) {
	c, types := launchWorld(instance("m5.large", 100, nil))
	families := model.Requirement{Key: "karpenter.k8s.aws/instance-family", Operator: model.Exists, MinValues: 2}
	tests := map[string]LaunchInput{
		"no such type":     {Class: c, Types: types, InstanceTypes: []string{"x1.large"}},
		"no such zone":     {Class: c, Types: types, Requirements: []model.Requirement{in(model.LabelZone, "q")}},
		"everything gone":  {Class: c, Types: Mask(types, c.Status.Subnets, []model.UnavailableOffering{{OfferingKey: model.OfferingKey{InstanceType: "m5.large"}, UntilUnix: now + 1}}, now)},
		"no image":         {Class: class(nil), Types: types},
		"other generation": {Class: c, Types: types, Requirements: []model.Requirement{{Key: "karpenter.k8s.aws/instance-generation", Operator: model.Gt, Values: []string{"5"}}}},
		"too few families": {Class: c, Types: types, Requirements: []model.Requirement{families}},
		"broken bound":     {Class: c, Types: types, Requirements: []model.Requirement{{Key: "karpenter.k8s.aws/instance-generation", Operator: model.Gt, Values: []string{"x"}}}},
	}
	for name, input := range tests {
		t.Run(name, func(t *testing.T) {
			input.NowUnix = now
			if got, err := LaunchChoice(input); !fault.Is(err, fault.NoCapacity) {
				t.Errorf("choice = %+v, %v, want a NoCapacity error", got, err)
			}
		})
	}
}

// reservations returns an instance that can be bought in every way, and into each of the given reservations.
func reservations(name string, price model.MicroUSD, offerings ...model.Offering) model.InstanceTypeInfo {
	return instance(name, price, func(m *model.InstanceTypeInfo) { m.Offerings = append(m.Offerings, offerings...) })
}

func reservedOffering(id, zone string, left int64, listPrice model.MicroUSD) model.Offering {
	return model.Offering{Zone: zone, CapacityType: model.Reserved, Available: true, ReservationID: id, ReservationCapacity: left, ListPrice: listPrice}
}

func block(o model.Offering) model.Offering { o.ReservationBlock = true; return o }

func interruptible(o model.Offering) model.Offering { o.Interruptible = true; return o }

func TestLA05OneKindOfReservationAndOneOverrideForEachTypeAndZone(t *testing.T) {
	tests := []struct {
		name          string
		instanceTypes []model.InstanceTypeInfo
		want          []string // reservation ids, in order
		block         bool
		may           bool
	}{
		{"the fullest of one type and zone", []model.InstanceTypeInfo{reservations("m5.large", 100, reservedOffering("cr-1", "a", 2, 100), reservedOffering("cr-2", "a", 5, 100))}, []string{"cr-2"}, false, false},
		{"one for each zone", []model.InstanceTypeInfo{reservations("m5.large", 100, reservedOffering("cr-1", "a", 2, 100), reservedOffering("cr-2", "b", 5, 100))}, []string{"cr-1", "cr-2"}, false, false},
		{"the kind of the cheapest", []model.InstanceTypeInfo{
			reservations("m5.large", 100, reservedOffering("cr-1", "a", 2, 100)),
			reservations("c5.large", 85, interruptible(reservedOffering("cr-2", "a", 2, 85)), interruptible(reservedOffering("cr-3", "b", 2, 85))),
		}, []string{"cr-2", "cr-3"}, false, true},
		{"plain ones first among equals", []model.InstanceTypeInfo{reservations("m5.large", 100,
			interruptible(reservedOffering("cr-1", "a", 9, 100)), block(reservedOffering("cr-2", "a", 9, 100)), reservedOffering("cr-3", "b", 1, 100))}, []string{"cr-3"}, false, false},
		{"blocks before interruptible ones", []model.InstanceTypeInfo{reservations("m5.large", 100,
			interruptible(reservedOffering("cr-1", "a", 9, 100)), block(reservedOffering("cr-2", "b", 9, 100)))}, []string{"cr-2"}, true, false},
		{"one block", []model.InstanceTypeInfo{
			reservations("m5.large", 100, block(reservedOffering("cr-1", "a", 9, 100))),
			reservations("c5.large", 85, block(reservedOffering("cr-2", "b", 1, 85)), block(reservedOffering("cr-3", "a", 9, 85))),
		}, []string{"cr-3"}, true, false},
		{"a reserved accelerator is what somebody paid for", []model.InstanceTypeInfo{
			instance("m5.large", 100, nil),
			instance("p4d.24xlarge", 9000, func(m *model.InstanceTypeInfo) {
				m.GPUCount, m.GPUManufacturer, m.Offerings = 8, "nvidia", []model.Offering{reservedOffering("cr-1", "a", 1, 9000)}
			}),
		}, []string{"cr-1"}, false, false},
		{"none left", []model.InstanceTypeInfo{reservations("m5.large", 100, reservedOffering("cr-1", "a", 0, 100))}, nil, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, types := launchWorld(test.instanceTypes...)
			for i, m := range test.instanceTypes { // the reservations as they are here, whatever the catalog makes of the class's
				for j := range types {
					if types[j].Name == m.Name {
						types[j].Offerings = test.instanceTypes[i].Offerings
					}
				}
			}
			got, err := LaunchChoice(LaunchInput{Class: c, Types: types, NowUnix: now})
			if err != nil || !slices.Equal(got.Reservations, test.want) || got.Block != test.block || got.Interrupted != test.may {
				t.Errorf("%+v, %v, want %v", got, err, test.want)
			}
			if (got.CapacityType == model.Reserved) != (len(test.want) > 0) {
				t.Errorf("bought %s", got.CapacityType)
			}
		})
	}
}

func TestIC05ReservationIsLeftAloneOnceNothingIsLeftOfIt(t *testing.T) {
	c, types := launchWorld(instance("m5.large", 100, nil))
	types[0].Offerings = append(types[0].Offerings, reservedOffering("cr-1", "a", 5, 100))
	c.Status.Reservations = []model.Reservation{{ID: "cr-1", InstanceType: "m5.large", Zone: "a", Free: 1}}
	if got, err := LaunchChoice(LaunchInput{Class: c, Types: types, NowUnix: now}); err != nil || got.CapacityType != model.Reserved {
		t.Errorf("%+v %v", got, err)
	}
	c.Status = Less(c.Status, map[string]int64{"cr-1": 1}, nil, now)
	if got, err := LaunchChoice(LaunchInput{Class: c, Types: types, NowUnix: now}); err != nil || got.CapacityType != model.Spot {
		t.Errorf("with none left: %+v %v", got, err)
	}
}

func TestLA02TooFewValuesAreBorneAtBestEffortOnly(t *testing.T) {
	c, types := launchWorld(instance("m5.large", 100, nil))
	input := LaunchInput{Class: c, Types: types, NowUnix: now, Requirements: []model.Requirement{
		{Key: "karpenter.k8s.aws/instance-family", Operator: model.Exists, MinValues: 2},
	}}
	if _, err := LaunchChoice(input); !fault.Is(err, fault.NoCapacity) {
		t.Errorf("strict: %v", err)
	}
	input.BestEffort = true
	if got, err := LaunchChoice(input); err != nil || len(got.Overrides) == 0 {
		t.Errorf("best effort: %+v %v", got, err)
	}
}

func TestReservationLabelsAreTheOfferings(t *testing.T) {
	c, types := launchWorld(instance("m5.large", 100, nil))
	types[0].Offerings = append(types[0].Offerings, reservedOffering("cr-1", "a", 5, 100), interruptible(reservedOffering("cr-2", "b", 5, 100)), block(reservedOffering("cr-3", "b", 5, 90)))
	for _, test := range []struct {
		requirement model.Requirement
		want        string
	}{
		{in(model.LabelReservationType, "capacity-block"), "cr-3"},
		{in(model.LabelReservationType, "default"), "cr-1"},
		{in(model.LabelInterruptible, "true"), "cr-2"},
		{model.Requirement{Key: model.LabelReservationType, Operator: model.DoesNotExist}, ""},
	} {
		got, err := LaunchChoice(LaunchInput{Class: c, Types: types, Requirements: []model.Requirement{test.requirement}, NowUnix: now})
		if err != nil || (test.want == "") != (got.Reservations == nil) || test.want != "" && got.Reservations[0] != test.want {
			t.Errorf("%+v: %+v %v", test.requirement, got, err)
		}
	}
}
