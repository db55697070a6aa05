package pack

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestF022RequestsDriveSize(t *testing.T) {
	w := newWorld(96).pool("general", nil).pods("web", 1, cpu(3000))
	claim, err := onlyClaim(w.sound(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, instance := range w.typesOf(&claim) {
		if instance.Capacity[model.CPU] < 4000 {
			t.Errorf("%s has %dm CPU for 3000m", instance.Name, instance.Capacity[model.CPU])
		}
	}
}

func TestF023ExtendedResourcesNeedTypesThatHaveThem(t *testing.T) {
	w := newWorld(96).pool("general", nil).pods("train", 2, func(s *model.PodShape) { s.Requests["nvidia.com/gpu"] = 1 })
	w.pods("none", 1, func(s *model.PodShape) { s.Requests["vendor.example/fpga"] = 1 })
	plan := w.sound(t)
	for i := range plan.Claims {
		for _, instance := range w.typesOf(&plan.Claims[i]) {
			if instance.Capacity["nvidia.com/gpu"] == 0 {
				t.Errorf("%s has no GPU", instance.Name)
			}
		}
	}
	if len(plan.Claims) == 0 || placed(plan) != 2 {
		t.Errorf("%d placed", placed(plan))
	}
	refusedWith(t, plan, "none-00000", ResourcesTooLarge)
}

// U13, V129: a device that no type of the pool has is said as that, and which categories of types have it.
func TestU13V129ADeviceNamesTheCategoriesThatHaveIt(t *testing.T) {
	w := newWorld(96).pool("general", func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{oneOf(requirement.InstanceCategory, "c", "m")}
	})
	w.pods("train", 1, func(s *model.PodShape) { s.Requests["nvidia.com/gpu"] = 1 }).pods("other", 1, func(s *model.PodShape) { s.Requests["vendor.example/fpga"] = 1 })
	for name, want := range map[string][2]string{
		"train-00000": {"no instance type the pool allows has nvidia.com/gpu", "which are of the categories g ("},
		"other-00000": {"no instance type the pool allows has vendor.example/fpga", "no instance type of the pool's EC2NodeClass has vendor.example/fpga"},
	} {
		plan := w.sound(t)
		refusedWith(t, plan, name, ResourcesTooLarge)
		for _, u := range plan.Unschedulable {
			if r := u.Reasons[0]; u.Pod.Name == name && (!strings.HasSuffix(r.Message, want[0]) || !strings.Contains(r.Remedy, want[1])) {
				t.Errorf("%s: %s. Remedy: %s", name, r.Message, r.Remedy)
			}
		}
	}
}

func TestF025NodeSelectorsOnWellKnownLabels(t *testing.T) {
	for key, value := range map[string]string{
		model.LabelZone: "b", model.LabelZoneID: "az3", model.LabelArch: "arm64", model.LabelOS: "linux",
		model.LabelInstanceType: "r5.2xlarge", model.LabelCapacityType: model.OnDemand, model.LabelNodePool: "general",
		"karpenter.k8s.aws/instance-category": "r", "karpenter.k8s.aws/instance-cpu": "16", model.LabelRegion: "here",
	} {
		t.Run(key, func(t *testing.T) {
			w := newWorld(96).pool("general", nil).pods("web", 3, selecting(key, value))
			plan := w.complete(t)
			if got := w.perDomain(plan, key, "web"); key != model.LabelNodePool && key != model.LabelRegion && got[value] != 3 {
				t.Errorf("pods by %s: %v, want 3 in %s", key, got, value)
			}
			if len(plan.Claims) == 0 {
				t.Error("nothing is claimed")
			}
			other := newWorld(96).pool("general", nil).pods("web", 1, selecting(key, "no-such-value")).sound(t)
			refusedWith(t, other, "web-00000", RequirementConflict)
		})
	}
}

func TestF026RequiredTermsAreAlternatives(t *testing.T) {
	w := newWorld(96).pool("general", nil)
	w.pods("web", 2, asPod(needing(oneOf(model.LabelZone, "mars")), needing(oneOf(model.LabelZone, "c"), oneOf(model.LabelArch, "arm64"))))
	plan := w.complete(t)
	if got := w.perDomain(plan, model.LabelZone, "web"); got["c"] != 2 {
		t.Errorf("zones = %v", got)
	}
}

func TestF026AnExistingNodeMayMeetAnyTerm(t *testing.T) {
	w := newWorld(96).pool("general", nil).zoned(4000, "b")
	w.pods("web", 1, asPod(needing(oneOf(model.LabelZone, "a")), needing(oneOf(model.LabelZone, "b"))))
	if plan := w.complete(t); nodeOf(plan, "web-00000") != "node-b" {
		t.Errorf("nominations = %+v; the second term fits a node that exists", plan.Nominations)
	}
}

func TestF027UndefinedLabels(t *testing.T) {
	tests := map[string]struct {
		requirement model.Requirement
		placed      bool
	}{
		"NotIn":        {model.Requirement{Key: "team", Operator: model.NotIn, Values: []string{"x"}}, true},
		"DoesNotExist": {model.Requirement{Key: "team", Operator: model.DoesNotExist}, true},
		"In":           {model.Requirement{Key: "team", Operator: model.In, Values: []string{"x"}}, false},
		"Exists":       {model.Requirement{Key: "team", Operator: model.Exists}, false},
		"Gt":           {model.Requirement{Key: "team", Operator: model.Gt, Values: []string{"1"}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := newWorld(32).pool("general", nil).pods("web", 1, needing(test.requirement)).sound(t)
			if (placed(plan) == 1) != test.placed {
				t.Errorf("placed = %d, want placed = %v: %+v", placed(plan), test.placed, plan.Unschedulable)
			}
			if !test.placed {
				refusedWith(t, plan, "web-00000", RequirementConflict)
			}
		})
	}
}

func TestF028PreferredNodeAffinity(t *testing.T) {
	arm, zoneB, mars := oneOf(model.LabelArch, "arm64"), oneOf(model.LabelZone, "b"), oneOf(model.LabelZone, "mars")
	onDemand, zoneC := oneOf(model.LabelCapacityType, model.OnDemand), oneOf(model.LabelZone, "c")
	tests := map[string]struct {
		change func(*model.PodShape)
		want   map[string]string
	}{
		"honoured":                        {preferring(1, onDemand), map[string]string{model.LabelCapacityType: model.OnDemand}},
		"heavier of two":                  {asPod(preferring(1, zoneB), preferring(2, zoneC)), map[string]string{model.LabelZone: "c"}},
		"heavier of two, the other way":   {asPod(preferring(9, zoneB), preferring(2, zoneC)), map[string]string{model.LabelZone: "b"}},
		"next where the heaviest cannot":  {asPod(preferring(1, zoneB), preferring(100, mars)), map[string]string{model.LabelZone: "b"}},
		"dropped where none can":          {preferring(100, mars), nil},
		"dropped against what is needed":  {asPod(selecting(model.LabelArch, "amd64"), preferring(100, arm)), map[string]string{model.LabelArch: "amd64"}},
		"all expressions of a term count": {preferring(5, zoneB, onDemand), map[string]string{model.LabelZone: "b", model.LabelCapacityType: model.OnDemand}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(96).pool("general", nil).pods("web", 4, test.change)
			plan := w.complete(t)
			for key, value := range test.want {
				if got := w.perDomain(plan, key, "web"); got[value] != 4 {
					t.Errorf("pods by %s: %v, want all in %s", key, got, value)
				}
			}
		})
	}
}

