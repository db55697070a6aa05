package pack

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

const gpuDriver = "gpu.nvidia.com"

// gpuClass adds the DeviceClass of the driver.
func (w *world) gpuClass() *world {
	w.in.Snapshot.DeviceClasses = append(w.in.Snapshot.DeviceClasses, model.DeviceClass{Name: gpuDriver,
		Spec: `{"selectors":[{"cel":{"expression":"device.driver == 'gpu.nvidia.com'"}}]}`})
	return w
}

// exactly is the spec of a claim for so many GPUs; more is put into the request.
func exactly(count int, more string) string {
	return fmt.Sprintf(`{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.nvidia.com",`+
		`"allocationMode":"ExactCount","count":%d%s}}]}}`, count, more)
}

func selector(cel string) string {
	text, _ := json.Marshal(cel)
	return fmt.Sprintf(`,"selectors":[{"cel":{"expression":%s}}]`, text)
}

// claimTemplate adds a ResourceClaimTemplate.
func (w *world) claimTemplate(name, spec string) *world {
	w.in.Snapshot.ResourceClaimTemplates = append(w.in.Snapshot.ResourceClaimTemplates,
		model.ResourceClaimTemplate{Namespace: "default", Name: name, Spec: spec})
	return w
}

// resourceClaim adds a ResourceClaim.
func (w *world) resourceClaim(name, spec string, change func(*model.ResourceClaim)) *world {
	c := model.ResourceClaim{Namespace: "default", Name: name, UID: "uid-" + name, Spec: spec}
	if change != nil {
		change(&c)
	}
	w.in.Snapshot.ResourceClaims = append(w.in.Snapshot.ResourceClaims, c)
	return w
}

// allocatedOn makes a claim one to which devices of the node are allocated for pods.
func allocatedOn(node string, pods []string, devices ...string) func(*model.ResourceClaim) {
	return func(c *model.ResourceClaim) {
		var results []string
		for _, device := range devices {
			results = append(results,
				fmt.Sprintf(`{"request":"gpu","driver":"gpu.nvidia.com","pool":%q,"device":%q}`, node, device))
		}
		c.Allocation = `{"devices":{"results":[` + strings.Join(results, ",") + `]}}`
		c.Affinity = []model.NodeTerm{{Fields: []model.Requirement{{Key: "metadata.name", Operator: model.In,
			Values: []string{node}}}}}
		for _, pod := range pods {
			c.ReservedFor = append(c.ReservedFor, "uid-"+pod)
		}
	}
}

func ofTemplate(name string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.DynamicResource = true
		s.DeviceClaims = append(s.DeviceClaims, model.PodClaim{Name: fmt.Sprintf("c%d", len(s.DeviceClaims)),
			Template: name})
	}
}

func usingClaim(name string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.DynamicResource = true
		s.DeviceClaims = append(s.DeviceClaims, model.PodClaim{Name: fmt.Sprintf("c%d", len(s.DeviceClaims)),
			Claim: name})
	}
}

// gpuNode adds a node with so many published GPUs; attributes are put into each device.
func (w *world) gpuNode(name, instanceType string, count int, attributes func(i int) string) *world {
	w.node(name, func(n *model.Node) {
		n.Labels[model.LabelInstanceType] = instanceType
		n.Labels[model.LabelInitialized] = "true"
		n.Labels[model.LabelNodePool] = "general"
		n.CreatedUnix = testNow - 3600
		n.Allocatable = model.Resources{model.CPU: 64000, model.Memory: 256 << 30, model.Pods: 100}
	})
	return w.gpuSlice(name, count, attributes)
}

func (w *world) gpuSlice(node string, count int, attributes func(i int) string) *world {
	var devices []string
	for i := range count {
		more := ""
		if attributes != nil {
			more = attributes(i)
		}
		devices = append(devices, fmt.Sprintf(`{"name":"gpu-%d"%s}`, i, more))
	}
	w.in.Snapshot.ResourceSlices = append(w.in.Snapshot.ResourceSlices,
		model.ResourceSlice{Name: node + "-slice", Driver: gpuDriver, Node: node,
			Spec: fmt.Sprintf(`{"driver":"gpu.nvidia.com","nodeName":%q,"pool":{"name":%q,"generation":1,`+
				`"resourceSliceCount":1},"devices":[%s]}`, node, node, strings.Join(devices, ","))})
	return w
}

