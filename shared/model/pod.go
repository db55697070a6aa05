package model

import "slices"

// Phase of a pod.
type Phase uint8

// The phases. Unknown counts as Running: such a pod may still hold its node's resources.
const (
	Pending Phase = iota
	Running
	Succeeded
	Failed
)

// Pod is one pod: what is its own. What it shares with its like (requests, selectors, …) is its shape.
type Pod struct {
	UID           string `json:"uid"`
	Namespace     string `json:"namespace"`
	Name          string `json:"name"`
	Shape         int    `json:"shape"`                   // index into Snapshot.Shapes
	NodeName      string `json:"nodeName,omitempty"`      // empty until bound
	NominatedNode string `json:"nominatedNode,omitempty"` // set while it waits for a preemption
	Phase         Phase  `json:"phase,omitempty"`
	// kube-scheduler said so: condition PodScheduled False, reason Unschedulable
	Unschedulable bool  `json:"unschedulable,omitempty"`
	Ready         bool  `json:"ready,omitempty"`
	CreatedUnix   int64 `json:"created,omitempty"`
	StartedUnix   int64 `json:"started,omitempty"`
	DeletedUnix   int64 `json:"deleted,omitempty"` // when its grace ends; 0 = not being deleted
	// names of its PersistentVolumeClaims, in volume order, ephemeral ones as <pod>-<volume>
	Claims []string `json:"claims,omitempty"`
	// Buffer is namespace/name of the CapacityBuffer whose headroom this is: no pod, but the room of one that is kept
	// free. It waits for ever, of the lowest priority there is, and is never bound, told, or written anywhere. Empty =
	// it is a pod.
	Buffer string `json:"buffer,omitempty"`
}

// Key returns namespace/name.
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// Ref names the pod.
func (p *Pod) Ref() PodRef { return PodRef{Namespace: p.Namespace, Name: p.Name, UID: p.UID} }

// Terminal reports whether the pod has ended and holds nothing any more.
func (p *Pod) Terminal() bool { return p.Phase == Succeeded || p.Phase == Failed }