func TestF028PreferencesAreLeftOutWhereTold(t *testing.T) {
	with := newWorld(96).pool("general", nil).pods("web", 8, preferring(100, oneOf(model.LabelCapacityType, model.OnDemand)))
	with.in.IgnorePreferences = true
	without := newWorld(96).pool("general", nil).pods("web", 8, nil)
	if a, b := with.complete(t), without.complete(t); a.Price != b.Price {
		t.Errorf("price %d with a preference that is ignored, %d without", a.Price, b.Price)
	}
}

func TestF029OldLabelNamesMeanTheNewOnes(t *testing.T) {
	for old, now := range map[string][2]string{
		"failure-domain.beta.kubernetes.io/zone": {model.LabelZone, "b"},
		"beta.kubernetes.io/arch":                {model.LabelArch, "arm64"},
		"beta.kubernetes.io/os":                  {model.LabelOS, "linux"},
		"beta.kubernetes.io/instance-type":       {model.LabelInstanceType, "m5.xlarge"},
	} {
		t.Run(old, func(t *testing.T) {
			byOld := newWorld(96).pool("general", nil).pods("web", 3, selecting(old, now[1]))
			byNew := newWorld(96).pool("general", nil).pods("web", 3, selecting(now[0], now[1]))
			a, b := byOld.complete(t), byNew.complete(t)
			if a.Price != b.Price || len(a.Claims) != len(b.Claims) || len(a.Claims) == 0 {
				t.Errorf("%d claims at %d by the old name, %d at %d by the new", len(a.Claims), a.Price, len(b.Claims), b.Price)
			}
			byTerm := newWorld(96).pool("general", nil).pods("web", 3, needing(oneOf(old, now[1])))
			if c := byTerm.complete(t); c.Price != b.Price {
				t.Errorf("by affinity %d, want %d", c.Price, b.Price)
			}
		})
	}
}