// podsOn counts pods by the node or the claim they go to.
func podsOn(plan model.Plan) map[string]int {
	out := make(map[string]int)
	for _, n := range plan.Nominations {
		out[n.Node] += len(n.Pods)
	}
	for _, c := range plan.Claims {
		out[c.Offering.InstanceType] += len(c.Pods)
	}
	return out
}

// M19: a type of which no node ever published devices has those that its driver is assumed to publish.
func TestF095ClaimsChooseInstanceTypesByWhatTheyHave(t *testing.T) {
	w := newWorld(64).pool("general", nil).gpuClass().claimTemplate("one", exactly(1, "")).
		claimTemplate("three", exactly(3, ""))
	w.pods("small", 1, ofTemplate("one")).pods("web", 1, nil)
	plan := w.complete(t)
	if claim := claimOf(plan, "small-00000"); !strings.HasPrefix(claim.Offering.InstanceType, "g5") {
		t.Errorf("a pod that claims a GPU is on %s", claim.Offering.InstanceType)
	}
	if drivers := claimOf(plan, "small-00000").DeviceDrivers; !slices.Equal(drivers, []string{gpuDriver}) {
		t.Errorf("its node is waited for until drivers %v have published devices", drivers)
	}
	const annotation = "karpenter.sh/requested-dra-drivers"
	if got := claimOf(plan, "small-00000").Annotations[annotation]; got != gpuDriver {
		t.Errorf("annotation %s of its claim is %q", annotation, got)
	}
	if got, is := claimOf(plan, "web-00000").Annotations[annotation]; is && claimOf(plan, "web-00000") !=
		claimOf(plan, "small-00000") {
		t.Errorf("a claim for a pod without claims has the annotation %s=%q", annotation, got)
	}
	for _, name := range claimOf(plan, "small-00000").InstanceTypes {
		if !strings.HasPrefix(name, "g5") {
			t.Errorf("the claim may become %s, which has no GPU", name)
		}
	}

	w = newWorld(64).pool("general", nil).gpuClass().claimTemplate("three", exactly(3, "")).pods("big", 1,
		ofTemplate("three"))
	for _, name := range claimOf(w.complete(t), "big-00000").InstanceTypes {
		if !slices.Contains([]string{"g5.12xlarge", "g5.16xlarge", "g5.24xlarge", "g5g.12xlarge",
			"g5g.16xlarge", "g5g.24xlarge"}, name) {
			t.Errorf("the claim for three GPUs may become %s", name)
		}
	}
}

// Pods fill the devices of a node and no more: kube-scheduler would leave the rest waiting.
func TestF095NodesTakeNoMorePodsThanTheyHaveDevices(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{oneOf(model.LabelInstanceType, "g5.24xlarge")}
	}).gpuClass().claimTemplate("one", exactly(1, "")).claimTemplate("two", exactly(2, ""))
	w.pods("a", 7, ofTemplate("one")).pods("b", 4, ofTemplate("two")) // 15 GPUs, 6 on each
	plan := w.complete(t)
	if len(plan.Claims) != 3 {
		t.Errorf("got %d claims, want 3", len(plan.Claims))
	}
	for _, claim := range plan.Claims {
		gpus := 0
		for _, pod := range claim.Pods {
			gpus++
			if strings.HasPrefix(pod.Name, "b-") {
				gpus++
			}
		}
		if gpus > 6 {
			t.Errorf("a node of 6 GPUs is to have pods that claim %d", gpus)
		}
	}
}

// What is free on nodes that exist is used first, and what is allocated there counts.
func TestF095FreeDevicesOfNodesAreUsedFirst(t *testing.T) {
	w := newWorld(64).pool("general", nil).gpuClass().claimTemplate("one", exactly(1, "")).gpuNode("node",
		"g5.12xlarge", 3, nil)
	w.running("r", "node", usingClaim("held")).resourceClaim("held", exactly(1, ""), allocatedOn("node",
		[]string{"r"}, "gpu-1"))
	w.pods("p", 3, ofTemplate("one"))
	plan := w.complete(t)
	if got := podsOn(plan)["node"]; got != 2 {
		t.Errorf("%d pods go to the node with two free devices", got)
	}
	if len(plan.Claims) != 1 {
		t.Errorf("got %d claims, want one for the third pod", len(plan.Claims))
	}
}

