package offering

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestQuotaGroupsAreThoseOfTheAccountsLimits(t *testing.T) {
	for name, want := range map[string]string{
		"m5.large": "standard", "c7gn.xlarge": "standard", "t3a.nano": "standard", "is4gen.large": "standard", "z1d.large": "standard",
		"g4dn.xlarge": "g", "gr6.4xlarge": "g", "vt1.3xlarge": "g", "p5.48xlarge": "p", "x2iedn.xlarge": "x", "inf2.xlarge": "inf",
		"trn1.2xlarge": "trn", "dl1.24xlarge": "dl", "u-6tb1.metal": "u", "mac2.metal": "mac", "": "",
	} {
		if got := QuotaGroup(name); got != want {
			t.Errorf("%s counts as %q, want %q", name, got, want)
		}
	}
}

func TestUnavailabilityOfAGroupCoversItsTypesOfTheCapacityType(t *testing.T) {
	unavailable := model.UnavailableOffering{OfferingKey: model.OfferingKey{CapacityType: model.OnDemand}, Group: "standard"}
	for key, want := range map[model.OfferingKey]bool{
		{InstanceType: "m5.large", Zone: "a", CapacityType: model.OnDemand}:    true,
		{InstanceType: "c5.large", Zone: "b", CapacityType: model.OnDemand}:    true,
		{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot}:        false,
		{InstanceType: "g4dn.xlarge", Zone: "a", CapacityType: model.OnDemand}: false,
	} {
		if Covers(unavailable, key) != want {
			t.Errorf("%v covered: %t", key, !want)
		}
	}
}
