package model

// Snapshot is a cluster as one immutable value. Lists are sorted by name (namespace/name where there is a namespace);
// they may be empty. Whoever holds a Snapshot may read it from anywhere and never writes to it.
type Snapshot struct {
	Cluster string `json:"cluster"`
	Epoch   int64  `json:"epoch"` // of the watcher's leadership that wrote it; 0 = built by listing
	Seq     int64  `json:"seq"`   // grows by one with every published change of an epoch
	AtUnix  int64  `json:"at"`    // when it was taken, by the watcher's clock

	Pods    []Pod      `json:"pods,omitempty"`
	Shapes  []PodShape `json:"shapes,omitempty"` // referred to by Pod.Shape and DaemonSet.Shape
	Nodes   []Node     `json:"nodes,omitempty"`
	Pools   []Pool     `json:"pools,omitempty"`
	Classes []Class    `json:"classes,omitempty"`
	Claims  []Object   `json:"claims,omitempty"` // NodeClaim objects that exist

	DaemonSets []DaemonSet `json:"daemonSets,omitempty"`
	Namespaces []Namespace `json:"namespaces,omitempty"`
	Budgets    []PDB       `json:"budgets,omitempty"`
	Volumes    []Volume    `json:"volumes,omitempty"`        // PersistentVolumeClaims with what is known of them
	Storage    []Storage   `json:"storageClasses,omitempty"` // StorageClasses
	CSINodes   []CSINode   `json:"csiNodes,omitempty"`
	Buffers    []Buffer    `json:"buffers,omitempty"`  // CapacityBuffers
	Overlays   []Overlay   `json:"overlays,omitempty"` // NodeOverlays

	// Of dynamic resource allocation.
	ResourceClaims         []ResourceClaim         `json:"resourceClaims,omitempty"`
	ResourceClaimTemplates []ResourceClaimTemplate `json:"resourceClaimTemplates,omitempty"`
	DeviceClasses          []DeviceClass           `json:"deviceClasses,omitempty"`
	ResourceSlices         []ResourceSlice         `json:"resourceSlices,omitempty"`
}

// ShapeOf returns the pod's shape.
func (s *Snapshot) ShapeOf(p *Pod) *PodShape { return &s.Shapes[p.Shape] }

// PriorityOf returns a pod's priority; 0 where the snapshot does not have its shape.
func (s *Snapshot) PriorityOf(p *Pod) int32 {
	if p.Shape < 0 || p.Shape >= len(s.Shapes) {
		return 0
	}
	return s.Shapes[p.Shape].Priority
}

// Object is a Kubernetes object known by name and UID only.
type Object struct {
	Name        string `json:"name"`
	UID         string `json:"uid"`
	DeletedUnix int64  `json:"deleted,omitempty"`

	// Of NodeClaims.
	Bare bool `json:"bare,omitempty"` // it lacks our finalizer or the label of its class
	// without an instance, and of no NodePool or without our finalizer: somebody made it by hand to have one launched
	Manual bool `json:"manual,omitempty"`
	// it shows that no pod has come to its node or left it for as long as its NodePool asks for (Consolidatable)
	Quiet bool `json:"quiet,omitempty"`
	// when it shows that a pod last came to its node or left it (status.lastPodEventTime); 0 = it shows no time
	PodEventUnix int64 `json:"podEvent,omitempty"`
}

// ConditionShown is a condition as an object shows it.
type ConditionShown struct {
	Type      string
	Status    string // True, False, Unknown
	Reason    string
	SinceUnix int64 // its last transition; 0 = it does not say
}

// ClaimShown is what a NodeClaim object shows of itself that nothing is decided by.
type ClaimShown struct {
	Pool              string
	Zone              string
	CapacityType      string
	ImageID           string
	NodeName          string // "" until it has a node
	MinValuesRelaxed  bool
	Drifted           bool
	Drained           bool
	DisruptionReason  string // of the condition of that name; "" = it is not to end
	DisruptionMessage string
}

// StandaloneClaim is a NodeClaim that somebody made by hand to have it launched.
type StandaloneClaim struct {
	Name        string    `json:"name"`
	UID         string    `json:"uid"`
	CreatedUnix int64     `json:"created,omitempty"`
	Template    Template  `json:"template"`           // its labels, annotations and spec, as if it were a pool's
	Requests    Resources `json:"requests,omitempty"` // what its instance has to hold, daemons included
	// Invalid says why nothing can be launched for it, each a sentence naming field, value and remedy. Empty =
	// something can.
	Invalid []string `json:"invalid,omitempty"`
}

// DaemonSet puts one pod of Shape on every node that fits it.
type DaemonSet struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Shape     int    `json:"shape"`
}

// Namespace with the labels namespace selectors look at.
type Namespace struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
}

// PDB is a PodDisruptionBudget.
type PDB struct {
	Namespace          string    `json:"namespace"`
	Name               string    `json:"name"`
	Selector           *Selector `json:"selector,omitempty"`
	DisruptionsAllowed int32     `json:"disruptionsAllowed"`
	MinAvailable       string    `json:"minAvailable,omitempty"`
	MaxUnavailable     string    `json:"maxUnavailable,omitempty"`
	AlwaysEvictUnready bool      `json:"alwaysEvictUnready,omitempty"`
}

// NoStorageClass is the Class of a claim that asks for none in so many words, so that it does not get the default one
// either and only a volume made by hand suits it. No class can have this name.
const NoStorageClass = "-"

// Volume is a PersistentVolumeClaim together with the volume bound to it.
type Volume struct {
	Namespace   string     `json:"namespace"`
	Name        string     `json:"name"`
	Class       string     `json:"class,omitempty"` // empty = the cluster's default
	Phase       string     `json:"phase,omitempty"` // Pending, Bound, Lost
	DeletedUnix int64      `json:"deleted,omitempty"`
	VolumeName  string     `json:"volumeName,omitempty"`
	Missing     bool       `json:"missing,omitempty"`  // VolumeName is set and no such PersistentVolume exists
	Driver      string     `json:"driver,omitempty"`   // CSI driver of the bound volume
	Local       bool       `json:"local,omitempty"`    // local or hostPath volume
	Affinity    []NodeTerm `json:"affinity,omitempty"` // the bound volume's required node affinity
	OncePod     bool       `json:"oncePod,omitempty"`  // access mode ReadWriteOncePod: one pod at a time
	Unbound     bool       `json:"unbound,omitempty"`  // VolumeName is set and binding has not completed
}

// Storage is a StorageClass.
type Storage struct {
	Name        string `json:"name"`
	Provisioner string `json:"provisioner"`
	// volume binding mode Immediate; else WaitForFirstConsumer
	Immediate         bool       `json:"immediate,omitempty"`
	Default           bool       `json:"default,omitempty"` // of claims that name no class
	AllowedTopologies []NodeTerm `json:"allowedTopologies,omitempty"`
}

// CSINode tells how many volumes of each driver a node can attach.
type CSINode struct {
	Node   string           `json:"node"`
	Limits map[string]int64 `json:"limits,omitempty"` // by driver; a driver without a count is unlimited
}
