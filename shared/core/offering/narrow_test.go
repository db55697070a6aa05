package offering

import (
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

func narrowTypes() []model.InstanceType {
	arm := large()
	arm.Name, arm.Arch, arm.Offerings = "m6g.large", "arm64", soldIn(80_000, "b")
	return Catalog([]model.InstanceTypeInfo{large(), arm}, class(nil), Settings{Region: "eu-west-1"})
}

func list(items ...model.Requirement) []model.Requirement { return items }

func TestMatchesAreTypesWithTheOfferingsThatMeetEverything(t *testing.T) {
	wanted, err := requirement.From(list(in(model.LabelZone, "b", "c"), in(model.LabelCapacityType, model.Spot), in("team", "a"), in(model.LabelNodePool, "x")))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, m := range Matches(narrowTypes(), wanted) {
		for _, o := range m.Offerings {
			got[m.Type.Name] = append(got[m.Type.Name], o.Zone+" "+o.CapacityType)
		}
	}
	if want := map[string][]string{"m5.large": {"b spot", "c spot"}, "m6g.large": {"b spot"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestExcludesNamesTheFirstThatLeavesNothing(t *testing.T) {
	arch, zone := model.LabelArch, model.LabelZone
	for name, c := range map[string]struct {
		list []model.Requirement
		want Exclusion
		why  string
	}{
		"by itself": {list(in(zone, "a"), in(arch, "s390x")), Exclusion{Index: 1, Before: 1, Alone: true, With: -1, Values: []string{"amd64"}}, "no instance type has kubernetes.io/arch In [s390x]; amd64 is offered"},
		"with one before it": {list(in(model.LabelCapacityType, model.Spot), in(arch, "arm64"), in(zone, "a")),
			Exclusion{Index: 2, Before: 1, With: 1, Values: []string{"b"}}, "topology.kubernetes.io/zone In [a] and kubernetes.io/arch In [arm64] exclude each other; b is offered"},
		"with several before it": {list(in(arch, "arm64"), in(model.LabelInstanceType, "m6g.large"), in(zone, "a")),
			Exclusion{Index: 2, Before: 1, With: -1, Values: []string{"b"}}, "none of the 1 instance types that the earlier requirements allow has topology.kubernetes.io/zone In [a]; b is offered"},
		"a label nothing has": {list(in("karpenter.k8s.aws/instance-gpu-name", "t4")), Exclusion{Alone: true, Before: 2, With: -1}, "no instance type has karpenter.k8s.aws/instance-gpu-name In [t4]"},
	} {
		got, found := Excludes(narrowTypes(), c.list)
		if !found || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
			continue
		}
		if why := got.Why(c.list); why != c.why {
			t.Errorf("%s: %s", name, why)
		}
	}
	for name, l := range map[string][]model.Requirement{
		"something is left": list(in(arch, "arm64")), "none": nil, "one cannot be read": list(in("a b", "x"), in(arch, "s390x")),
	} {
		if got, found := Excludes(narrowTypes(), l); found {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, found := Excludes(nil, list(in(arch, "amd64"))); found {
		t.Error("of nothing something is left out")
	}
	if got := AbbreviateValues(strings.Split("abcdefgh", "")); got != "a, b, c, d, e, f and 2 more" {
		t.Errorf("%s", got)
	}
}
