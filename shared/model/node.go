package model

// Node is one node as the API server shows it.
type Node struct {
	Name       string            `json:"name"`
	UID        string            `json:"uid"`
	ProviderID string            `json:"providerID,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	// only those of karpenter.sh, karpenter.k8s.aws and joiner.sh
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []Taint           `json:"taints,omitempty"`
	Capacity    Resources         `json:"capacity,omitempty"`
	Allocatable Resources         `json:"allocatable,omitempty"`
	Ready       bool              `json:"ready,omitempty"`
	ReadyUnix   int64             `json:"readySince,omitempty"` // last transition of the Ready condition
	CreatedUnix int64             `json:"created,omitempty"`
	DeletedUnix int64             `json:"deleted,omitempty"`
	Finalizer   bool              `json:"finalizer,omitempty"` // ours is on it

	// PodEventUnix is when a pod that belongs to no DaemonSet was last bound to the node, ended on it or was deleted
	// from it, as far as whoever watches has seen, to within 10 seconds; 0 = it has seen none. What pods that are still
	// there say of themselves counts beside it.
	PodEventUnix int64 `json:"podEvent,omitempty"`

	// Conditions are those of its conditions that are not as they are on a healthy node, by type, and Ready where it is
	// not True.
	Conditions []NodeCondition `json:"conditions,omitempty"`
}

// NodeCondition is one condition of a node.
type NodeCondition struct {
	Type      string `json:"type"`
	Status    string `json:"status"`          // True, False, Unknown
	SinceUnix int64  `json:"since,omitempty"` // last transition
}

// Pool returns the node's NodePool, "" for a node that is not ours.
func (n *Node) Pool() string { return n.Labels[LabelNodePool] }

// Registered reports whether registration of the node has finished.
func (n *Node) Registered() bool { return n.Labels[LabelRegistered] == "true" }

// Initialized reports whether initialisation of the node has finished.
func (n *Node) Initialized() bool { return n.Labels[LabelInitialized] == "true" }