// Selectors look at attributes that nodes of the type have published, which new nodes will have, too.
func TestF095SelectorsReadWhatNodesOfTheTypePublished(t *testing.T) {
	model40 := func(name string) func(int) string {
		return func(int) string { return `,"attributes":{"productName":{"string":"` + name + `"}}` }
	}
	w := newWorld(64).pool("general", nil).gpuClass().gpuNode("old", "g5.xlarge", 1, model40("A")).
		gpuNode("new", "g5.8xlarge", 2, model40("B"))
	w.resourceClaim("x", exactly(1, ""), allocatedOn("old", []string{"rx"}, "gpu-0")).resourceClaim("y",
		exactly(2, ""), allocatedOn("new", []string{"ry"}, "gpu-0", "gpu-1"))
	w.running("rx", "old", usingClaim("x")).running("ry", "new", usingClaim("y"))
	w.claimTemplate("b", exactly(1,
		selector(`has(device.attributes["gpu.nvidia.com"].productName) && `+
			`device.attributes["gpu.nvidia.com"].productName == "B"`)))
	w.pods("p", 1, ofTemplate("b"))
	claim := claimOf(w.complete(t), "p-00000")
	if !slices.Equal(claim.InstanceTypes, []string{"g5.8xlarge"}) {
		t.Errorf("the claim may become %v, want the type whose nodes have the attribute", claim.InstanceTypes)
	}
}

func TestF095DevicesOfOneClaimShareAnAttribute(t *testing.T) {
	numa := func(i int) string { return fmt.Sprintf(`,"attributes":{"numa":{"int":%d}}`, i%2) }
	w := newWorld(64).pool("general", nil).gpuClass().gpuNode("node", "g5.16xlarge", 4, numa)
	spec := `{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.nvidia.com",` +
		`"allocationMode":"ExactCount","count":2}}],"constraints":[{"matchAttribute":"gpu.nvidia.com/numa"}]}}`
	w.resourceClaim("held", exactly(1, ""), allocatedOn("node", []string{"r"}, "gpu-0")).running("r", "node",
		usingClaim("held"))
	w.claimTemplate("pair", spec).pods("p", 2, ofTemplate("pair"))
	plan := w.complete(t)
	if got := podsOn(plan); got["node"] != 1 ||
		len(plan.Claims) != 1 { // one of the two NUMA nodes has both its devices free
		t.Errorf("pods are on %v", got)
	}
}

func TestF095AlternativesOfARequestAreTriedInTheirOrder(t *testing.T) {
	spec := `{"devices":{"requests":[{"name":"gpu","firstAvailable":[
		{"name":"many","deviceClassName":"gpu.nvidia.com","allocationMode":"ExactCount","count":9},
		{"name":"some","deviceClassName":"gpu.nvidia.com","allocationMode":"ExactCount","count":4}]}]}}`
	w := newWorld(64).pool("general", nil).gpuClass().claimTemplate("any", spec).pods("p", 1, ofTemplate("any"))
	for _, name := range claimOf(w.complete(t), "p-00000").InstanceTypes {
		if !slices.Contains([]string{"g5.16xlarge", "g5.24xlarge", "g5g.16xlarge", "g5g.24xlarge"}, name) {
			t.Errorf("the claim for four GPUs may become %s", name)
		}
	}
}

func TestF095AllDevicesOfANodeAreForOnePod(t *testing.T) {
	spec := `{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.nvidia.com",` +
		`"allocationMode":"All"}}]}}`
	w := newWorld(64).pool("general", nil).gpuClass().claimTemplate("all", spec).pods("p", 3, ofTemplate("all"))
	plan := w.complete(t)
	if len(plan.Claims) != 3 {
		t.Errorf("got %d claims, want one for each pod", len(plan.Claims))
	}
}

