package catalogfile_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/catalogfile"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/speccases"
)

func file(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "catalog.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const full = `{"instanceTypes":[
  {"name":"z.large","capacity":{"cpu":"1500m","memory":"4Gi","pods":29,"nvidia.com/gpu":"1"},"overhead":{"cpu":"70m","memory":"600Mi"},
   "labels":{"kubernetes.io/arch":"arm64","team.example/size":"big"},
   "offers":[
     {"zone":"b","capacityType":"on-demand","pricePerHour":0.0832,"available":false},
     {"zone":"a","capacityType":"spot","pricePerHour":0.03},
     {"zone":"a","capacityType":"reserved","pricePerHour":0,"reservationId":"cr-1","reservationCapacity":3,"available":true}]},
  {"name":"a.large","capacity":{"cpu":2,"memory":"8Gi","pods":"110"},"offers":[{"zone":"a","capacityType":"on-demand","pricePerHour":0.1}]}]}`

func TestFileGivesTypesAsNodesSeeThem(t *testing.T) {
	want := []model.InstanceType{
		{
			Name:     "a.large",
			Capacity: model.Resources{"cpu": 2000, "memory": 8 << 30, "pods": 110},
			Overhead: model.Resources{},
			Labels: map[string][]string{"kubernetes.io/arch": {"amd64"}, "kubernetes.io/os": {"linux"}, "node.kubernetes.io/instance-type": {"a.large"},
				"topology.kubernetes.io/zone": {"a"}, "karpenter.sh/capacity-type": {"on-demand"}},
			Offerings: []model.Offering{{Zone: "a", CapacityType: "on-demand", Price: 100_000, Available: true}},
		},
		{
			Name:     "z.large",
			Capacity: model.Resources{"cpu": 1500, "memory": 4 << 30, "pods": 29, "nvidia.com/gpu": 1},
			Overhead: model.Resources{"cpu": 70, "memory": 600 << 20},
			Labels: map[string][]string{"kubernetes.io/arch": {"arm64"}, "kubernetes.io/os": {"linux"}, "node.kubernetes.io/instance-type": {"z.large"},
				"team.example/size": {"big"}, "topology.kubernetes.io/zone": {"a", "b"}, "karpenter.sh/capacity-type": {"on-demand", "reserved", "spot"},
				"karpenter.k8s.aws/capacity-reservation-id": {"cr-1"}},
			Offerings: []model.Offering{
				{Zone: "a", CapacityType: "reserved", Available: true, ReservationID: "cr-1", ReservationCapacity: 3},
				{Zone: "a", CapacityType: "spot", Price: 30_000, Available: true},
				{Zone: "b", CapacityType: "on-demand", Price: 83_200},
			},
		},
	}
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	if _, err := packer.Write([]byte(full)); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"plain": []byte(full), "compressed": packed.Bytes()} {
		got, err := catalogfile.Read(file(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, want)
		}
	}
}

func TestFileSaysWhichFieldIsWrong(t *testing.T) {
	const whole = `{"instanceTypes":[{"name":"a","capacity":{"cpu":"1","memory":"1Gi","pods":"9"},"offers":[{"zone":"a","capacityType":"spot","pricePerHour":1}]}]}`
	for _, c := range []struct{ name, old, new, want string }{
		{"no JSON", whole, `{`, "not JSON"},
		{"no types", whole, `{"instanceTypes":[]}`, "instanceTypes: it has no instance type"},
		{"another file", whole, `{"kind":"List"}`, "kind: no such field"},
		{"an unknown field", `"zone"`, `"zoen"`, "instanceTypes[0].offers[0].zoen: no such field"},
		{"no name", `"name":"a",`, ``, "instanceTypes[0].name: not set"},
		{"a name no label takes", `"name":"a"`, `"name":"a b"`, `instanceTypes[0].name: "a b": cannot be the value of a label`},
		{"two of one name", `]}]}`, `]},{"name":"a","capacity":{"cpu":"1","memory":"1Gi","pods":"9"},"offers":[{"zone":"a","capacityType":"spot","pricePerHour":1}]}]}`,
			`instanceTypes[1].name: "a": instanceTypes[0] has the same name`},
		{"no quantity", `"cpu":"1"`, `"cpu":"1x"`, `instanceTypes[0].capacity.cpu: "1x" is not a quantity`},
		{"an object for a quantity", `"cpu":"1"`, `"cpu":{}`, `instanceTypes[0].capacity.cpu: not a quantity`},
		{"a quantity below zero", `"cpu":"1"`, `"cpu":"-1"`, `instanceTypes[0].capacity.cpu: "-1": below zero`},
		{"no pods", `,"pods":"9"`, ``, `instanceTypes[0].capacity.pods: not set`},
		{"no resource", `"pods":"9"`, `"pods":"9","a b/c":"1"`, `instanceTypes[0].capacity["a b/c"]: not the name of a resource`},
		{"no label", `"offers"`, `"labels":{"a.b/c":"x y"},"offers"`, `instanceTypes[0].labels["a.b/c"]: "x y": not the value of a label`},
		{"no offers", `[{"zone":"a","capacityType":"spot","pricePerHour":1}]`, `[]`, "instanceTypes[0].offers: none"},
		{"no zone", `"zone":"a",`, ``, `instanceTypes[0].offers[0].zone: "": not a zone`},
		{"no capacity type", `"spot"`, `"on_demand"`, `instanceTypes[0].offers[0].capacityType: "on_demand": must be spot, on-demand or reserved`},
		{"no reservation", `"spot"`, `"reserved"`, `instanceTypes[0].offers[0].reservationId: not set`},
		{"a reservation of spot", `"spot"`, `"spot","reservationId":"x"`, `instanceTypes[0].offers[0].capacityType: "spot": only reserved offerings`},
		{"no price", `,"pricePerHour":1`, ``, `instanceTypes[0].offers[0].pricePerHour: not set`},
		{"a price below zero", `:1}`, `:-1}`, `instanceTypes[0].offers[0].pricePerHour: -1: must be from 0`},
		{"a price beyond reason", `:1}`, `:1e300}`, `instanceTypes[0].offers[0].pricePerHour: 1e+300: must be from 0`},
		{"a price that is no number", `:1}`, `:"NaN"}`, `instanceTypes[0].offers[0].pricePerHour: a string does not go here`},
		{"a slice without a driver", `"offers"`, `"resourceSlices":[{"devices":[{"name":"gpu-0"}]}],"offers"`,
			`instanceTypes[0].resourceSlices[0].driver: "": not the name of a driver`},
		{"a slice without devices", `"offers"`, `"resourceSlices":[{"driver":"d.example.com"}],"offers"`,
			`instanceTypes[0].resourceSlices[0].devices: none; list the devices`},
		{"a slice of one node", `"offers"`,
			`"resourceSlices":[{"driver":"d.example.com","nodeName":"n","devices":[{"name":"gpu-0"}]}],"offers"`,
			`instanceTypes[0].resourceSlices[0]: nodeName, nodeSelector`},
		{"a device twice", `"offers"`,
			`"resourceSlices":[{"driver":"d.example.com","devices":[{"name":"a"},{"name":"a"}]}],"offers"`,
			`instanceTypes[0].resourceSlices[0].devices[1].name: "a": another device`},
		{"a device without a name", `"offers"`, `"resourceSlices":[{"driver":"d.example.com","devices":[{}]}],"offers"`,
			`instanceTypes[0].resourceSlices[0].devices[0].name: "": `},
		{"an unknown field of a device", `"offers"`,
			`"resourceSlices":[{"driver":"d.example.com","devices":[{"name":"a","size":3}]}],"offers"`,
			`instanceTypes[0].resourceSlices[0].devices[0].size: no such field`},
		{"an offer twice", `:1}`, `:1},{"zone":"a","capacityType":"spot","pricePerHour":2}`, `instanceTypes[0].offers[1]: spot in a occurs twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(whole, c.old, c.new, 1)
			if text == whole {
				t.Fatal("the case changes nothing")
			}
			_, err := catalogfile.Read(file(t, []byte(text)))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "catalog.json") {
				t.Errorf("of\n%s\ngot  %v\nwant %s", text, err, c.want)
			}
		})
	}
}

