package pack

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestSpotClaimsKeepTypesToFallBackOn(t *testing.T) {
	for _, request := range []int64{100, 900, 3_000, 40_000} {
		plan := newWorld(96).pool("general", nil).pods("web", 300, cpu(request)).plan()
		if placed(plan) != 300 {
			t.Fatalf("%d placed", placed(plan))
		}
		for _, claim := range plan.Claims {
			if claim.Offering.CapacityType == model.Spot && len(claim.InstanceTypes) < offerings.MinSpotTypes {
				t.Errorf("pods of %dm: a claim of %d pods lists %d types", request, len(claim.Pods), len(claim.InstanceTypes))
			}
		}
	}
}

func TestAClaimOfPodsThatAllowOneTypeListsIt(t *testing.T) {
	w := newWorld(96).pool("general", nil).pods("web", 1, func(s *model.PodShape) { s.NodeSelector = map[string]string{model.LabelInstanceType: "m5.xlarge"} })
	claim, err := onlyClaim(w.plan())
	if err != nil || !slices.Equal(claim.InstanceTypes, []string{"m5.xlarge"}) {
		t.Errorf("types = %v, %v", claim.InstanceTypes, err)
	}
}

func TestFlexibleClaimsKeepBothCapacityTypes(t *testing.T) {
	claim, err := onlyClaim(newWorld(96).pool("general", nil).pods("web", 1, nil).plan())
	if err != nil || !slices.Equal(claim.CapacityTypes, []string{model.Spot, model.OnDemand}) || !slices.Equal(claim.Zones, testZones) {
		t.Errorf("capacity types = %v, zones = %v, %v", claim.CapacityTypes, claim.Zones, err)
	}
	if claim.Offering.CapacityType != model.Spot {
		t.Errorf("cheapest offer = %v", claim.Offering)
	}
}

func TestReservationsAreNeverOverdrawn(t *testing.T) {
	w := newWorld(96)
	types := w.in.Catalogs["default"]
	i := slices.IndexFunc(types, func(t model.InstanceType) bool { return t.Name == "m5.2xlarge" })
	types[i].Offerings = append(types[i].Offerings, model.Offering{Zone: "b", CapacityType: model.Reserved, Price: 1, Available: true, ReservationID: "cr-1", ReservationCapacity: 2})
	w.pool("first", func(p *model.Pool) { p.Limits = model.Resources{model.Nodes: 1} })
	w.pool("second", nil)
	w.pods("web", 40, cpu(1500))
	reserved := 0
	plan := w.plan()
	for _, claim := range plan.Claims {
		if !slices.Contains(claim.CapacityTypes, model.Reserved) {
			continue
		}
		reserved++
		required, err := requirement.From(claim.Requirements)
		if err != nil || len(claim.CapacityTypes) != 1 || !required.Get(requirement.CapacityReservationID).Has("cr-1") || !slices.Equal(claim.Zones, []string{"b"}) {
			t.Errorf("claim %+v may become something else than the reservation", claim)
		}
	}
	if reserved != 2 || placed(plan) != 40 {
		t.Errorf("%d claims of a reservation for two, %d pods placed", reserved, placed(plan))
	}
}

func TestNamesDependOnContentAndSalt(t *testing.T) {
	names := func(change func(*world)) []string {
		w := newWorld(32).pool(strings.Repeat("long-", 12)+"pool", nil).pods("web", 60, cpu(10_000))
		change(w)
		var out []string
		for _, claim := range w.plan().Claims {
			out = append(out, claim.Name)
		}
		return out
	}
	first := names(func(*world) {})
	if again := names(func(*world) {}); !slices.Equal(first, again) {
		t.Errorf("names changed: %v, %v", first, again)
	}
	if salted := names(func(w *world) { w.in.Salt = "2" }); slices.Equal(first, salted) {
		t.Errorf("names stayed: %v", salted)
	}
	for i, name := range first {
		if len(name) > 63 || slices.Contains(first[:i], name) {
			t.Errorf("name %q is too long or taken", name)
		}
	}
}

func TestUnavailableOfferingsSayUntilWhen(t *testing.T) {
	w := newWorld(16).pool("general", nil).pods("web", 1, nil)
	w.in.UnavailableOfferings = []model.UnavailableOffering{
		{OfferingKey: model.OfferingKey{CapacityType: model.Spot}, UntilUnix: testNow + 600, Reason: "MaxSpotInstanceCountExceeded"},
		{OfferingKey: model.OfferingKey{CapacityType: model.OnDemand}, UntilUnix: testNow + 180, Reason: "VcpuLimitExceeded"},
		{OfferingKey: model.OfferingKey{CapacityType: model.OnDemand}, UntilUnix: testNow - 1, Reason: "Old"},
	}
	w.in.Catalogs["default"] = offering.Mask(w.in.Catalogs["default"], testClass().Status.Subnets, w.in.UnavailableOfferings, testNow)
	plan := w.plan()
	if got := codes(plan, "web-00000"); len(got) != 1 || got[0] != NoOffering {
		t.Fatalf("codes = %v", got)
	}
	want := "all 96 offerings that could hold it are unavailable (MaxSpotInstanceCountExceeded, VcpuLimitExceeded); the first is tried again at 2026-05-28T20:29:40Z"
	if got := plan.Unschedulable[0].Reasons[0].Message; got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
}

func TestClassProblemsAreTold(t *testing.T) {
	w := newWorld(8).pool("general", nil).pods("web", 1, nil)
	w.in.ClassProblems = map[string]string{"default": "no subnet has the tag"}
	plan := w.plan()
	if got := codes(plan, "web-00000"); len(got) != 1 || got[0] != ClassNotReady || !strings.Contains(plan.Unschedulable[0].Reasons[0].Message, "no subnet has the tag") {
		t.Errorf("reasons = %+v", plan.Unschedulable)
	}
}

func TestHugePagesCutIntoMemory(t *testing.T) {
	w := newWorld(0).pool("general", nil)
	w.in.Catalogs["default"] = []model.InstanceType{{Name: "t", Labels: map[string][]string{}, Offerings: []model.Offering{{Zone: "a", CapacityType: model.OnDemand, Price: 1, Available: true}},
		Capacity: model.Resources{model.CPU: 4000, model.Memory: 8 << 30, "hugepages-2Mi": 4 << 30, model.Pods: 10}}}
	w.pods("small", 1, func(s *model.PodShape) { s.Requests = model.Resources{model.Memory: 4 << 30, "hugepages-2Mi": 4 << 30} })
	w.pods("large", 1, func(s *model.PodShape) { s.Requests = model.Resources{model.Memory: 5 << 30} })
	plan := w.plan()
	if got := codes(plan, "large-00000"); len(got) != 1 || got[0] != ResourcesTooLarge || placed(plan) != 1 {
		t.Errorf("codes = %v, %d placed", got, placed(plan))
	}
}

// Every label the catalog gives a type is one pods may ask for without the pool naming it.
func TestLabelsOfTypesAreWellKnown(t *testing.T) {
	for _, instance := range testCatalog(64) {
		for key := range instance.Labels {
			if !requirement.WellKnown(key) {
				t.Errorf("%s has the label %s", instance.Name, key)
			}
		}
	}
}