func TestF095AdminAccessTakesNothing(t *testing.T) {
	w := newWorld(64).pool("general", nil).gpuClass().gpuNode("node", "g5.xlarge", 1, nil).claimTemplate("one",
		exactly(1, "")).claimTemplate("admin", exactly(1, `,"adminAccess":true`))
	w.pods("a", 3, ofTemplate("admin")).pods("p", 1, ofTemplate("one"))
	plan := w.complete(t)
	if got := podsOn(plan)["node"]; got != 4 || len(plan.Claims) != 0 {
		t.Errorf("%d pods are on the node, %d claims", got, len(plan.Claims))
	}
}

func TestF095TaintedDevicesAreForPodsThatTolerateThem(t *testing.T) {
	tainted := func(int) string {
		return `,"taints":[{"key":"broken","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"}]`
	}
	w := newWorld(64).pool("general", nil).gpuClass().gpuNode("node", "c5.xlarge", 1, tainted).
		claimTemplate("one", exactly(1, "")).
		claimTemplate("tolerant", exactly(1, `,"tolerations":[{"key":"broken","operator":"Exists"}]`))
	w.pods("a", 1, ofTemplate("one")).pods("b", 1, ofTemplate("tolerant"))
	plan := w.complete(t)
	if nodeOf(plan, "b-00000") != "node" || claimOf(plan, "a-00000") == nil {
		t.Errorf("pods are on %v", podsOn(plan))
	}
}

// Pods that share a claim share its devices, and so their node.
func TestF095PodsThatShareAClaimShareANode(t *testing.T) {
	w := newWorld(64).pool("general", nil).gpuClass().resourceClaim("shared", exactly(1, ""), nil).
		claimTemplate("one", exactly(1, ""))
	w.pods("a", 3, asPod(cpu(3000), usingClaim("shared"))).pods("b", 2, asPod(cpu(500), usingClaim("shared"))).
		pods("other", 1, ofTemplate("one"))
	plan := w.complete(t)
	first := claimOf(plan, "a-00000")
	for _, pod := range []string{"a-00001", "a-00002", "b-00000", "b-00001"} {
		if claimOf(plan, pod) != first {
			t.Errorf("pod %s is not on the node of those it shares a claim with", pod)
		}
	}
}

// What is allocated stays where it is: pods that use it go there or nowhere.
func TestF095AllocatedClaimsHoldTheirPodsToTheNode(t *testing.T) {
	w := newWorld(64).pool("general", nil).gpuClass().gpuNode("node", "g5.xlarge", 1, nil).gpuNode("other",
		"g5.xlarge", 1, nil)
	w.resourceClaim("shared", exactly(1, ""), allocatedOn("node", []string{"r"}, "gpu-0")).running("r", "node",
		usingClaim("shared"))
	w.pods("a", 1, usingClaim("shared")).pods("b", 1, asPod(cpu(64000), usingClaim("shared")))
	plan := w.sound(t)
	if nodeOf(plan, "a-00000") != "node" {
		t.Errorf("pods are on %v", podsOn(plan))
	}
	refusedWith(t, plan, "b-00000", DevicesUnavailable)
}

// Drivers take a while on a new node. Until then it counts as one with the devices of its type.
func TestF095YoungNodesWillHaveTheDevicesOfTheirType(t *testing.T) {
	for _, age := range []int64{60, 3600} {
		w := newWorld(64).pool("general", nil).gpuClass().claimTemplate("one", exactly(1, "")).pods("p", 1,
			ofTemplate("one"))
		w.node("node", func(n *model.Node) {
			n.Labels[model.LabelInstanceType], n.Labels[model.LabelInitialized] = "g5.xlarge", "true"
			n.CreatedUnix = testNow - age
		})
		plan := w.sound(t)
		if is := nodeOf(plan, "p-00000") == "node"; is != (age == 60) {
			t.Errorf("%d seconds old: pods are on %v", age, podsOn(plan))
		}
		if age == 3600 {
			if claim := claimOf(plan, "p-00000"); claim == nil || slices.Contains(claim.InstanceTypes, "g5.xlarge") {
				t.Errorf("a type whose node published nothing is asked for again: %+v", claim)
			}
		}
	}
}