func TestF030LabelsOfThePoolCanBeSelected(t *testing.T) {
	w := newWorld(32).pool("plain", func(p *model.Pool) { p.Weight = 100 })
	w.pool("blue", func(p *model.Pool) { p.Template.Labels = map[string]string{"colour": "blue"} })
	w.pods("web", 2, selecting("colour", "blue"))
	plan := w.complete(t)
	for _, claim := range plan.Claims {
		if claim.Pool != "blue" || claim.Labels["colour"] != "blue" {
			t.Errorf("claim of %s with labels %v", claim.Pool, claim.Labels)
		}
	}
}

func existsPool(key string) func(*model.Pool) {
	return func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{{Key: key, Operator: model.Exists}}
	}
}

func TestF031ExistsKeepsDifferentValuesApart(t *testing.T) {
	w := newWorld(96).pool("general", existsPool("team"))
	w.pods("red", 3, selecting("team", "red")).pods("blue", 3, selecting("team", "blue"))
	plan := w.complete(t)
	for _, claim := range plan.Claims {
		want, _, _ := strings.Cut(claim.Pods[0].Name, "-")
		for _, pod := range claim.Pods {
			if !strings.HasPrefix(pod.Name, want) {
				t.Errorf("red and blue pods share a node: %v", claim.Pods)
			}
		}
		if claim.Labels["team"] != want {
			t.Errorf("the node of %s pods carries team=%s", want, claim.Labels["team"])
		}
	}
}

// The peer makes up a random value; ours is made up too and the same every time.
func TestF032AnUnnamedExistsKeyGetsSomeValue(t *testing.T) {
	w := newWorld(32).pool("general", existsPool("team")).pods("web", 1, nil)
	first, err := onlyClaim(w.complete(t))
	if err != nil || first.Labels["team"] == "" {
		t.Fatalf("labels = %v, %v", first.Labels, err)
	}
	if again, _ := onlyClaim(w.plan()); again.Labels["team"] != first.Labels["team"] {
		t.Errorf("team=%s, then %s", first.Labels["team"], again.Labels["team"])
	}
}

func TestF033AMisspeltLabelIsNamed(t *testing.T) {
	plan := newWorld(32).pool("general", nil).pods("web", 1, selecting("topology.kubernetes.io/zon", "a")).sound(t)
	refusedWith(t, plan, "web-00000", RequirementConflict)
	if message := plan.Unschedulable[0].Reasons[0].Message; !strings.Contains(message, model.LabelZone) {
		t.Errorf("message %q does not name %s", message, model.LabelZone)
	}
}

// kube-scheduler honors matchFields, so a pod that names a node may have it, where the peer ignores the pod. No new
// node can have the name.
func TestF034MatchFieldsNeverMakeANode(t *testing.T) {
	byName := func(s *model.PodShape) {
		s.RequiredNodeAffinity = []model.NodeTerm{{Fields: []model.Requirement{oneOf("metadata.name", "n2")}}}
	}
	w := newWorld(32).pool("general", nil).node("n1", nil).pods("web", 1, byName)
	plan := w.plan()
	if placed(plan) != 0 || len(codes(plan, "web-00000")) == 0 {
		t.Errorf("placed although n2 is not there: %+v", plan)
	}
	w.node("n2", nil)
	if plan := w.plan(); len(plan.Claims) != 0 || nodeOf(plan, "web-00000") == "n1" {
		t.Errorf("claims %+v, nominations %+v", plan.Claims, plan.Nominations)
	}
}

func TestF035BoundsAreInclusive(t *testing.T) {
	w := newWorld(96).pool("general", func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{
			{Key: requirement.InstanceCPU, Operator: model.Gte, Values: []string{"8"}},
			{Key: requirement.InstanceCPU, Operator: model.Lte, Values: []string{"16"}},
		}
	})
	plan := w.pods("web", 40, cpu(1000)).complete(t)
	seen := make(map[string]bool)
	for i := range plan.Claims {
		for _, instance := range w.typesOf(&plan.Claims[i]) {
			seen[instance.Labels[requirement.InstanceCPU][0]] = true
		}
	}
	for cores := range seen {
		if cores != "8" && cores != "16" {
			t.Errorf("a type has %s cores", cores)
		}
	}
	refused := w.pods("big", 1, cpu(17_000)).sound(t)
	refusedWith(t, refused, "big-00000", ResourcesTooLarge)
}

