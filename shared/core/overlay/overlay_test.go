package overlay_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/overlay"
	"github.com/joiner-sh/joiner/shared/model"
)

const fuse, huge = "smarter-devices/fuse", "hugepages-1Gi"

// instanceType is one with offerings written as "zone/capacity type/price in dollars".
func instanceType(name string, offerings ...string) model.InstanceType {
	t := model.InstanceType{
		Name:     name,
		Labels:   map[string][]string{model.LabelInstanceType: {name}, model.LabelArch: {"amd64"}},
		Capacity: model.Resources{model.CPU: 4000, model.Memory: 16 << 30, model.Pods: 110},
		Overhead: model.Resources{model.Memory: 1 << 30},
	}
	for _, text := range offerings {
		part := strings.Split(text, "/")
		var dollars float64
		if _, err := fmt.Sscan(part[2], &dollars); err != nil {
			panic(err)
		}
		t.Offerings = append(t.Offerings, model.Offering{
			Zone: part[0], CapacityType: part[1], Price: model.MicroUSD(dollars*1e6 + 0.5), Available: true,
		})
	}
	return t
}

func pool(name string, labels map[string]string) model.Pool {
	return model.Pool{Name: name, Template: model.Template{ClassName: "default", Labels: labels}}
}

func in(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}

// priced returns an overlay that replaces the price or, with a sign, adjusts it.
func priced(name string, weight int32, price string, requirements ...model.Requirement) model.Overlay {
	o := model.Overlay{Name: name, UID: name, Generation: 1, Weight: weight, Requirements: requirements}
	if strings.HasPrefix(price, "+") || strings.HasPrefix(price, "-") {
		o.PriceAdjustment = price
	} else {
		o.Price = price
	}
	return o
}

func adding(name string, weight int32, capacity model.Resources, requirements ...model.Requirement) model.Overlay {
	return model.Overlay{Name: name, UID: name, Generation: 1, Weight: weight, Requirements: requirements,
		Capacity: capacity}
}

// seen writes what pools see where it is something else than what their class has: pool, type, offerings with their
// prices, and capacity that overlays added.
func seen(result overlay.Result) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(result.Catalogs)) {
		for _, t := range result.Catalogs[name] {
			for _, o := range t.Offerings {
				if o.Overlaid {
					out = append(out, fmt.Sprintf("%s %s %s/%s %.3f", name, t.Name, o.Zone, o.CapacityType,
						o.Price.USD()))
				}
			}
			for _, resource := range []string{fuse, huge} {
				if amount, has := t.Capacity[resource]; has && t.Extended {
					out = append(out, fmt.Sprintf("%s %s %s=%d", name, t.Name, resource, amount))
				}
			}
		}
	}
	return out
}

func problems(result overlay.Result) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(result.Problems)) {
		out = append(out, name+" "+result.Problems[name].Reason)
	}
	return out
}