// Claims on their way hold the pods they were made for, and have the devices of their type for others.
func TestF095ClaimsOnTheirWayHaveTheDevicesOfTheirType(t *testing.T) {
	w := newWorld(64).pool("general", nil).gpuClass().claimTemplate("one", exactly(1, "")).pods("p", 2,
		ofTemplate("one"))
	w.in.Claims = []model.Claim{{Name: "coming", Pool: "general", Class: "default", State: model.Launched,
		InstanceType: "g5.xlarge", Zone: "a", CapacityType: model.OnDemand,
		Allocatable: model.Resources{model.CPU: 4000, model.Memory: 16 << 30, model.Pods: 50},
		Pods:        []model.PodRef{w.in.Snapshot.Pods[1].Ref()}}}
	plan := w.complete(t)
	if nodeOf(plan, "p-00001") != "coming" || claimOf(plan, "p-00000") == nil {
		t.Errorf("pods are on %v", podsOn(plan))
	}
}

func TestF095ClaimsThatCannotBeMetSayWhy(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(w *world)
		says  []string
	}{
		{"no class", func(w *world) { w.claimTemplate("t", exactly(1, "")) },
			[]string{"DeviceClass gpu.nvidia.com does not exist"}},
		{"no template", func(w *world) { w.gpuClass() }, []string{"ResourceClaimTemplate default/t does not exist"}},
		{"too many", func(w *world) { w.gpuClass().claimTemplate("t", exactly(17, "")) },
			[]string{"instance types that are known to have any"}},
		{"unknown attribute", func(w *world) {
			w.gpuClass().claimTemplate("t", exactly(1,
				selector(`device.attributes["gpu.nvidia.com"].color == "red"`)))
		}, []string{"no such key: color", "g5"}},
		{"network devices", func(w *world) {
			w.in.Snapshot.DeviceClasses = []model.DeviceClass{{Name: gpuDriver,
				Spec: `{"selectors":[{"cel":{"expression":"device.driver == 'net.example.com'"}}]}`}}
			w.in.Snapshot.ResourceSlices = []model.ResourceSlice{{Name: "s", Driver: "net.example.com"}}
			w.gpuNode("node", "g5.xlarge", 1, nil).claimTemplate("t", exactly(1, ""))
		}, []string{"devices of driver net.example.com are for several nodes", "not planned for"}},
		{"devices of the network that nobody claims", func(w *world) {
			w.in.Snapshot.ResourceSlices = []model.ResourceSlice{{Name: "s", Driver: "net.example.com"}}
			w.gpuClass().claimTemplate("t", exactly(17, ""))
		}, []string{"instance types that are known to have any"}},
		{"pool", func(w *world) {
			w.gpuClass().claimTemplate("t", exactly(1, ""))
			w.in.Snapshot.Pools[0].Template.Requirements = []model.Requirement{oneOf(model.LabelInstanceType,
				"c5.large")}
		}, []string{"the pool launches none of the instance types whose devices suffice", "g5"}},
		{"not known", func(*world) {}, []string{"no object of resource.k8s.io/v1 is known"}},
	} {
		w := newWorld(64).pool("general", nil)
		c.build(w)
		w.pods("p", 1, ofTemplate("t"))
		plan := w.sound(t)
		if got := codes(plan, "p-00000"); !slices.Equal(got, []string{DevicesUnavailable}) {
			t.Errorf("%s: codes %v", c.name, got)
			continue
		}
		for _, want := range c.says {
			if message := plan.Unschedulable[0].Reasons[0].Message; !strings.Contains(message, want) {
				t.Errorf("%s: %q does not say %q", c.name, message, want)
			}
		}
	}
}

// A pod that moves leaves its devices and needs others where it goes.
func TestF095PodsThatMoveNeedDevicesWhereTheyGo(t *testing.T) {
	for _, free := range []int{0, 1} {
		w := newWorld(64).gpuClass().gpuNode("from", "g5.xlarge", 1, nil).gpuNode("to", "g5.xlarge", free, nil)
		w.resourceClaim("p-c0", exactly(1, ""), func(c *model.ResourceClaim) {
			allocatedOn("from", []string{"p"}, "gpu-0")(c)
			c.PodUID, c.PodClaim = "uid-p", "c0"
		})
		w.claimTemplate("one", exactly(1, "")).running("p", "from", ofTemplate("one"))
		w.in.Pending = []int{0}
		w.in.Snapshot.Nodes = w.in.Snapshot.Nodes[1:] // the node goes
		plan := w.plan()
		if got := nodeOf(plan, "p"); (got == "to") != (free == 1) {
			t.Errorf("%d free: the pod is on %q", free, got)
		}
	}
}