// PodRef names one pod as it was evaluated: a recreated pod of the same name has another UID.
type PodRef struct {
	Namespace string `json:"ns"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// Key returns namespace/name.
func (r PodRef) Key() string { return r.Namespace + "/" + r.Name }

// Keys returns the keys of pods, in their order.
func Keys(pods []PodRef) []string {
	out := make([]string, len(pods))
	for i := range pods {
		out[i] = pods[i].Key()
	}
	return out
}

// PodShape is everything of a pod's spec that scheduling looks at. Pods of one workload share one shape, so work is
// done per shape and not per pod. Slices are in the order of the object unless said otherwise.
type PodShape struct {
	Namespace    string            `json:"namespace"` // affinity and spread count within it
	Labels       map[string]string `json:"labels,omitempty"`
	Requests     Resources         `json:"requests"` // of the whole pod as Kubernetes computes it, always with pods=1
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	RequiredNodeAffinity  []NodeTerm     `json:"requiredNodeAffinity,omitempty"` // OR of terms; empty = no condition
	PreferredNodeAffinity []WeightedTerm `json:"preferredNodeAffinity,omitempty"`
	Tolerations           []Toleration   `json:"tolerations,omitempty"`

	PodAffinity              []PodTerm         `json:"podAffinity,omitempty"`
	PodAntiAffinity          []PodTerm         `json:"podAntiAffinity,omitempty"`
	PreferredPodAffinity     []WeightedPodTerm `json:"preferredPodAffinity,omitempty"`
	PreferredPodAntiAffinity []WeightedPodTerm `json:"preferredPodAntiAffinity,omitempty"`
	Spread                   []Spread          `json:"spread,omitempty"`

	HostPorts []HostPort `json:"hostPorts,omitempty"`
	// claims the pod brings along, whether or not they were made yet
	Ephemeral []EphemeralClaim `json:"ephemeral,omitempty"`

	Priority      int32  `json:"priority,omitempty"`
	PriorityClass string `json:"priorityClass,omitempty"`
	SchedulerName string `json:"schedulerName,omitempty"`
	Gated         bool   `json:"gated,omitempty"` // has scheduling gates left
	// kind of the controlling owner: DaemonSet, Node (static pod), ReplicaSet, …; empty = none
	OwnerKind    string `json:"ownerKind,omitempty"`
	OwnerName    string `json:"ownerName,omitempty"`
	DoNotDisrupt string `json:"doNotDisrupt,omitempty"` // value of the annotation karpenter.sh/do-not-disrupt
	TwoZones     bool   `json:"twoZones,omitempty"`     // the annotation joiner.sh/keep-two-zones is "true"
	// when its node may be disrupted voluntarily; nil = at any time
	Window *PodWindow `json:"window,omitempty"`
	// the annotation joiner.sh/system-workload is "true": it keeps no node, and none is launched for it
	System       bool  `json:"system,omitempty"`
	DeletionCost int32 `json:"deletionCost,omitempty"`
	GraceSeconds int64 `json:"graceSeconds,omitempty"`
	NoPreemption bool  `json:"noPreemption,omitempty"`
	// has resource claims (dynamic resource allocation), whether or not DeviceClaims lists them
	DynamicResource bool       `json:"dynamicResource,omitempty"`
	DeviceClaims    []PodClaim `json:"deviceClaims,omitempty"` // in the order of spec.resourceClaims
	// how containers divide the request for an extended resource, by its name, where several request it: kube-scheduler
	// claims devices for each of them, if a DeviceClass stands for the resource
	ExtendedRequests map[string][]int64 `json:"extendedRequests,omitempty"`

	// Unsupported lists what the pod asks for that this model cannot express, each a sentence naming field and value.
	// Such a pod is reported with it and never placed.
	Unsupported []string `json:"unsupported,omitempty"`
}

// PodWindow is what a pod's annotations joiner.sh/disruption-… say of when its node may be disrupted voluntarily, as
// they are written.
type PodWindow struct {
	Schedule string `json:"schedule,omitempty"` // cron
	Duration string `json:"duration,omitempty"` // such as 2h
	TimeZone string `json:"timeZone,omitempty"` // an IANA name; empty = UTC
}

// KeepsNode reports whether a pod of the shape is one that makes a node worth keeping: no daemon's, static or system
// pod.
func (s *PodShape) KeepsNode() bool {
	return s.OwnerKind != "DaemonSet" && s.OwnerKind != "Node" && !s.System
}

// OptsOut reports whether a pod of the shape requires a node that no NodePool has made, in each of the alternatives of
// its affinity.
func (s *PodShape) OptsOut() bool {
	for _, term := range s.RequiredNodeAffinity {
		if !slices.ContainsFunc(term.Requirements, func(r Requirement) bool {
			return r.Key == LabelNodePool && r.Operator == DoesNotExist
		}) {
			return false
		}
	}
	return len(s.RequiredNodeAffinity) > 0
}

// NodeTerm is an AND of requirements on node labels. A term without any matches nothing, as in Kubernetes.
type NodeTerm struct {
	Requirements []Requirement `json:"requirements,omitempty"`
	Fields       []Requirement `json:"fields,omitempty"` // matchFields: metadata.name only
}

// WeightedTerm is a preferred NodeTerm, Weight 1..100.
type WeightedTerm struct {
	Weight int32    `json:"weight"`
	Term   NodeTerm `json:"term"`
}

// Selector matches labels: every pair of MatchLabels and every expression (In, NotIn, Exists, DoesNotExist). A nil
// *Selector matches nothing, an empty one everything.
type Selector struct {
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	Expressions []Requirement     `json:"expressions,omitempty"`
}

// PodTerm is one pod affinity or anti-affinity term.
type PodTerm struct {
	TopologyKey       string    `json:"topologyKey"`
	Selector          *Selector `json:"selector,omitempty"`
	Namespaces        []string  `json:"namespaces,omitempty"`
	NamespaceSelector *Selector `json:"namespaceSelector,omitempty"`
	MatchLabelKeys    []string  `json:"matchLabelKeys,omitempty"`
	MismatchLabelKeys []string  `json:"mismatchLabelKeys,omitempty"`
}

// WeightedPodTerm is a preferred PodTerm, Weight 1..100.
type WeightedPodTerm struct {
	Weight int32   `json:"weight"`
	Term   PodTerm `json:"term"`
}

// Spread is a topology spread constraint.
type Spread struct {
	TopologyKey        string    `json:"topologyKey"`
	MaxSkew            int32     `json:"maxSkew"`
	MinDomains         int32     `json:"minDomains,omitempty"` // 0 = unset
	Anyway             bool      `json:"anyway,omitempty"`     // ScheduleAnyway; else DoNotSchedule
	Selector           *Selector `json:"selector,omitempty"`
	MatchLabelKeys     []string  `json:"matchLabelKeys,omitempty"`
	IgnoreNodeAffinity bool      `json:"ignoreNodeAffinity,omitempty"` // nodeAffinityPolicy Ignore; default Honor
	HonorNodeTaints    bool      `json:"honorNodeTaints,omitempty"`    // nodeTaintsPolicy Honor; default Ignore
	// what asks for it; empty = the pod's constraint itself
	Field string `json:"field,omitempty"`
}

// EphemeralClaim is a volume whose PersistentVolumeClaim, <pod>-<volume>, is made for the pod and goes with it.
type EphemeralClaim struct {
	Volume  string `json:"volume"`
	Class   string `json:"class,omitempty"`   // storage class; empty = the cluster's default, or NoStorageClass
	OncePod bool   `json:"oncePod,omitempty"` // access mode ReadWriteOncePod
}

// HostPort is a port a container takes on its node. IP "" means every address.
type HostPort struct {
	IP       string `json:"ip,omitempty"`
	Port     int32  `json:"port"`
	Protocol string `json:"protocol"` // TCP, UDP, SCTP
}
