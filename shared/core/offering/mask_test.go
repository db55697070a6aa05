package offering

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

const now = 1_780_000_000

func TestMaskClosesUnavailableOfferings(t *testing.T) {
	mark := func(key model.OfferingKey, subnet string, until int64) model.UnavailableOffering {
		return model.UnavailableOffering{OfferingKey: key, SubnetID: subnet, UntilUnix: until}
	}
	tests := []struct {
		name                 string
		unavailableOfferings []model.UnavailableOffering
		want                 int // of four offerings
	}{
		{"nothing", nil, 4},
		{"one offer", []model.UnavailableOffering{mark(model.OfferingKey{InstanceType: "m5.large", Zone: "a", CapacityType: "spot"}, "", now+1)}, 3},
		{"one that has run out", []model.UnavailableOffering{mark(model.OfferingKey{InstanceType: "m5.large", Zone: "a", CapacityType: "spot"}, "", now)}, 4},
		{"another type", []model.UnavailableOffering{mark(model.OfferingKey{InstanceType: "m5.xlarge", Zone: "a", CapacityType: "spot"}, "", now+1)}, 4},
		{"a whole capacity type", []model.UnavailableOffering{mark(model.OfferingKey{CapacityType: "spot"}, "", now+1)}, 2},
		{"a whole zone", []model.UnavailableOffering{mark(model.OfferingKey{Zone: "a"}, "", now+1)}, 2},
		{"one of two subnets", []model.UnavailableOffering{mark(model.OfferingKey{}, "subnet-a1", now+1)}, 4},
		{"both subnets", []model.UnavailableOffering{mark(model.OfferingKey{}, "subnet-a1", now+1), mark(model.OfferingKey{Zone: "a"}, "subnet-a2", now+1)}, 2},
		{"both subnets, one run out", []model.UnavailableOffering{mark(model.OfferingKey{}, "subnet-a1", now+1), mark(model.OfferingKey{}, "subnet-a2", now)}, 4},
		{"the only subnet", []model.UnavailableOffering{mark(model.OfferingKey{}, "subnet-b", now+1)}, 2},
		{"CT-07: a zonal shift, by the zone's name", []model.UnavailableOffering{{ZoneID: "a", UntilUnix: now + 1}}, 2},
		{"CT-07: a zonal shift of another zone", []model.UnavailableOffering{{ZoneID: "usw2-az9", UntilUnix: now + 1}},
			4},
		{"CT-07: a zonal shift that is over", []model.UnavailableOffering{{ZoneID: "a", UntilUnix: now}}, 4},
		{"a mark that names nothing", []model.UnavailableOffering{mark(model.OfferingKey{}, "", now+1)}, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := class(nil)
			types := Catalog([]model.InstanceTypeInfo{large()}, c, Settings{})
			masked := Mask(types, c.Status.Subnets, test.unavailableOfferings, now)
			if got := available(masked[0]); got != test.want {
				t.Errorf("%d offers are available, want %d", got, test.want)
			}
			if available(types[0]) != 4 {
				t.Error("the types given were changed")
			}
		})
	}
}

func TestImageForTakesTheFirstThatBoots(t *testing.T) {
	gpu := model.Image{ID: "gpu", Requirements: []model.Requirement{
		{Key: model.LabelArch, Operator: model.In, Values: []string{"amd64"}},
		{Key: "karpenter.k8s.aws/instance-gpu-count", Operator: model.Exists},
	}}
	plain := image("plain", "amd64")
	plain.Requirements = append(plain.Requirements, model.Requirement{Key: "karpenter.k8s.aws/instance-gpu-count", Operator: model.DoesNotExist})
	images := []model.Image{gpu, plain, image("any", "amd64"), image("arm", "arm64")}
	accelerated := large()
	accelerated.GPUCount = 1
	arm := large()
	arm.Arch = "arm64"
	tests := []struct {
		name   string
		m      model.InstanceTypeInfo
		images []model.Image
		want   string
	}{
		{"plain", large(), images, "plain"},
		{"gpu", accelerated, images, "gpu"},
		{"arm", arm, images, "arm"},
		{"none", arm, images[:3], ""},
		{"no conditions", arm, []model.Image{{ID: "all"}}, "all"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := class(func(c *model.Class) { c.Status.Images = test.images })
			got, found := ImageFor(c, one(t, test.m, c, Settings{}))
			if got.ID != test.want || found != (test.want != "") {
				t.Errorf("image = %q, %v, want %q", got.ID, found, test.want)
			}
		})
	}
}

func TestPriceListBreaksTiesByName(t *testing.T) {
	types := []model.InstanceType{{Name: "c", Offerings: soldIn(10, "a")}, {Name: "b", Offerings: soldIn(20, "a")}, {Name: "a", Offerings: soldIn(20, "a")}, {Name: "gone"}}
	var names string
	for _, p := range PriceList(types) {
		names += p.Type.Name
	}
	if names != "cab" {
		t.Errorf("order = %q, want cab", names)
	}
	if o, found := Cheapest(types[0], nil); !found || o.CapacityType != model.Spot {
		t.Errorf("cheapest = %v, %v", o, found)
	}
	if _, found := Cheapest(types[3], nil); found {
		t.Error("a type without offers has a cheapest one")
	}
}

// TestCommonIsWhatAllUnavailableOfferingsShare guards what is taken for dry beyond what was tried.
func TestCommonIsWhatAllUnavailableOfferingsShare(t *testing.T) {
	mark := func(instanceType, zone, capacityType string) model.UnavailableOffering {
		return model.UnavailableOffering{OfferingKey: model.OfferingKey{InstanceType: instanceType, Zone: zone, CapacityType: capacityType}, UntilUnix: 7, Failures: 3}
	}
	quota := model.UnavailableOffering{OfferingKey: model.OfferingKey{CapacityType: model.Spot}, Group: "standard"}
	for name, c := range map[string]struct {
		unavailableOfferings []model.UnavailableOffering
		want                 model.OfferingKey
		ok                   bool
	}{
		"none":               {nil, model.OfferingKey{}, false},
		"one":                {[]model.UnavailableOffering{mark("m5.large", "a", model.Spot)}, model.OfferingKey{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot}, true},
		"spot":               {[]model.UnavailableOffering{mark("m5.large", "a", model.Spot), mark("c5.large", "b", model.Spot)}, model.OfferingKey{CapacityType: model.Spot}, true},
		"a zone":             {[]model.UnavailableOffering{mark("m5.large", "a", model.Spot), mark("c5.large", "a", model.OnDemand)}, model.OfferingKey{Zone: "a"}, true},
		"nothing":            {[]model.UnavailableOffering{mark("m5.large", "a", model.Spot), mark("c5.large", "b", model.OnDemand)}, model.OfferingKey{}, false},
		"any type of spot":   {[]model.UnavailableOffering{mark("", "", model.Spot), mark("c5.large", "b", model.Spot)}, model.OfferingKey{CapacityType: model.Spot}, true},
		"a quota and a type": {[]model.UnavailableOffering{quota, mark("c5.large", "b", model.Spot)}, model.OfferingKey{}, false},
	} {
		got, ok := CommonUnavailable(c.unavailableOfferings)
		if ok != c.ok || got.OfferingKey != c.want || got.UntilUnix != 0 || got.Failures != 0 {
			t.Errorf("%s: %+v %v, want %+v %v", name, got, ok, c.want, c.ok)
		}
	}
}
