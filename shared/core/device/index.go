package device

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/joiner-sh/joiner/shared/model"
)

// maxExpressions is how many compiled expressions are kept.
const maxExpressions = 256

// New returns the index of a snapshot. The catalogs say what instance types there are. Pods listed as moving, by their
// index, hold no devices. Nothing is read before it is asked for.
func New(snapshot *model.Snapshot, catalogs map[string][]model.InstanceType, moving map[int]bool,
	nowUnix int64) *Index {
	x := &Index{snapshot: snapshot, catalogs: catalogs, nowUnix: nowUnix, moving: make(map[string]bool)}
	for i := range moving { // into a set
		if uid := snapshot.Pods[i].UID; uid != "" {
			x.moving[uid] = true
		}
	}
	return x
}

// prepare reads the snapshot.
func (x *Index) prepare() {
	if x.read {
		return
	}
	x.read = true
	s := x.snapshot
	if len(s.DeviceClasses)+len(s.ResourceSlices)+len(s.ResourceClaims)+len(s.ResourceClaimTemplates) == 0 {
		x.blind = true
	}
	x.claims, x.ofPods = make(map[string]*model.ResourceClaim), make(map[podClaim]*model.ResourceClaim)
	x.templates, x.slices = make(map[string]*model.ResourceClaimTemplate), make(map[string][]*model.ResourceSlice)
	x.nodes, x.byType = make(map[string]*model.Node), make(map[string][]*model.Node)
	x.taken = make(map[string][]allocated)
	x.specs, x.made = make(map[string]*resourceapi.ResourceClaimSpec), make(map[string]*Claims)
	x.onNodes, x.onTypes = make(map[string]*Devices), make(map[string]*Devices)
	x.classes = classes{all: make(map[string]*model.DeviceClass), read: make(map[string]*resourceapi.DeviceClass)}
	x.cache = cel.NewCache(maxExpressions, cel.Features{EnableConsumableCapacity: true})
	x.readPods()
	x.readTypes()
	for i := range s.Nodes {
		n := &s.Nodes[i]
		x.nodes[n.Name] = n
		if kind := n.Labels[model.LabelInstanceType]; kind != "" {
			x.byType[kind] = append(x.byType[kind], n)
		}
	}
	for i := range s.ResourceSlices {
		if r := &s.ResourceSlices[i]; r.Node != "" {
			x.slices[r.Node] = append(x.slices[r.Node], r)
		}
	}
	for i := range s.ResourceClaimTemplates {
		t := &s.ResourceClaimTemplates[i]
		x.templates[t.Namespace+"/"+t.Name] = t
	}
	for i := range s.DeviceClasses {
		x.classes.all[s.DeviceClasses[i].Name] = &s.DeviceClasses[i]
	}
	for i := range s.ResourceClaims {
		c := &s.ResourceClaims[i]
		x.claims[c.Namespace+"/"+c.Name] = c
		if c.PodUID != "" { // for its extended resources without the name of an entry
			x.ofPods[podClaim{c.PodUID, c.PodClaim}] = c
		}
		if !x.free(c) {
			x.note(c)
		}
	}
}

// free reports whether nothing is allocated for the claim, or nobody will be using it.
func (x *Index) free(c *model.ResourceClaim) bool {
	if c.Allocation == "" {
		return true
	}
	return !c.Others && !slices.ContainsFunc(c.ReservedFor, func(uid string) bool { return x.uses(uid, c) })
}

// uses reports whether the pod goes on using what is allocated for the claim. It does not where it moves, or where it
// is taken to have moved: to a node where that is not.
func (x *Index) uses(uid string, c *model.ResourceClaim) bool {
	home := x.homes[uid]
	there := func(t model.NodeTerm) bool { return names(t) == nil || slices.Contains(names(t), home) }
	return !x.moving[uid] && (home == "" || len(c.Affinity) == 0 || slices.ContainsFunc(c.Affinity, there))
}

// names returns the nodes that the term names; nil where it is about labels.
func names(t model.NodeTerm) []string {
	if len(t.Fields) != 1 || t.Fields[0].Operator != model.In {
		return nil
	}
	return t.Fields[0].Values
}

// readPods notes where pods with claims are.
func (x *Index) readPods() {
	x.homes, x.bound = make(map[string]string), make(map[string][]int)
	s := x.snapshot
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.NodeName == "" || pod.Terminal() || pod.Shape < 0 || pod.Shape >= len(s.Shapes) ||
			len(s.Shapes[pod.Shape].DeviceClaims) == 0 {
			continue
		}
		if !x.moving[pod.UID] {
			x.homes[pod.UID] = pod.NodeName
			x.bound[pod.NodeName] = append(x.bound[pod.NodeName], i)
		}
	}
}

