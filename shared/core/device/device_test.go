package device

import (
	"fmt"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

const now = 1_780_000_000

func node(name, instanceType string, age int64) model.Node {
	return model.Node{Name: name, CreatedUnix: now - age,
		Labels: map[string]string{model.LabelInstanceType: instanceType}}
}

func slice(node, spec string) model.ResourceSlice {
	return model.ResourceSlice{Name: node, Driver: "d.example.com", Node: node, Spec: fmt.Sprintf(
		`{"driver":"d.example.com","nodeName":%q,"pool":{"name":%q,"resourceSliceCount":1},%s}`, node, node, spec)}
}

// world is a cluster with one class, a claim for so many devices and a pod that has it.
func world(count int, more string) *model.Snapshot {
	return &model.Snapshot{
		DeviceClasses: []model.DeviceClass{{Name: "c",
			Spec: `{"selectors":[{"cel":{"expression":"` +
				`device.driver in ['d.example.com','gpu.nvidia.com','neuron.aws.com']"}}]}`}},
		ResourceClaimTemplates: []model.ResourceClaimTemplate{{Namespace: "n", Name: "t", Spec: fmt.Sprintf(
			`{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","allocationMode":"ExactCount",`+
				`"count":%d%s}}]}}`, count, more)}},
		Shapes: []model.PodShape{{DynamicResource: true, DeviceClaims: []model.PodClaim{{Name: "x", Template: "t"}}}},
		Pods:   []model.Pod{{Namespace: "n", Name: "p", UID: "p"}},
	}
}

func claimsOf(t *testing.T, x *Index) *Claims {
	t.Helper()
	claims, problem := x.ClaimsOf(&x.snapshot.Pods[0], &x.snapshot.Shapes[0])
	if problem != nil {
		t.Fatal(problem.Message)
	}
	return claims
}

// times returns how often devices suffice for the claims.
func times(d *Devices, claims *Claims) int {
	for n := 0; ; n++ {
		if d = d.Take(claims); d == nil {
			return n
		}
	}
}

// New nodes have the devices of the healthiest node of their type, and none of what is of one device alone.
func TestF095NewNodesHaveTheDevicesOfTheHealthiestNode(t *testing.T) {
	s := world(1, "")
	s.Nodes = []model.Node{node("a", "x", 5000), node("b", "x", 5000), node("c", "y", 5000)}
	s.ResourceSlices = []model.ResourceSlice{
		slice("a", `"devices":[{"name":"0","taints":[{"key":"k","effect":"NoExecute"}]},{"name":"1"},{"name":"2"}]`),
		slice("b", `"devices":[{"name":"0"},{"name":"1"}]`), slice("c", `"devices":[{"name":"0"}]`)}
	x := New(s, nil, nil, now)
	for kind, want := range map[string]int{"x": 2, "y": 1, "z": 0} {
		if got := times(x.OfType(kind), claimsOf(t, x)); got != want {
			t.Errorf("type %s: devices for %d pods, want %d", kind, got, want)
		}
	}
	s = world(1, `,"selectors":[{"cel":{"expression":"device.attributes['d.example.com'].uuid == '7'"}}]`)
	s.Nodes = []model.Node{node("a", "x", 5000)}
	s.ResourceSlices = []model.ResourceSlice{slice("a",
		`"devices":[{"name":"0","attributes":{"uuid":{"string":"7"}}}]`)}
	x = New(s, nil, nil, now)
	if got := times(x.OfNode("a"), claimsOf(t, x)); got != 1 {
		t.Errorf("the node itself has the device %d times", got)
	}
	if got := times(x.OfType("x"), claimsOf(t, x)); got != 0 {
		t.Errorf("a new node is to have the very device of another, %d times", got)
	}
}

// Devices that draw on shared counters are as many as the counters allow.
func TestF095SharedCountersBoundDevices(t *testing.T) {
	s := world(1, `,"selectors":[{"cel":{"expression":"device.attributes['d.example.com'].half"}}]`)
	s.Nodes = []model.Node{node("a", "x", 5000)}
	var devices []string
	for i := range 4 {
		devices = append(devices, fmt.Sprintf(`{"name":"h%d","attributes":{"half":{"bool":true}},`+
			`"consumesCounters":[{"counterSet":"s","counters":{"memory":{"value":"20Gi"}}}]}`, i))
	}
	counters := slice("a", `"sharedCounters":[{"name":"s","counters":{"memory":{"value":"40Gi"}}}]`)
	parts := slice("a", `"devices":[`+strings.Join(devices, ",")+`]`)
	counters.Name, parts.Name = "a-counters", "a-devices"
	counters.Spec = strings.Replace(counters.Spec, `"resourceSliceCount":1`, `"resourceSliceCount":2`, 1)
	parts.Spec = strings.Replace(parts.Spec, `"resourceSliceCount":1`, `"resourceSliceCount":2`, 1)
	s.ResourceSlices = []model.ResourceSlice{counters, parts}
	x := New(s, nil, nil, now)
	if got := times(x.OfNode("a"), claimsOf(t, x)); got != 2 {
		t.Errorf("40Gi are enough for %d devices of 20Gi", got)
	}
	if got := times(x.OfType("x"), claimsOf(t, x)); got != 2 {
		t.Errorf("on a new node 40Gi are enough for %d devices of 20Gi", got)
	}
}

// Of a type of which there was no node EC2 says how many devices it has, as long as no node shows that it has none.
func TestF095DevicesAreAssumedUntilANodeShowsOtherwise(t *testing.T) {
	catalogs := map[string][]model.InstanceType{"default": {
		{Name: "g", Labels: map[string][]string{requirement.InstanceGPUManufacturer: {"nvidia"},
			requirement.InstanceGPUName: {"h100"}, requirement.InstanceGPUCount: {"8"},
			requirement.InstanceGPUMemory: {"81920"}}},
		{Name: "t", Labels: map[string][]string{model.LabelInstanceType: {"t"},
			requirement.InstanceAcceleratorManufacturer: {"aws"}, requirement.InstanceAcceleratorCount: {"16"}}},
	}}
	for _, c := range []struct{ kind, selector string }{
		{"g", `device.attributes['gpu.nvidia.com'].architecture == 'Hopper' && ` +
			`device.capacity['gpu.nvidia.com'].memory` +
			`.compareTo(quantity('80Gi')) >= 0 && device.attributes['gpu.nvidia.com'].cudaComputeCapability` +
			`.isGreaterThan(semver('8.9.0'))`},
		{"t", `device.attributes['neuron.aws.com'].instanceType == 't'`},
	} {
		for age, want := range map[int64]int{-1: 4, 60: 4, 3600: 0} {
			s := world(2, `,"selectors":[{"cel":{"expression":"`+c.selector+`"}}]`)
			if age >= 0 {
				s.Nodes = []model.Node{node("a", c.kind, age)}
			}
			if c.kind == "t" && want > 0 {
				want = 8
			}
			x := New(s, catalogs, nil, now)
			if got := times(x.OfType(c.kind), claimsOf(t, x)); got != want {
				t.Errorf("type %s, node of %d seconds: devices for %d pods, want %d (%v)", c.kind, age, got, want,
					x.OfType(c.kind).Err(claimsOf(t, x)))
			}
			if got := times(x.OfNode("a"), claimsOf(t, x)); age >= 0 && got != want {
				t.Errorf("type %s: the node of %d seconds has devices for %d pods, want %d", c.kind, age, got, want)
			}
		}
	}
}

// M76: of a type of which no node has published devices, its catalog says what it has; once one has, that counts.
func TestF095CatalogsSayWhatNodesOfATypeHave(t *testing.T) {
	s := world(1, "")
	catalogs := map[string][]model.InstanceType{"c": {{Name: "x", ResourceSlices: []string{
		`{"driver":"d.example.com","pool":{"name":"p","resourceSliceCount":1},"devices":[{"name":"0"},{"name":"1"}]}`}},
		{Name: "g", Labels: map[string][]string{requirement.InstanceGPUManufacturer: {"nvidia"},
			requirement.InstanceGPUName: {"t4"}, requirement.InstanceGPUCount: {"4"}},
			ResourceSlices: []string{`{"driver":"gpu.nvidia.com","pool":{"name":"p","resourceSliceCount":1},` +
				`"devices":[{"name":"0"}]}`}}}}
	x := New(s, catalogs, nil, now)
	claims := claimsOf(t, x)
	if got := times(x.OfType("x"), claims); got != 2 {
		t.Errorf("the catalog lists two devices, and claims for one fit %d times", got)
	}
	if got := times(x.OfType("g"), claims); got != 1 {
		t.Errorf("the catalog lists one GPU where EC2 says four, and claims for one fit %d times", got)
	}
	s.Nodes = []model.Node{node("a", "x", 5000)}
	s.ResourceSlices = []model.ResourceSlice{slice("a", `"devices":[{"name":"0"},{"name":"1"},{"name":"2"}]`)}
	x = New(s, catalogs, nil, now)
	if got := times(x.OfType("x"), claimsOf(t, x)); got != 3 {
		t.Errorf("a node of the type has three devices, and claims for one fit %d times", got)
	}
}

// M76: a claim as a person writes it, which no API server has filled in, asks for one device.
func TestF095ManifestsOfClaimsAskForOneDevice(t *testing.T) {
	s := world(1, "")
	for _, request := range []string{`"exactly":{"deviceClassName":"c"}`,
		`"firstAvailable":[{"name":"a","deviceClassName":"c","count":9},{"name":"b","deviceClassName":"c"}]`} {
		s.ResourceClaimTemplates[0].Spec = `{"devices":{"requests":[{"name":"r",` + request + `}]}}`
		s.Nodes = []model.Node{node("a", "x", 5000)}
		s.ResourceSlices = []model.ResourceSlice{slice("a", `"devices":[{"name":"0"},{"name":"1"}]`)}
		x := New(s, nil, nil, now)
		if got := times(x.OfNode("a"), claimsOf(t, x)); got != 2 {
			t.Errorf("%s fits %d times on a node with two devices", request, got)
		}
	}
}

// What is taken of the devices of one node is not taken of those that a young node of its type will have.
func TestF095DevicesOfYoungNodesAreFreeWhereThoseOfOthersAreTaken(t *testing.T) {
	s := world(1, "")
	s.Nodes = []model.Node{node("a", "x", 5000), node("b", "x", 60)}
	s.ResourceSlices = []model.ResourceSlice{slice("a", `"devices":[{"name":"0"},{"name":"1"}]`)}
	s.ResourceClaims = []model.ResourceClaim{{Namespace: "n", Name: "other-x", PodUID: "other", PodClaim: "x",
		ReservedFor: []string{"other"}, Spec: s.ResourceClaimTemplates[0].Spec,
		Allocation: `{"devices":{"results":[{"request":"r","driver":"d.example.com","pool":"a","device":"0"}]}}`,
		Affinity: []model.NodeTerm{{Fields: []model.Requirement{
			{Key: "metadata.name", Operator: model.In, Values: []string{"a"}}}}}}}
	x := New(s, nil, nil, now)
	for name, want := range map[string]int{"a": 1, "b": 2} {
		if got := times(x.OfNode(name), claimsOf(t, x)); got != want {
			t.Errorf("node %s has free devices for %d pods, want %d", name, got, want)
		}
	}
}

// F095: kube-scheduler makes one claim for all extended resources of a pod. It is counted once, allocated or not.
func TestF095OneClaimForTwoExtendedResourcesIsCountedOnce(t *testing.T) {
	const nodes, spec = `"devices":[{"name":"g0"},{"name":"g1"},{"name":"g2"},{"name":"g3"}]`,
		`{"devices":{"requests":[{"name":"container-0-request-0","exactly":{"deviceClassName":"c",` +
			`"allocationMode":"ExactCount","count":1}},{"name":"container-0-request-1","exactly":` +
			`{"deviceClassName":"c","allocationMode":"ExactCount","count":1}}]}}`
	at := []model.NodeTerm{{Fields: []model.Requirement{
		{Key: "metadata.name", Operator: model.In, Values: []string{"a"}}}}}
	made := model.ResourceClaim{Namespace: "n", Name: "p-extended-resources-1", PodUID: "p", Spec: spec}
	allocated := made
	allocated.ReservedFor, allocated.Affinity = []string{"p"}, at
	allocated.Allocation = `{"devices":{"results":[` +
		`{"request":"container-0-request-0","driver":"d.example.com","pool":"a","device":"g0"},` +
		`{"request":"container-0-request-1","driver":"d.example.com","pool":"a","device":"g1"}]}}`
	for name, c := range map[string]struct {
		claims []model.ResourceClaim
		fits   int // pods like it, on a node with four devices
		pins   int
	}{
		"none is made yet":     {nil, 2, 0},
		"made, not allocated":  {[]model.ResourceClaim{made}, 2, 0},
		"allocated on a node":  {[]model.ResourceClaim{allocated}, 0, 1},
		"made for another pod": {[]model.ResourceClaim{{Namespace: "n", Name: "o", PodUID: "o", Spec: spec}}, 2, 0},
	} {
		s := world(1, "")
		s.Nodes = []model.Node{node("a", "x", 5000)}
		s.ResourceSlices = []model.ResourceSlice{slice("a", nodes)}
		s.ResourceClaims = c.claims
		s.Shapes[0].DeviceClaims = []model.PodClaim{
			{Name: "example.com/gpu", Spec: exactly("c", []int64{1})},
			{Name: "example.com/nic", Spec: exactly("c", []int64{1})}}
		x := New(s, nil, nil, now)
		claims := claimsOf(t, x)
		if len(claims.Pins) != c.pins {
			t.Errorf("%s: pins %v, want %d", name, claims.Pins, c.pins)
		}
		if !claims.Wants() {
			if c.fits != 0 {
				t.Errorf("%s: no devices are wanted", name)
			}
			continue
		}
		if got := times(x.OfNode("a"), claims); got != c.fits {
			t.Errorf("%s: the node has devices for %d pods, want %d", name, got, c.fits)
		}
	}
}

// A young node of which a driver has published the first of two slices has the devices of its type.
func TestF095DevicesOfYoungNodesAreThoseOfTheirTypeUntilAllSlicesAreThere(t *testing.T) {
	first := slice("b", `"devices":[{"name":"0"}]`)
	first.Spec = strings.Replace(first.Spec, `"resourceSliceCount":1`, `"resourceSliceCount":2`, 1)
	for _, c := range []struct {
		name string
		age  int64
		like bool // there is another node of the type, with two devices
		want int
	}{
		{"young", 60, true, 2}, {"old", 5000, true, 0}, {"young and the first of its type", 60, false, 4},
	} {
		s := world(1, "")
		s.Nodes = []model.Node{node("b", "x", c.age)}
		s.ResourceSlices = []model.ResourceSlice{first}
		if c.like {
			s.Nodes = append(s.Nodes, node("a", "x", 5000))
			s.ResourceSlices = append(s.ResourceSlices, slice("a", `"devices":[{"name":"0"},{"name":"1"}]`))
		}
		listed := slice("x", `"devices":[{"name":"0"},{"name":"1"},{"name":"2"},{"name":"3"}]`).Spec
		types := []model.InstanceType{{Name: "x", ResourceSlices: []string{listed}}}
		x := New(s, map[string][]model.InstanceType{"default": types}, nil, now)
		if got := times(x.OfNode("b"), claimsOf(t, x)); got != c.want {
			t.Errorf("%s: devices for %d pods, want %d", c.name, got, c.want)
		}
	}
}
