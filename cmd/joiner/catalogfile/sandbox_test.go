package catalogfile_test

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/catalogfile"
	"github.com/joiner-sh/joiner/shared/model"
)

func sandbox(t *testing.T) *catalogfile.Region {
	t.Helper()
	region, err := catalogfile.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	return region
}

func typeOf(t *testing.T, types []model.InstanceType, name string) model.InstanceType {
	t.Helper()
	i := slices.IndexFunc(types, func(t model.InstanceType) bool { return t.Name == name })
	if i < 0 {
		t.Fatalf("no %s among %d types", name, len(types))
	}
	return types[i]
}

func TestSandboxSellsEC2TypesInEveryZoneToAClassNobodyResolved(t *testing.T) {
	region := sandbox(t)
	types := region.Types(model.Class{Name: "default", Family: "AL2023"})
	if len(types) < 600 {
		t.Errorf("%d types", len(types))
	}
	large := typeOf(t, types, "m7i.large")
	if large.Capacity[model.CPU] != 2000 || large.Capacity[model.Pods] != 29 || !slices.Equal(large.Labels[model.LabelArch], []string{"amd64"}) {
		t.Errorf("%+v", large)
	}
	for _, o := range large.Offerings {
		if !o.Available || o.Price <= 0 {
			t.Errorf("%+v", o)
		}
	}
	if len(large.Offerings) != 6 || !slices.Equal(region.Zones(), []string{"us-west-2a", "us-west-2b", "us-west-2c"}) {
		t.Errorf("%d offers, zones %v", len(large.Offerings), region.Zones())
	}
}

func TestSandboxSellsAResolvedClassOnlyWhereItHasASubnet(t *testing.T) {
	class := model.Class{Name: "default", Family: "AL2023", Status: model.ClassStatus{Subnets: []model.Subnet{{ID: "s", Zone: "us-west-2b"}}}}
	for _, o := range typeOf(t, sandbox(t).Types(class), "m7i.large").Offerings {
		if o.Available != (o.Zone == "us-west-2b") {
			t.Errorf("%+v", o)
		}
	}
}

func TestSandboxMovesToTheClustersZones(t *testing.T) {
	region := sandbox(t)
	if region.WithZones(nil) != region || region.WithZones([]string{"us-west-2a"}) != region {
		t.Error("zones of its own move it nowhere")
	}
	moved := region.WithZones([]string{"eu-west-1a", "eu-west-1b"})
	if moved.Name != "eu-west-1" || !slices.Equal(moved.Zones(), []string{"eu-west-1a", "eu-west-1b"}) {
		t.Errorf("%s %v", moved.Name, moved.Zones())
	}
	here, there := typeOf(t, region.Types(model.Class{}), "m7i.large"), typeOf(t, moved.Types(model.Class{}), "m7i.large")
	if there.Offerings[1].Zone != "eu-west-1a" || there.Offerings[1].Price != here.Offerings[1].Price || len(there.Offerings) != 4 {
		t.Errorf("%+v", there.Offerings)
	}
	if !slices.Equal(there.Labels[model.LabelRegion], []string{"eu-west-1"}) || !slices.Equal(region.Zones(), sandbox(t).Zones()) {
		t.Errorf("%v", there.Labels)
	}
}
