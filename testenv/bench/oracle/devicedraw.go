package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func amount(text string) resource.Quantity { return resource.MustParse(text) }

// deviceDraw draws a cluster with devices.
type deviceDraw struct {
	*rand.Rand
	w *deviceWorld
	// oneName is that pools of several drivers have one name, and no pod requests extended resources: OWED.md says why.
	oneName bool
}

// of reports true once in n times.
func (d *deviceDraw) of(n int) bool { return d.IntN(n) == 0 }

var deviceDrivers = []string{"a.example.com", "b.example.com"}

// drawDevices draws a cluster: types of nodes, nodes of them, what runs on them, and pods that wait.
func drawDevices(seed uint64) *deviceWorld {
	d := &deviceDraw{Rand: rand.New(rand.NewPCG(seed, 1)), w: &deviceWorld{seed: seed}}
	d.oneName = d.of(3)
	for range 2 + d.IntN(2) {
		d.w.kinds = append(d.w.kinds, d.kind())
	}
	for i := range d.w.kinds { // of each type there is one, so that it is known what such nodes have
		d.w.addNode(fmt.Sprintf("node-%d", i), kindName(i))
	}
	for i := range d.IntN(3) {
		d.w.addNode(fmt.Sprintf("more-%d", i), kindName(d.IntN(len(d.w.kinds))))
	}
	for _, driver := range deviceDrivers {
		d.class(driver, "device.driver == '"+driver+"'")
	}
	d.class("any", "true")
	d.class("large", `device.driver == 'a.example.com' && device.attributes['a.example.com'].large`)
	d.extend()
	for _, slice := range d.w.slices {
		for i := range slice.Spec.Devices {
			if device := &slice.Spec.Devices[i]; d.of(4) && len(device.ConsumesCounters) == 0 {
				d.running(slice, device)
			}
		}
	}
	for i := range 4 + d.IntN(5) {
		d.pending(fmt.Sprintf("p%02d", i))
	}
	return d.w
}

// kind draws what nodes of a type publish.
func (d *deviceDraw) kind() []*resourceapi.ResourceSlice {
	var out []*resourceapi.ResourceSlice
	for n, driver := range deviceDrivers {
		if n > 0 && d.of(2) {
			continue
		}
		pools := 1
		if d.of(4) {
			pools = 2
		}
		for p := range pools {
			pool := resourceapi.ResourcePool{Name: fmt.Sprintf("%d-", p), Generation: int64(d.IntN(3)),
				ResourceSliceCount: 1}
			if !d.oneName {
				pool.Name = fmt.Sprintf("%c%d-", 'a'+n, p)
			}
			slice := &resourceapi.ResourceSlice{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1",
				Kind: "ResourceSlice"},
				Spec: resourceapi.ResourceSliceSpec{Driver: driver, Pool: pool}}
			for i := range d.IntN(5) {
				slice.Spec.Devices = append(slice.Spec.Devices, d.device(driver, i))
			}
			if d.of(5) && len(slice.Spec.Devices) > 0 {
				slice.Spec.Pool.ResourceSliceCount = 2
				counters := slice.DeepCopy()
				counters.Spec.Devices = nil
				counters.Spec.SharedCounters = []resourceapi.CounterSet{{Name: "set",
					Counters: map[string]resourceapi.Counter{"memory": {Value: amount("40Gi")}}}}
				for i := range slice.Spec.Devices {
					slice.Spec.Devices[i].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "set",
						Counters: map[string]resourceapi.Counter{"memory": {Value: amount(fmt.Sprintf("%dGi",
							10*(1+d.IntN(3))))}}}}
				}
				out = append(out, counters)
			}
			out = append(out, slice)
		}
	}
	return out
}

func (d *deviceDraw) device(driver string, i int) resourceapi.Device {
	out := resourceapi.Device{Name: fmt.Sprintf("dev-%d", i),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"large": {BoolValue: ptr.To(d.of(2))}, "numa": {IntValue: ptr.To(int64(d.IntN(2)))}},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: amount(fmt.Sprintf("%dGi", 10*(1+d.IntN(4))))}}}
	if d.of(2) {
		out.Attributes["version"] = resourceapi.DeviceAttribute{VersionValue: ptr.To(fmt.Sprintf("%d.0.0",
			1+d.IntN(3)))}
	}
	if driver == deviceDrivers[1] {
		out.Attributes["example.com/rack"] = resourceapi.DeviceAttribute{StringValue: ptr.To(fmt.Sprint("r",
			d.IntN(2)))}
	}
	if d.of(5) {
		out.AllowMultipleAllocations = ptr.To(true)
		if d.of(2) {
			memory := out.Capacity["memory"]
			memory.RequestPolicy = &resourceapi.CapacityRequestPolicy{Default: ptr.To(amount("5Gi")),
				ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: ptr.To(amount("5Gi")),
					Step: ptr.To(amount("5Gi"))}}
			out.Capacity["memory"] = memory
		}
	}
	if d.of(8) {
		effect := []resourceapi.DeviceTaintEffect{resourceapi.DeviceTaintEffectNoSchedule,
			resourceapi.DeviceTaintEffectNoExecute, resourceapi.DeviceTaintEffectNone}
		out.Taints = []resourceapi.DeviceTaint{{Key: "broken", Value: "yes", Effect: effect[d.IntN(3)]}}
	}
	return out
}