// requesting has pods request so many of an extended resource.
func requesting(resource string, count int64) func(*model.PodShape) {
	return func(s *model.PodShape) { s.Requests[resource] = count }
}

// M76: kube-scheduler claims devices for pods that request an extended resource which a DeviceClass stands for. So
// they go to nodes whose devices are published and free, and new nodes are of types that have them.
func TestF095ExtendedResourcesAreClaimsWhereAClassStandsForThem(t *testing.T) {
	for _, resource := range []string{"example.com/gpu", "deviceclass.resource.kubernetes.io/gpu.nvidia.com"} {
		w := newWorld(64).pool("general", nil).gpuClass().gpuNode("node", "g5.12xlarge", 3, nil)
		w.in.Snapshot.DeviceClasses[0].Spec = `{"extendedResourceName":"example.com/gpu",` +
			`"selectors":[{"cel":{"expression":"device.driver == 'gpu.nvidia.com'"}}]}`
		ofPod := func(c *model.ResourceClaim) {
			allocatedOn("node", []string{"r"}, "gpu-1")(c)
			c.PodUID = "uid-r"
		}
		w.running("r", "node", requesting(resource, 1)).resourceClaim("made", exactly(1, ""), ofPod)
		w.pods("p", 3, requesting(resource, 1))
		before := fmt.Sprint(w.in.Snapshot.Shapes)
		plan := Plan(w.in)
		if got := podsOn(plan)["node"]; got != 2 {
			t.Errorf("%s: %d pods go to the node with two free devices", resource, got)
		}
		if len(plan.Claims) != 1 || !strings.HasPrefix(plan.Claims[0].Offering.InstanceType, "g5") {
			t.Fatalf("%s: got claims %+v, want one of a type with GPUs for the third pod", resource, plan.Claims)
		}
		claim := &plan.Claims[0]
		if _, is := claim.Requests[resource]; is || !slices.Equal(claim.DeviceDrivers, []string{gpuDriver}) {
			t.Errorf("%s: its node is waited for until it has %v and drivers %v have published", resource,
				claim.Requests, claim.DeviceDrivers)
		}
		simulated := NewSimulator(w.in).Plan(w.in, 0)
		if !maps.Equal(podsOn(simulated), podsOn(plan)) ||
			len(simulated.Claims) != 1 || !slices.Equal(simulated.Claims[0].DeviceDrivers, claim.DeviceDrivers) {
			t.Errorf("%s: a simulator plans %+v, want %+v", resource, simulated, plan)
		}
		if fmt.Sprint(w.in.Snapshot.Shapes) != before {
			t.Errorf("%s: the plan changed the snapshot", resource)
		}
		w.pods("many", 1, requesting(resource, 99))
		refused := Plan(w.in).Unschedulable
		if len(refused) != 1 || refused[0].Reasons[0].Code != DevicesUnavailable || !strings.HasPrefix(
			refused[0].Reasons[0].Message, "spec.containers[].resources.requests["+resource+"]: ") {
			t.Errorf("%s: of 99 devices it is said %+v", resource, refused)
		}
	}
}

// M76: where a node has the resource by a device plugin it is no claim.
func TestF095ExtendedResourcesOfDevicePluginsAreNoClaims(t *testing.T) {
	w := newWorld(64).pool("general", nil).gpuClass().gpuNode("node", "g5.12xlarge", 0, nil)
	w.in.Snapshot.DeviceClasses[0].Spec = `{"extendedResourceName":"example.com/gpu"}`
	w.in.Snapshot.Nodes[0].Allocatable["example.com/gpu"] = 2
	w.pods("p", 3, requesting("example.com/gpu", 1))
	if got := podsOn(Plan(w.in))["node"]; got != 2 {
		t.Errorf("%d pods go to the node with two by a device plugin", got)
	}
}

