package offer

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

const now = 1_780_000_000

func TestMaskClosesWhatMarksName(t *testing.T) {
	mark := func(key model.OfferKey, subnet string, until int64) model.Mark {
		return model.Mark{OfferKey: key, SubnetID: subnet, UntilUnix: until}
	}
	tests := []struct {
		name  string
		marks []model.Mark
		want  int // of four offers
	}{
		{"nothing", nil, 4},
		{"one offer", []model.Mark{mark(model.OfferKey{InstanceType: "m5.large", Zone: "a", CapacityType: "spot"}, "", now+1)}, 3},
		{"one that has run out", []model.Mark{mark(model.OfferKey{InstanceType: "m5.large", Zone: "a", CapacityType: "spot"}, "", now)}, 4},
		{"another type", []model.Mark{mark(model.OfferKey{InstanceType: "m5.xlarge", Zone: "a", CapacityType: "spot"}, "", now+1)}, 4},
		{"a whole capacity type", []model.Mark{mark(model.OfferKey{CapacityType: "spot"}, "", now+1)}, 2},
		{"a whole zone", []model.Mark{mark(model.OfferKey{Zone: "a"}, "", now+1)}, 2},
		{"one of two subnets", []model.Mark{mark(model.OfferKey{}, "subnet-a1", now+1)}, 4},
		{"both subnets", []model.Mark{mark(model.OfferKey{}, "subnet-a1", now+1), mark(model.OfferKey{Zone: "a"}, "subnet-a2", now+1)}, 2},
		{"both subnets, one run out", []model.Mark{mark(model.OfferKey{}, "subnet-a1", now+1), mark(model.OfferKey{}, "subnet-a2", now)}, 4},
		{"the only subnet", []model.Mark{mark(model.OfferKey{}, "subnet-b", now+1)}, 2},
		{"a mark that names nothing", []model.Mark{mark(model.OfferKey{}, "", now+1)}, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := class(nil)
			types := Catalog([]model.MachineType{large()}, c, Settings{})
			masked := Mask(types, c.Status.Subnets, test.marks, now)
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
		m      model.MachineType
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
	types := []model.InstanceType{{Name: "c", Offers: soldIn(10, "a")}, {Name: "b", Offers: soldIn(20, "a")}, {Name: "a", Offers: soldIn(20, "a")}, {Name: "gone"}}
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

// TestCommonIsWhatAllMarksShare guards what is taken for dry beyond what was tried.
func TestCommonIsWhatAllMarksShare(t *testing.T) {
	mark := func(instanceType, zone, capacityType string) model.Mark {
		return model.Mark{OfferKey: model.OfferKey{InstanceType: instanceType, Zone: zone, CapacityType: capacityType}, UntilUnix: 7, Failures: 3}
	}
	quota := model.Mark{OfferKey: model.OfferKey{CapacityType: model.Spot}, Group: "standard"}
	for name, c := range map[string]struct {
		marks []model.Mark
		want  model.OfferKey
		ok    bool
	}{
		"none":               {nil, model.OfferKey{}, false},
		"one":                {[]model.Mark{mark("m5.large", "a", model.Spot)}, model.OfferKey{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot}, true},
		"spot":               {[]model.Mark{mark("m5.large", "a", model.Spot), mark("c5.large", "b", model.Spot)}, model.OfferKey{CapacityType: model.Spot}, true},
		"a zone":             {[]model.Mark{mark("m5.large", "a", model.Spot), mark("c5.large", "a", model.OnDemand)}, model.OfferKey{Zone: "a"}, true},
		"nothing":            {[]model.Mark{mark("m5.large", "a", model.Spot), mark("c5.large", "b", model.OnDemand)}, model.OfferKey{}, false},
		"any type of spot":   {[]model.Mark{mark("", "", model.Spot), mark("c5.large", "b", model.Spot)}, model.OfferKey{CapacityType: model.Spot}, true},
		"a quota and a type": {[]model.Mark{quota, mark("c5.large", "b", model.Spot)}, model.OfferKey{}, false},
	} {
		got, ok := Common(c.marks)
		if ok != c.ok || got.OfferKey != c.want || got.UntilUnix != 0 || got.Failures != 0 {
			t.Errorf("%s: %+v %v, want %+v %v", name, got, ok, c.want, c.ok)
		}
	}
}