// extendedResources are what pods request instead of claims; a class stands for each. The last one needs no word of it
// in the class.
var extendedResources = []corev1.ResourceName{"example.com/a", "example.com/b",
	corev1.ResourceName(resourceapi.ResourceDeviceClassPrefix + "any")}

// extend has classes stand for extended resources: one each, and sometimes two, of which the newer counts.
func (d *deviceDraw) extend() {
	stand := func(class *resourceapi.DeviceClass, name corev1.ResourceName) {
		class.Spec.ExtendedResourceName = ptr.To(string(name))
		class.CreationTimestamp = metav1.Unix(deviceNow-int64(60*(1+d.IntN(3))), 0)
	}
	stand(d.w.classes[0], extendedResources[0])
	stand(d.w.classes[1], extendedResources[1])
	if d.of(3) {
		stand(d.w.classes[3], extendedResources[d.IntN(2)])
	}
}

func (d *deviceDraw) class(name, expression string) {
	d.w.classes = append(d.w.classes,
		&resourceapi.DeviceClass{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "DeviceClass"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       resourceapi.DeviceClassSpec{Selectors: selectorsOf(expression)}})
}

func selectorsOf(expression string) []resourceapi.DeviceSelector {
	return []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}}
}

// running adds a pod that has a device of a node.
func (d *deviceDraw) running(slice *resourceapi.ResourceSlice, device *resourceapi.Device) {
	name := fmt.Sprintf("r%02d", len(d.w.pods))
	node := *slice.Spec.NodeName
	claim := d.claim(name, "held",
		resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{
			Requests: []resourceapi.DeviceRequest{{Name: "x",
				Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "any",
					AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}}}}})
	result := resourceapi.DeviceRequestAllocationResult{Request: "x", Driver: slice.Spec.Driver,
		Pool: slice.Spec.Pool.Name, Device: device.Name}
	if ptr.Deref(device.AllowMultipleAllocations, false) {
		result.ShareID = ptr.To(types.UID("share-" + name))
		result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": amount("10Gi")}
	}
	if d.of(6) {
		result.AdminAccess = ptr.To(true)
	}
	claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
		Results: []resourceapi.DeviceRequestAllocationResult{result}},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{
				{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}}
	claim.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: name,
		UID: types.UID(name)}}
	pod := d.pod(name, []string{claim.Name})
	pod.Spec.NodeName, pod.Status.Phase = node, corev1.PodRunning
	if !d.oneName && d.of(2) {
		asExtended(pod, claim)
		return
	}
	if d.of(4) { // somebody else would use the same
		late := d.pod(name+"-late", []string{claim.Name})
		late.Spec.ResourceClaims[0].ResourceClaimName = ptr.To(claim.Name)
	}
}

// asExtended makes a claim that a pod has one that kube-scheduler has made for an extended resource of it.
func asExtended(pod *corev1.Pod, claim *resourceapi.ResourceClaim) {
	resource := extendedResources[len(extendedResources)-1]
	request := "container-0-request-1" // after that of CPU
	pod.Spec.ResourceClaims = nil
	pod.Spec.Containers[0].Resources.Requests[resource] = amount("1")
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{resource: amount("1")}
	pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: claim.Name,
		RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: pod.Spec.Containers[0].Name,
			ResourceName: string(resource), RequestName: request}}}
	claim.Annotations = map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"}
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
		Controller: ptr.To(true)}}
	claim.Spec.Devices.Requests[0].Name = request
	claim.Status.Allocation.Devices.Results[0].Request = request
}

// claim adds a claim; unless it is to be shared it is a pod's own.
func (d *deviceDraw) claim(pod, name string, spec resourceapi.ResourceClaimSpec) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1",
		Kind: "ResourceClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod + "-" + name,
			UID: types.UID("claim-" + pod + "-" + name)}, Spec: spec}
	d.w.claims = append(d.w.claims, claim)
	return claim
}

func (d *deviceDraw) pod(name string, claims []string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	pod.Spec.Containers = []corev1.Container{{Name: "c",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: amount("100m")}}}}
	for i, claim := range claims {
		entry := corev1.PodResourceClaim{Name: fmt.Sprintf("e%d", i), ResourceClaimName: ptr.To(claim)}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
	}
	d.w.pods = append(d.w.pods, pod)
	return pod
}