// The cases are those of Karpenter's own specs of NodeOverlays: inputs and expectations, as data.
func TestF092F093OverlaysChangeWhatKarpentersWould(t *testing.T) {
	one := instanceType("one", "1/spot/1.02")
	three := instanceType("three", "1/spot/1.02", "2/on-demand/2.02", "4/reserved/4.02")
	apart := []model.InstanceType{instanceType("a", "1/spot/1.02"), instanceType("b", "2/on-demand/2.02"),
		instanceType("c", "4/reserved/4.02")}
	byName := func(names ...string) model.Requirement { return in(model.LabelInstanceType, names...) }
	zone := func(zones ...string) model.Requirement { return in(model.LabelZone, zones...) }
	buying := func(capacityType string) model.Requirement { return in(model.LabelCapacityType, capacityType) }
	conflict := func(name string) []string { return []string{name + " Conflict"} }
	plain, second := pool("default", nil), pool("second", map[string]string{"team": "blue"})
	tests := []struct {
		name     string
		types    []model.InstanceType
		pools    []model.Pool
		overlays []model.Overlay
		seen     []string
		problems []string
	}{
		{"F092 none", []model.InstanceType{one}, []model.Pool{plain}, nil, nil, nil},
		{"F092 a price", []model.InstanceType{one}, []model.Pool{plain}, []model.Overlay{priced("a", 0, "13234.223",
			byName("one"))},
			[]string{"default one 1/spot 13234.223"}, nil},
		{"F092 an adjustment", []model.InstanceType{one}, []model.Pool{plain}, []model.Overlay{priced("a", 0, "+1000",
			byName("one"))},
			[]string{"default one 1/spot 1001.020"}, nil},
		{"F092 one capacity type", []model.InstanceType{three}, []model.Pool{plain}, []model.Overlay{priced("a", 0,
			"+1000", buying("on-demand"))},
			[]string{"default three 2/on-demand 1002.020"}, nil},
		{"F092 zones", []model.InstanceType{three}, []model.Pool{plain}, []model.Overlay{priced("a", 0, "121.421",
			zone("1", "4"))},
			[]string{"default three 1/spot 121.421", "default three 4/reserved 121.421"}, nil},
		{"F092 another instance type", []model.InstanceType{one}, []model.Pool{plain}, []model.Overlay{priced("a", 0,
			"5", byName("other"))}, nil, nil},
		{"F092 all NodePools", []model.InstanceType{one}, []model.Pool{plain, second}, []model.Overlay{priced("a", 0,
			"5")},
			[]string{"default one 1/spot 5.000", "second one 1/spot 5.000"}, nil},
		{"F092 a NodePool", []model.InstanceType{one}, []model.Pool{plain, second}, []model.Overlay{priced("a", 0, "5",
			in(model.LabelNodePool, "second"))},
			[]string{"second one 1/spot 5.000"}, nil},
		{"F092 a label of a template", []model.InstanceType{one}, []model.Pool{plain, second},
			[]model.Overlay{priced("a", 0, "5", in("team", "blue"))},
			[]string{"second one 1/spot 5.000"}, nil},
		{"F092 a label that templates lack", []model.InstanceType{one}, []model.Pool{plain, second},
			[]model.Overlay{priced("a", 0, "5", model.Requirement{Key: "team", Operator: model.DoesNotExist})},
			[]string{"default one 1/spot 5.000"}, nil},
		{"F092 two overlays of one weight on different offerings", []model.InstanceType{three}, []model.Pool{plain},
			[]model.Overlay{priced("a", 10, "+201", zone("2", "4")), priced("b", 10, "-0.5", buying("spot"))},
			[]string{"default three 1/spot 0.520", "default three 2/on-demand 203.020",
				"default three 4/reserved 205.020"}, nil},
		{"F092 the heavier one counts, the lighter one fills gaps", []model.InstanceType{three}, []model.Pool{plain},
			[]model.Overlay{priced("a", 10, "7", zone("1", "2")), priced("b", 20, "9", zone("2", "4"))},
			[]string{"default three 1/spot 7.000", "default three 2/on-demand 9.000", "default three 4/reserved 9.000"},
			nil},
		{"F092 unset weighs less than 1", []model.InstanceType{one}, []model.Pool{plain}, []model.Overlay{priced("b", 0,
			"7"), priced("a", 1, "9")},
			[]string{"default one 1/spot 9.000"}, nil},
		{"F092 capacity", []model.InstanceType{one}, []model.Pool{plain}, []model.Overlay{adding("a", 0,
			model.Resources{fuse: 1}, byName("one"))},
			[]string{"default one " + fuse + "=1"}, nil},
		{"F092 capacity of a NodePool", []model.InstanceType{one}, []model.Pool{plain, second},
			[]model.Overlay{adding("a", 0, model.Resources{fuse: 1}, in(model.LabelNodePool, "default"))},
			[]string{"default one " + fuse + "=1"}, nil},
		{"F092 capacity where any offering matches", []model.InstanceType{three}, []model.Pool{plain},
			[]model.Overlay{adding("a", 0, model.Resources{fuse: 1}, zone("4"))},
			[]string{"default three " + fuse + "=1"}, nil},
		{"F092 two resources of one weight", []model.InstanceType{one}, []model.Pool{plain},
			[]model.Overlay{adding("a", 10, model.Resources{fuse: 1}), adding("b", 10, model.Resources{huge: 2 << 30})},
			[]string{"default one " + fuse + "=1", "default one " + huge + "=2147483648"}, nil},
		{"F092 the heavier amount", []model.InstanceType{one}, []model.Pool{plain},
			[]model.Overlay{adding("a", 10, model.Resources{fuse: 5, huge: 1 << 30}), adding("b", 20,
				model.Resources{fuse: 99})},
			[]string{"default one " + fuse + "=99", "default one " + huge + "=1073741824"}, nil},
		{"F092 price and capacity of two overlays", []model.InstanceType{one}, []model.Pool{plain},
			[]model.Overlay{priced("a", 10, "5"), adding("b", 10, model.Resources{fuse: 1})},
			[]string{"default one 1/spot 5.000", "default one " + fuse + "=1"}, nil},
		{"F093 prices", []model.InstanceType{one}, []model.Pool{plain}, []model.Overlay{priced("a", 10, "1.03"),
			priced("b", 10, "23")},
			[]string{"default one 1/spot 23.000"}, conflict("a")},
		{"F093 adjustments", []model.InstanceType{one}, []model.Pool{plain}, []model.Overlay{priced("a", 10, "+54"),
			priced("b", 10, "-2")},
			[]string{"default one 1/spot 0.000"}, conflict("a")},
		{"F093 the same price", []model.InstanceType{one}, []model.Pool{plain}, []model.Overlay{priced("a", 10, "100"),
			priced("b", 10, "100")},
			[]string{"default one 1/spot 100.000"}, conflict("a")},
		{"F093 price and adjustment", []model.InstanceType{one}, []model.Pool{plain}, []model.Overlay{priced("a", 0,
			"+1"), priced("b", 0, "23")},
			[]string{"default one 1/spot 23.000"}, conflict("a")},
		{"F093 overlapping zones", []model.InstanceType{three}, []model.Pool{plain},
			[]model.Overlay{priced("a", 10, "5", zone("1", "2")), priced("b", 10, "6", zone("2", "4"))},
			[]string{"default three 2/on-demand 6.000", "default three 4/reserved 6.000"}, conflict("a")},
		{"F093 a zone and a capacity type that overlap", []model.InstanceType{three}, []model.Pool{plain},
			[]model.Overlay{priced("a", 10, "5", buying("spot")), priced("b", 10, "6", zone("1"))},
			[]string{"default three 1/spot 6.000"}, conflict("a")},
		{"F093 a third of the weight, below a heavier one", []model.InstanceType{one}, []model.Pool{plain},
			[]model.Overlay{priced("a", 10, "5"), priced("b", 10, "6"), priced("c", 20, "7")},
			[]string{"default one 1/spot 7.000"}, conflict("a")},
		{"F093 wholly ignored for instance types", apart, []model.Pool{plain},
			[]model.Overlay{priced("a", 10, "5", byName("a", "b")), priced("b", 10, "6", byName("b", "c"))},
			[]string{"default b 2/on-demand 6.000", "default c 4/reserved 6.000"}, conflict("a")},
		{"F093 wholly ignored for NodePools", []model.InstanceType{one}, []model.Pool{plain, second},
			[]model.Overlay{priced("a", 10, "5"), priced("b", 10, "6", in(model.LabelNodePool, "second"))},
			[]string{"second one 1/spot 6.000"}, conflict("a")},
		{"F093 amounts", []model.InstanceType{one}, []model.Pool{plain},
			[]model.Overlay{adding("a", 10, model.Resources{fuse: 1}), adding("b", 10, model.Resources{fuse: 2})},
			[]string{"default one " + fuse + "=2"}, conflict("a")},
		{"F093 the same amount", []model.InstanceType{one}, []model.Pool{plain},
			[]model.Overlay{adding("a", 10, model.Resources{fuse: 1}), adding("b", 10, model.Resources{fuse: 1})},
			[]string{"default one " + fuse + "=1"}, conflict("a")},
		{"F093 amounts, with one between that changes something else", []model.InstanceType{one}, []model.Pool{plain},
			[]model.Overlay{adding("a", 10, model.Resources{huge: 2 << 30}), adding("b", 10, model.Resources{fuse: 1}),
				adding("c", 10, model.Resources{huge: 3 << 30})},
			[]string{"default one " + fuse + "=1", "default one " + huge + "=3221225472"}, conflict("a")},
		{"F093 amounts wholly ignored, price included", []model.InstanceType{one}, []model.Pool{plain},
			[]model.Overlay{{Name: "a", Weight: 10, Price: "5", Capacity: model.Resources{fuse: 1}}, adding("b", 10,
				model.Resources{fuse: 2})},
			[]string{"default one " + fuse + "=2"}, conflict("a")},
		{"F093 an invalid one conflicts with none", []model.InstanceType{one}, []model.Pool{plain},
			[]model.Overlay{priced("a", 10, "5"), {Name: "b", Weight: 10, Price: "6",
				Invalid: []string{"spec.price: wrong"}}},
			[]string{"default one 1/spot 5.000"}, []string{"b RuntimeValidation"}},
		{"F020 a price that is none", []model.InstanceType{one}, []model.Pool{plain}, []model.Overlay{priced("a", 0,
			"many")}, nil, []string{"a RuntimeValidation"}},
		{"F020 an operator that is none", []model.InstanceType{one}, []model.Pool{plain},
			[]model.Overlay{priced("a", 0, "5", model.Requirement{Key: model.LabelZone, Operator: "Near",
				Values: []string{"1"}})}, nil, []string{"a RuntimeValidation"}},
		{"a NodePool whose class has no instance types", nil, []model.Pool{plain}, []model.Overlay{priced("a", 0, "5")},
			nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			catalogs := map[string][]model.InstanceType{"default": test.types}
			if test.types == nil {
				delete(catalogs, "default")
			}
			before := fmt.Sprintf("%+v", test.types)
			for range 2 { // the order of overlays does not matter
				got := overlay.Apply(test.overlays, test.pools, catalogs)
				if !slices.Equal(seen(got), test.seen) || !slices.Equal(problems(got), test.problems) {
					t.Errorf("got %q, problems %q\nwant %q, problems %q", seen(got), problems(got), test.seen,
						test.problems)
				}
				slices.Reverse(test.overlays)
			}
			if after := fmt.Sprintf("%+v", test.types); after != before {
				t.Error("Apply wrote to what it was given")
			}
		})
	}
}

