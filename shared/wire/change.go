package wire

import "github.com/joiner-sh/joiner/shared/model"

// Change is one object as it is now, or that it is gone. Exactly one of the pointers is set; a deleted object needs
// only what its key is made of (namespace and name, Node of a CSINode). What it points to belongs to the receiver and
// is written to by nobody afterwards.
type Change struct {
	Deleted bool

	Pod       *model.Pod       // its Shape field is ignored: Shape below says it
	DaemonSet *model.DaemonSet // the same
	// of Pod, DaemonSet or Buffer; may be nil where Deleted, and is for a Buffer without room
	Shape *model.PodShape

	Node  *model.Node
	Pool  *model.Pool
	Class *model.Class
	Claim *model.Object
	Shown *model.ClaimShown // of Claim; nil where Deleted
	// of Pool, Class and Claim, as the object shows them; nil where Deleted
	Conditions []model.ConditionShown

	Namespace *model.Namespace
	Budget    *model.PDB
	Volume    *model.Volume
	Storage   *model.Storage
	CSINode   *model.CSINode
	Buffer    *model.Buffer // its Shape field is ignored, too
	Overlay   *model.Overlay

	ResourceClaim         *model.ResourceClaim
	ResourceClaimTemplate *model.ResourceClaimTemplate
	DeviceClass           *model.DeviceClass
	ResourceSlice         *model.ResourceSlice
}

// Delta is what changed between one published state of a cluster and the next: objects that are new or different, and
// the keys of those gone. Every list is sorted by key and without duplicates; no key is in both lists of a kind. Pods,
// daemon sets and buffers refer to shapes by the numbers of the snapshot the delta is applied to, followed by the
// delta's own.
type Delta struct {
	Cluster string `json:"cluster"`
	Epoch   int64  `json:"epoch"`
	Seq     int64  `json:"seq"` // of the state it leads to; it applies to Seq-1 only
	AtUnix  int64  `json:"at"`

	// how many shapes the snapshot must have; Shapes[0] gets this number
	FirstShape int              `json:"firstShape"`
	Shapes     []model.PodShape `json:"shapes,omitempty"`

	Pods       []model.Pod       `json:"-"` // as columns, outside the JSON head
	Nodes      []model.Node      `json:"nodes,omitempty"`
	Pools      []model.Pool      `json:"pools,omitempty"`
	Classes    []model.Class     `json:"classes,omitempty"`
	Claims     []model.Object    `json:"claims,omitempty"`
	DaemonSets []model.DaemonSet `json:"daemonSets,omitempty"`
	Namespaces []model.Namespace `json:"namespaces,omitempty"`
	Budgets    []model.PDB       `json:"budgets,omitempty"`
	Volumes    []model.Volume    `json:"volumes,omitempty"`
	Storage    []model.Storage   `json:"storageClasses,omitempty"`
	CSINodes   []model.CSINode   `json:"csiNodes,omitempty"`
	Buffers    []model.Buffer    `json:"buffers,omitempty"`
	Overlays   []model.Overlay   `json:"overlays,omitempty"`

	ResourceClaims         []model.ResourceClaim         `json:"resourceClaims,omitempty"`
	ResourceClaimTemplates []model.ResourceClaimTemplate `json:"resourceClaimTemplates,omitempty"`
	DeviceClasses          []model.DeviceClass           `json:"deviceClasses,omitempty"`
	ResourceSlices         []model.ResourceSlice         `json:"resourceSlices,omitempty"`

	Gone Gone `json:"gone"`
}

// Gone lists the keys of deleted objects by kind, each sorted: namespace/name, or the name alone.
type Gone struct {
	Pods       []string `json:"pods,omitempty"`
	Nodes      []string `json:"nodes,omitempty"`
	Pools      []string `json:"pools,omitempty"`
	Classes    []string `json:"classes,omitempty"`
	Claims     []string `json:"claims,omitempty"`
	DaemonSets []string `json:"daemonSets,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Budgets    []string `json:"budgets,omitempty"`
	Volumes    []string `json:"volumes,omitempty"`
	Storage    []string `json:"storageClasses,omitempty"`
	CSINodes   []string `json:"csiNodes,omitempty"`
	Buffers    []string `json:"buffers,omitempty"`
	Overlays   []string `json:"overlays,omitempty"`

	ResourceClaims         []string `json:"resourceClaims,omitempty"`
	ResourceClaimTemplates []string `json:"resourceClaimTemplates,omitempty"`
	DeviceClasses          []string `json:"deviceClasses,omitempty"`
	ResourceSlices         []string `json:"resourceSlices,omitempty"`
}