// pending adds a pod that waits, with claims of its own.
func (d *deviceDraw) pending(name string) {
	var claims []string
	for i := range 1 + d.IntN(2) {
		spec := resourceapi.ResourceClaimSpec{}
		for r := range 1 + d.IntN(2) {
			spec.Devices.Requests = append(spec.Devices.Requests, d.request(fmt.Sprintf("r%d", r)))
		}
		if d.of(4) {
			attribute := []string{"a.example.com/numa", "b.example.com/numa", "example.com/rack",
				"a.example.com/version"}[d.IntN(4)]
			constraint := resourceapi.DeviceConstraint{
				MatchAttribute: ptr.To(resourceapi.FullyQualifiedName(attribute))}
			if d.of(3) {
				constraint.Requests = []string{"r0"}
			}
			spec.Devices.Constraints = []resourceapi.DeviceConstraint{constraint}
		}
		claims = append(claims, d.claim(name, fmt.Sprint("c", i), spec).Name)
	}
	if !d.oneName && d.of(2) {
		d.requesting(name, claims[1:])
		return
	}
	d.pod(name, claims)
}

// requesting adds a pod that requests extended resources, beside claims of its own: some containers do, and sometimes
// an init container, whose devices the others have after it.
func (d *deviceDraw) requesting(name string, claims []string) {
	pod := d.pod(name, claims)
	request := func(c *corev1.Container) {
		resource := extendedResources[d.IntN(len(extendedResources))]
		c.Resources.Requests[resource] = amount(fmt.Sprint(1 + d.IntN(2)))
		c.Resources.Limits = corev1.ResourceList{resource: c.Resources.Requests[resource]}
	}
	request(&pod.Spec.Containers[0])
	if d.of(3) {
		second := pod.Spec.Containers[0].DeepCopy()
		second.Name, second.Resources = "d", corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: amount("100m")}}
		request(second)
		pod.Spec.Containers = append(pod.Spec.Containers, *second)
	}
	if d.of(3) {
		first := corev1.Container{Name: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: amount("100m")}}}
		request(&first)
		if d.of(3) {
			first.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = []corev1.Container{first}
	}
}

// extendedOf returns how many extended resources a pod requests that classes stand for.
func extendedOf(pod *corev1.Pod) int {
	names := make(map[corev1.ResourceName]bool)
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for name := range c.Resources.Requests { // into a map: the order does not matter
			if slices.Contains(extendedResources, name) {
				names[name] = true
			}
		}
	}
	return len(names)
}

func (d *deviceDraw) request(name string) resourceapi.DeviceRequest {
	if d.of(5) {
		out := resourceapi.DeviceRequest{Name: name}
		for i := range 2 {
			e := d.exactly()
			out.FirstAvailable = append(out.FirstAvailable,
				resourceapi.DeviceSubRequest{Name: fmt.Sprintf("s%d", i), DeviceClassName: e.DeviceClassName,
					Selectors:      e.Selectors,
					AllocationMode: e.AllocationMode, Count: e.Count, Tolerations: e.Tolerations,
					Capacity: e.Capacity})
		}
		return out
	}
	e := d.exactly()
	if d.of(8) {
		e.AdminAccess = ptr.To(true)
	}
	return resourceapi.DeviceRequest{Name: name, Exactly: &e}
}

func (d *deviceDraw) exactly() resourceapi.ExactDeviceRequest {
	out := resourceapi.ExactDeviceRequest{DeviceClassName: []string{"a.example.com", "a.example.com",
		"b.example.com", "any", "large"}[d.IntN(5)],
		AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(1 + d.IntN(2))}
	if d.of(8) {
		out.AllocationMode, out.Count = resourceapi.DeviceAllocationModeAll, 0
	}
	if d.of(2) {
		out.Selectors = selectorsOf([]string{
			`device.capacity[device.driver].memory.compareTo(quantity('20Gi')) >= 0`,
			`device.attributes[device.driver].numa == 1`,
			`has(device.attributes[device.driver].version) && ` +
				`device.attributes[device.driver].version.isGreaterThan(semver('1.0.0'))`,
			`device.attributes['b.example.com'].version == semver('1.0.0')`, // fails where there is none
			`!(device.driver == 'b.example.com' && device.attributes['example.com'].rack == 'r0')`,
		}[d.IntN(5)])
	}
	if d.of(4) {
		out.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{
			"memory": amount(fmt.Sprintf("%dGi", 4*(1+d.IntN(5))))}}
	}
	if d.of(5) {
		out.Tolerations = []resourceapi.DeviceToleration{{Key: "broken",
			Operator: resourceapi.DeviceTolerationOpExists}}
	}
	return out
}