// The first cases are those of Karpenter's own unit specs.
func TestF092PricesAreReplacedAddedToAndScaled(t *testing.T) {
	tests := []struct {
		change       string
		before, want model.MicroUSD
	}{
		{"80.0", 82781_000_000, 80_000_000}, {"+100", 1_000, 100_001_000}, {"+0.0001", 100, 200},
		{"-100%", 5_000_000, 0}, {"-10%", 1_000_000, 900_000}, {"+10%", 1_000_000, 1_100_000}, {"+298%", 1_000_000,
			3_980_000},
		{"-5", 1_000_000, 0}, {"-0.5", 1_000_000, 500_000}, {"0", 1_000_000, 0}, {"+.5", 0, 500_000}, {"+0.5%", 100,
			101}, {"-0.5%", 100, 100},
		{"99999999999999999999", 1, 1_000_000_000_000},
	}
	for _, test := range tests {
		types := []model.InstanceType{instanceType("one", "1/spot/0")}
		types[0].Offerings[0].Price = test.before
		result := overlay.Apply([]model.Overlay{priced("a", 0, test.change)}, []model.Pool{pool("default", nil)},
			map[string][]model.InstanceType{"default": types})
		if len(result.Problems) > 0 || result.Catalogs["default"] == nil {
			t.Errorf("%s: %+v", test.change, result)
		} else if got := result.Catalogs["default"][0].Offerings[0].Price; got != test.want {
			t.Errorf("%s of %d is %d, want %d", test.change, test.before, got, test.want)
		}
	}
}

