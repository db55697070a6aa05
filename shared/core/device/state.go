package device

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/joiner-sh/joiner/shared/model"
)

// Problem says why a pod's claims keep it from running anywhere.
type Problem struct{ Message, Remedy string }

// Index is what a snapshot says of devices. It is for one goroutine.
type Index struct {
	snapshot *model.Snapshot
	catalogs map[string][]model.InstanceType
	nowUnix  int64
	moving   map[string]bool // pods that hold nothing of the node they are on, by UID

	read      bool // what follows is made
	blind     bool // the snapshot has nothing of dynamic resource allocation
	claims    map[string]*model.ResourceClaim
	ofPods    map[podClaim]*model.ResourceClaim
	templates map[string]*model.ResourceClaimTemplate
	slices    map[string][]*model.ResourceSlice // by node
	nodes     map[string]*model.Node
	byType    map[string][]*model.Node       // by instance type
	labels    map[string]map[string][]string // of instance types, by name
	listed    map[string][]string            // by instance type: what its catalog says that drivers publish
	homes     map[string]string              // by UID of pods with claims that are bound: the node
	bound     map[string][]int               // by node: pods with claims, as indexes into the snapshot's
	taken     map[string][]allocated         // by pool of a driver
	classes   classes
	cache     *cel.Cache

	specs   map[string]*resourceapi.ResourceClaimSpec // by text
	made    map[string]*Claims                        // by text
	onNodes map[string]*Devices
	onTypes map[string]*Devices
}

type podClaim struct{ pod, claim string }

// Claims is what a pod claims. Pods that claim alike share one.
type Claims struct {
	// Text is equal for pods that claim the same, where claims that several pods may use are the same by name.
	Text string
	// Field of the pod that says so.
	Field string
	// Pins say where what is allocated to the pod already can be used: one term of each must hold.
	Pins [][]model.NodeTerm
	// Shared are claims, as namespace/name, that are the pod's with others, and that nothing is allocated for yet: all
	// their pods run on one node.
	Shared []string

	number int
	wanted []wanted
}

// wanted is a claim for which devices are to be allocated.
type wanted struct {
	key   string // of a claim that several pods may use; empty = it is the pod's own
	claim *resourceapi.ResourceClaim
}

// allocated is what a claim holds.
type allocated struct {
	key     string // of a claim that several pods may use
	results []resourceapi.DeviceRequestAllocationResult
}

// Devices are those of one node, less what is taken. They do not change: whoever takes some gets another value.
type Devices struct {
	index  *Index
	node   *corev1.Node
	slices []*resourceapi.ResourceSlice
	taken  []allocated

	state *structured.AllocatedState // of taken; nil = not made yet
	next  map[int]*Devices           // by number of claims; nil = they do not suffice
	errs  map[int]error              // by number of claims: what is wrong with them on these devices
}

// classes are the DeviceClasses, each read when it is first asked for.
type classes struct {
	all  map[string]*model.DeviceClass
	read map[string]*resourceapi.DeviceClass
}