func TestFileTellsOfAtMostTenMistakes(t *testing.T) {
	text := `{"instanceTypes":[` + strings.Repeat(`{},`, 100) + `{}]}`
	_, err := catalogfile.Read(file(t, []byte(text)))
	if err == nil || strings.Count(err.Error(), "\n") != 9 {
		t.Errorf("got %v", err)
	}
}

// FuzzFile gives any text as a catalog: it is refused, or every type of it is sound.
func FuzzFile(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"instanceTypes":[{"name":"a","capacity":{"cpu":1e9999}}]}`))
	kept, err := speccases.Kept()
	if err != nil {
		f.Fatal(err)
	}
	for _, catalog := range kept.Catalogs { // which is first does not matter
		f.Add([]byte(catalog))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(folder, "a.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		types, err := catalogfile.Read(path)
		if err != nil {
			return
		}
		for _, kind := range types {
			if kind.Name == "" || len(kind.Offerings) == 0 {
				t.Errorf("not sound: %+v", kind)
			}
			for _, amounts := range []model.Resources{kind.Capacity, kind.Overhead} {
				for name, amount := range amounts {
					if amount < 0 {
						t.Errorf("%s of %s is %d", name, kind.Name, amount)
					}
				}
			}
			for _, o := range kind.Offerings {
				if o.Price < 0 || o.Zone == "" {
					t.Errorf("not sound: %+v", o)
				}
			}
		}
	})
}

// M76: what drivers publish on nodes of a type is the specs of slices without a node, and says how many a pool has.
func TestM76CatalogsSayWhatDevicesTypesHave(t *testing.T) {
	const text = `{"instanceTypes":[{"name":"a","capacity":{"cpu":"1","memory":"1Gi","pods":"9"},"resourceSlices":[
	  {"driver":"d.example.com","devices":[{"name":"gpu-0","attributes":{"numa":{"int":1}},
	    "capacity":{"memory":{"value":"16Gi"}},
	    "consumesCounters":[{"counterSet":"set","counters":{"x":{"value":"2"}}}]}]},
	  {"driver":"d.example.com","sharedCounters":[{"name":"set","counters":{"x":{"value":"4"}}}]},
	  {"driver":"e.example.com","pool":{"name":"other"},"devices":[{"name":"nic-0"}]}],
	  "offers":[{"zone":"a","capacityType":"spot","pricePerHour":1}]}]}`
	types, err := catalogfile.Read(file(t, []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"driver":"d.example.com","pool":{"name":"d.example.com","generation":0,"resourceSliceCount":2},` +
			`"devices":[{"name":"gpu-0","attributes":{"numa":{"int":1}},"capacity":{"memory":{"value":"16Gi"}},` +
			`"consumesCounters":[{"counterSet":"set","counters":{"x":{"value":"2"}}}]}]}`,
		`{"driver":"d.example.com","pool":{"name":"d.example.com","generation":0,"resourceSliceCount":2},` +
			`"sharedCounters":[{"name":"set","counters":{"x":{"value":"4"}}}]}`,
		`{"driver":"e.example.com","pool":{"name":"other","generation":0,"resourceSliceCount":1},` +
			`"devices":[{"name":"nic-0"}]}`,
	}
	if !slices.Equal(types[0].ResourceSlices, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(types[0].ResourceSlices, "\n"), strings.Join(want, "\n"))
	}
}