// PR-04: what is not sold for want of a price alone is, at a price that people set, and not at one that is adjusted.
func TestPR04OverlayPricesWhatHasNoPrice(t *testing.T) {
	for change, want := range map[string]bool{"2.5": true, "0": true, "+2.5": false, "+10%": false} {
		types := []model.InstanceType{instanceType("preview", "1/on-demand/0", "2/on-demand/0")}
		for i := range types[0].Offerings {
			types[0].Offerings[i].Available = false
		}
		types[0].Offerings[0].Unpriced = true // the other one is out of reach besides
		got := overlay.Apply([]model.Overlay{priced("a", 0, change, in(model.LabelInstanceType, "preview"))},
			[]model.Pool{pool("default", nil)},
			map[string][]model.InstanceType{"default": types}).Catalogs["default"][0].Offerings
		if got[0].Available != want || got[1].Available {
			t.Errorf("%s: available %v and %v, want %v and false", change, got[0].Available, got[1].Available, want)
		}
	}
}

func TestF092HugePagesAreTakenFromMemory(t *testing.T) {
	apply := func(pages int64) model.Resources {
		types := []model.InstanceType{instanceType("one", "1/spot/1")}
		result := overlay.Apply([]model.Overlay{adding("a", 0, model.Resources{huge: pages, fuse: 3})},
			[]model.Pool{pool("default", nil)},
			map[string][]model.InstanceType{"default": types})
		return result.Catalogs["default"][0].Allocatable()
	}
	if got := apply(4 << 30); got[model.Memory] != 11<<30 || got[huge] != 4<<30 || got[fuse] != 3 {
		t.Errorf("%v", got)
	}
	if got := apply(64 << 30); got[model.Memory] != 0 {
		t.Errorf("memory %d, want 0", got[model.Memory])
	}
}

func TestF093StatusSaysWhatToDo(t *testing.T) {
	overlays := []model.Overlay{priced("a", 10, "5"), priced("b", 10, "6")}
	types := map[string][]model.InstanceType{"default": {instanceType("one", "1/spot/1")}}
	problem := overlay.Apply(overlays, []model.Pool{pool("default", nil)}, types).Problems["a"]
	for _, part := range []string{"NodeOverlay b", "the price of one", "NodePool default", "spec.weight"} {
		if !strings.Contains(problem.Message, part) {
			t.Errorf("%q lacks %q", problem.Message, part)
		}
	}
	want := model.OverlayStatus{Status: "False", Reason: "Conflict", Message: problem.Message, Generation: 1}
	if got := overlay.Status(&overlays[0], &problem); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := overlay.Status(&overlays[1], nil); got.Status != "True" || got.Generation != 1 {
		t.Errorf("%+v", got)
	}
}