// readTypes notes the labels and the devices of instance types. Catalogs differ in what a class makes of a type, and
// not in its devices.
func (x *Index) readTypes() {
	x.labels, x.listed = make(map[string]map[string][]string), make(map[string][]string)
	for _, key := range slices.Sorted(maps.Keys(x.catalogs)) {
		for i := range x.catalogs[key] {
			if t := &x.catalogs[key][i]; x.labels[t.Name] == nil {
				x.labels[t.Name], x.listed[t.Name] = t.Labels, t.ResourceSlices
			}
		}
	}
}

// Types returns the names of the instance types there are, sorted.
func (x *Index) Types() []string {
	x.prepare()
	return slices.Sorted(maps.Keys(x.labels))
}

// note notes what is allocated for a claim.
func (x *Index) note(c *model.ResourceClaim) {
	var allocation resourceapi.AllocationResult
	if json.Unmarshal([]byte(c.Allocation), &allocation) != nil {
		return
	}
	for _, result := range allocation.Devices.Results {
		pool := result.Driver + "/" + result.Pool
		x.taken[pool] = append(x.taken[pool], allocated{results: []resourceapi.DeviceRequestAllocationResult{result}})
	}
}

// spec returns what a claim asks for.
func (x *Index) spec(text string) (*resourceapi.ResourceClaimSpec, error) {
	if known := x.specs[text]; known != nil {
		return known, nil
	}
	spec := new(resourceapi.ResourceClaimSpec)
	if err := json.Unmarshal([]byte(text), spec); err != nil {
		return nil, err
	}
	setDefaults(spec)
	x.specs[text] = spec
	return spec, nil
}

// setDefaults sets what the API server does in a claim that says nothing: manifests are planned as they are written.
func setDefaults(spec *resourceapi.ResourceClaimSpec) {
	set := func(mode *resourceapi.DeviceAllocationMode, count *int64, tolerations []resourceapi.DeviceToleration) {
		if *mode == "" {
			*mode = resourceapi.DeviceAllocationModeExactCount
		}
		if *mode == resourceapi.DeviceAllocationModeExactCount && *count == 0 {
			*count = 1
		}
		for i := range tolerations {
			if tolerations[i].Operator == "" {
				tolerations[i].Operator = resourceapi.DeviceTolerationOpEqual
			}
		}
	}
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if e := r.Exactly; e != nil {
			set(&e.AllocationMode, &e.Count, e.Tolerations)
		}
		for j := range r.FirstAvailable {
			s := &r.FirstAvailable[j]
			set(&s.AllocationMode, &s.Count, s.Tolerations)
		}
	}
}

// Shared returns the drivers that have devices which belong to no single node, and that a class of the claims names,
// sorted.
func (x *Index) Shared(list []*Claims) []string {
	var out []string
	for i := range x.snapshot.ResourceSlices {
		r := &x.snapshot.ResourceSlices[i]
		claimed := func(c *Claims) bool { return x.classes.mention(r.Driver, c.Classes()) }
		if r.Node == "" && slices.ContainsFunc(list, claimed) {
			out = append(out, r.Driver)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mention reports whether any of the classes of those names names the driver.
func (c *classes) mention(driver string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		class := c.all[name]
		return class != nil && of(class, driver)
	})
}

// of reports whether a class names the driver.
func of(class *model.DeviceClass, driver string) bool {
	return class.Name == driver || strings.Contains(class.Spec, driver)
}

// List is never asked for by the allocator.
func (c *classes) List() ([]*resourceapi.DeviceClass, error) { return nil, nil }

// Get returns a class.
func (c *classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if known := c.read[name]; known != nil {
		return known, nil
	}
	source := c.all[name]
	if source == nil {
		return nil, fmt.Errorf("DeviceClass %s does not exist", name)
	}
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := json.Unmarshal([]byte(source.Spec), &class.Spec); err != nil {
		return nil, fmt.Errorf("DeviceClass %s: %w", name, err)
	}
	c.read[name] = class
	return class, nil
}

// about reports whether any class names the driver.
func (c *classes) about(driver string) bool {
	for _, class := range c.all { // whether any does not depend on the order
		if of(class, driver) {
			return true
		}
	}
	return false
}