// claimingDaemon adds a DaemonSet whose pods claim a GPU each, by a template or, extended, by the extended resource
// that the class stands for.
func (w *world) claimingDaemon(extended bool) *world {
	s := w.in.Snapshot
	s.ResourceClaimTemplates = append(s.ResourceClaimTemplates,
		model.ResourceClaimTemplate{Namespace: "kube-system", Name: "own", Spec: exactly(1, "")})
	if !extended {
		return w.daemon("exporter", ofTemplate("own"))
	}
	s.DeviceClasses[0].Spec = `{"selectors":[{"cel":{"expression":"device.driver == 'gpu.nvidia.com'"}}],` +
		`"extendedResourceName":"example.com/gpu"}`
	return w.daemon("exporter", func(shape *model.PodShape) { shape.Requests["example.com/gpu"] = 1 })
}

// Pods of DaemonSets take devices of each new node they run on: what is left is for other pods.
func TestF095DaemonsTakeDevicesOfNewNodes(t *testing.T) {
	for _, extended := range []bool{false, true} {
		w := newWorld(64).pool("general", func(p *model.Pool) {
			p.Template.Requirements = []model.Requirement{oneOf(model.LabelInstanceType, "g5.xlarge", "g5.24xlarge")}
		}).gpuClass().claimTemplate("one", exactly(1, "")).claimingDaemon(extended)
		w.pods("a", 7, ofTemplate("one")) // of 6 GPUs a g5.24xlarge has 5 for them, and a g5.xlarge none
		plan := Plan(w.in)
		if len(plan.Claims) != 2 || len(plan.Unschedulable) != 0 {
			t.Errorf("extended %v: got %d claims and %d pods without one, want 2 and none", extended, len(plan.Claims),
				len(plan.Unschedulable))
		}
		for _, claim := range plan.Claims {
			if len(claim.Pods) > 5 || slices.Contains(claim.InstanceTypes, "g5.xlarge") {
				t.Errorf("extended %v: %d pods of a GPU each are on one of %v, beside a daemon's", extended,
					len(claim.Pods), claim.InstanceTypes)
			}
		}
	}
}

// Where a DaemonSet takes all devices that there are, the reason says so, and nothing is launched.
func TestF095DaemonsThatLeaveNoDevicesAreTheReason(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{oneOf(model.LabelInstanceType, "g5.xlarge")}
	}).gpuClass().claimTemplate("one", exactly(1, "")).claimingDaemon(false)
	w.pods("a", 1, ofTemplate("one"))
	plan := Plan(w.in)
	if len(plan.Claims) != 0 || len(plan.Unschedulable) != 1 {
		t.Fatalf("got %d claims and %d pods without a place", len(plan.Claims), len(plan.Unschedulable))
	}
	reason := plan.Unschedulable[0].Reasons[0]
	if reason.Code != DevicesUnavailable || !strings.Contains(reason.Message, "DaemonSet kube-system/exporter") {
		t.Errorf("the reason is %s: %s", reason.Code, reason.Message)
	}
}

// A node keeps devices for pods of DaemonSets that are yet to come, and not for those that have theirs.
func TestF095NodesKeepDevicesForDaemonsToCome(t *testing.T) {
	for runs, want := range map[bool]int{false: 1, true: 2} {
		w := newWorld(64).pool("general", nil).gpuClass().claimTemplate("one", exactly(1, "")).claimingDaemon(false)
		w.gpuNode("node", "g5.12xlarge", 2, nil)
		if runs {
			w.in.Snapshot.ResourceSlices = nil
			w.gpuSlice("node", 3, nil)
			w.running("exporter-1", "node", func(s *model.PodShape) {
				ofTemplate("own")(s)
				s.Namespace, s.OwnerKind, s.OwnerName = "kube-system", "DaemonSet", "exporter"
			})
			pod := &w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1]
			pod.Namespace = "kube-system"
			w.resourceClaim("own", exactly(1, ""), func(c *model.ResourceClaim) {
				allocatedOn("node", []string{"exporter-1"}, "gpu-0")(c)
				c.Namespace, c.PodUID, c.PodClaim = "kube-system", pod.UID, "c0"
			})
		}
		w.pods("p", 3, ofTemplate("one"))
		if got := podsOn(Plan(w.in))["node"]; got != want {
			t.Errorf("the daemon runs: %v; %d pods go to the node, want %d", runs, got, want)
		}
	}
}