func TestF036OperatingSystemsAndArchitecturesChooseTypes(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	types := w.in.Catalogs["default"]
	for i := range types {
		if types[i].Labels[model.LabelArch][0] == "amd64" && strings.HasSuffix(types[i].Name, ".2xlarge") {
			types[i].Labels[model.LabelOS] = []string{"windows"}
		}
	}
	w.pods("win", 2, selecting(model.LabelOS, "windows")).pods("arm", 2, selecting(model.LabelArch, "arm64")).pods("linux", 2, selecting(model.LabelOS, "linux"))
	plan := w.complete(t)
	if got := w.perDomain(plan, model.LabelOS, "win"); got["windows"] != 2 {
		t.Errorf("win by OS: %v", got)
	}
	if got := w.perDomain(plan, model.LabelArch, "arm"); got["arm64"] != 2 {
		t.Errorf("arm by arch: %v", got)
	}
	if got := w.perDomain(plan, model.LabelOS, "linux"); got["linux"] != 2 {
		t.Errorf("linux by OS: %v", got)
	}
}

func TestF037CapacityTypesAreListedInTheOrderTheyArePreferred(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("web", 1, nil)
	claim, err := onlyClaim(w.complete(t))
	if err != nil || !slices.Equal(claim.CapacityTypes, []string{model.Spot, model.OnDemand}) {
		t.Errorf("capacity types = %v, %v", claim.CapacityTypes, err)
	}
	types := w.in.Catalogs["default"]
	types[3].Offerings = append(types[3].Offerings, model.Offering{Zone: "b", ZoneID: "az2", CapacityType: model.Reserved, Price: 1, Available: true, ReservationID: "cr-1", ReservationCapacity: 1})
	claim, err = onlyClaim(w.complete(t))
	if err != nil || claim.Offering.CapacityType != model.Reserved || claim.CapacityTypes[0] != model.Reserved {
		t.Errorf("offer = %v of %v, %v; want the reservation first", claim.Offering, claim.CapacityTypes, err)
	}
}

func TestF038UnavailableOfferingsAreLeftAlone(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("web", 1, nil)
	first, err := onlyClaim(w.complete(t))
	if err != nil {
		t.Fatal(err)
	}
	w.gone(first.Offering.InstanceType + "/*/" + first.Offering.CapacityType)
	second, err := onlyClaim(w.complete(t))
	if err != nil || second.Offering.InstanceType == first.Offering.InstanceType && second.Offering.CapacityType == first.Offering.CapacityType {
		t.Errorf("offer = %v again, %v", second.Offering, err)
	}
	w.gone("*/*/" + model.Spot)
	third, err := onlyClaim(w.complete(t))
	if err != nil || third.Offering.CapacityType != model.OnDemand {
		t.Errorf("offer = %v, %v, want on-demand where no spot is left", third.Offering, err)
	}
}

// F039, M108: a NodePool with four values of a label gets four times the pods of one with one.
func TestF039SpreadOverVirtualDomainsGivesARatio(t *testing.T) {
	const key = "capacity-spread"
	w := newWorld(96)
	virtual := func(capacityType string, values ...string) func(*model.Pool) {
		return func(p *model.Pool) {
			p.Template.Requirements = []model.Requirement{oneOf(model.LabelCapacityType, capacityType), oneOf(key, values...)}
		}
	}
	w.pool("spot", virtual(model.Spot, "2", "3", "4", "5")).pool("on-demand", virtual(model.OnDemand, "1"))
	w.pods("web", 20, asPod(appPod("web"), spreadBy(key, 1)))
	plan := w.complete(t)
	if got := w.perDomain(plan, model.LabelCapacityType, "web"); got[model.Spot] != 16 || got[model.OnDemand] != 4 {
		t.Errorf("pods by capacity type: %v, want 16 spot and 4 on-demand", got)
	}
	if got := w.perDomain(plan, key, "web"); countsOf(got) != "4 4 4 4 4" {
		t.Errorf("pods by virtual domain: %v", got)
	}
}

func TestF044PodsThatOptOutOfPoolsMakeNoNode(t *testing.T) {
	w := newWorld(32).pool("general", nil)
	w.pods("own", 1, needing(model.Requirement{Key: model.LabelNodePool, Operator: model.DoesNotExist}))
	plan := w.sound(t)
	if len(plan.Claims) != 0 || len(codes(plan, "own-00000")) == 0 {
		t.Errorf("claims = %+v", plan.Claims)
	}
	w.node("self-managed", nil)
	if plan := w.complete(t); nodeOf(plan, "own-00000") != "self-managed" {
		t.Errorf("nominations = %+v", plan.Nominations)
	}
}
