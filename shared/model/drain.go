package model

// Drain is how far the emptying of a claim's node has come. Times are by the ledger's clock.
type Drain struct {
	SinceUnix  int64 `json:"since"`            // when it was decided
	CordonUnix int64 `json:"cordon,omitempty"` // when its node was first to be tainted by a step of the drain
	// no pod is left by then, whatever forbids it; 0 = there is no such time
	DeadlineUnix int64 `json:"deadline,omitempty"`
	TaintedUnix  int64 `json:"tainted,omitempty"` // when the node was first seen with the taint of a drain
	EmptyUnix    int64 `json:"empty,omitempty"`   // when nothing was first left to evict, or to wait for
	// when no volume was attached any more, or nobody waited for that
	DetachedUnix int64 `json:"detached,omitempty"`
	EndUnix      int64 `json:"end,omitempty"` // when EC2 was first told to terminate the instance
	// when its next step is due, for which a hint was sent; 0 = at once
	DueUnix      int64     `json:"again,omitempty"`
	ReportedUnix int64     `json:"told,omitempty"`    // when people were last told what it waits for
	Evicted      int       `json:"asked,omitempty"`   // pods that were evicted or deleted
	Refused      []Refusal `json:"refused,omitempty"` // by pod UID
	// what it last waited for, as sentences for people; at most MaxDrainWaits
	Waits []string `json:"waits,omitempty"`

	// Notice is what AWS said for which the claim ends, while people have not learned of it; empty = they have, or AWS
	// said nothing.
	Notice NoticeKind `json:"notice,omitempty"`
}

// MaxDrainWaits is how many sentences a Drain keeps.
const MaxDrainWaits = 5

// Refusal is a pod whose eviction was refused, so that it is not asked for again at once.
type Refusal struct {
	UID       string `json:"uid"`
	Tries     int    `json:"tries"` // in a row, ≥ 1
	FirstUnix int64  `json:"first"` // when it was refused first
	NextUnix  int64  `json:"next"`  // it is asked for again then
	Code      string `json:"code"`  // DisruptionBudget, TooManyBudgets, …
	Message   string `json:"message,omitempty"`
}

// Occupied is a node with what is on it, read live.
type Occupied struct {
	// ReadUnix is when it was read by the API server's own clock, by which the times of its objects are: the only one
	// they can be compared with. 0 = not known; then the API server's clock and the ledger's are taken for one.
	ReadUnix int64

	Node    Node
	Pods    []Occupant   // every pod bound to it, by key
	Volumes []Attachment // of the node, by name
}

// Occupant is a pod as draining looks at it.
type Occupant struct {
	PodRef
	Phase         Phase
	Ready         bool
	Labels        map[string]string
	OwnerKind     string // of its controlling owner: DaemonSet, Node, ReplicaSet, …; empty = none
	System        bool   // the annotation joiner.sh/system-workload is "true"
	Static        bool   // a mirror of a pod the kubelet runs by itself
	Priority      int32
	PriorityClass string
	Tolerations   []Toleration
	DoNotDisrupt  string     // value of the annotation karpenter.sh/do-not-disrupt
	Window        *PodWindow // when its node may be disrupted voluntarily; nil = at any time
	GraceSeconds  int64      // the pod's own, ≥ 0
	StartedUnix   int64      // 0 = it has not
	DeletedUnix   int64      // when its grace ends; 0 = it is not being deleted
	// names of the PersistentVolumes its claims are bound to, of those that are attached to the node; sorted
	Volumes []string
}

// Attachment is a VolumeAttachment.
type Attachment struct {
	Name        string
	Volume      string // PersistentVolume; empty = none
	Attached    bool
	DeletedUnix int64 // 0 = it is not being deleted
}

// Notice is what AWS said of one instance, or of many in one event.
type Notice struct {
	ID        string // of the event
	Kind      NoticeKind
	Account   string
	Region    string
	Instances []string // ids, each once; empty for kinds that ask for nothing
	AtUnix    int64    // when it happened, by AWS's clock; 0 = it does not say
	EndUnix   int64    // when the instance ends, by AWS's clock; 0 = it does not say
	Detail    string   // for people: state, event type code, action
	Clusters  []string // names of EKS clusters, of NoticeZonalShift; empty = any of the account and region
}

// NoticeKind says what a notice is about.
type NoticeKind string

// The kinds of notices.
const (
	NoticeSpotInterrupted        NoticeKind = "spot_interrupted"
	NoticeRebalance              NoticeKind = "rebalance_recommendation"
	NoticeScheduledChange        NoticeKind = "scheduled_change"
	NoticeStopped                NoticeKind = "instance_stopped"    // stopping or stopped
	NoticeTerminated             NoticeKind = "instance_terminated" // shutting-down or terminated
	NoticeReservationInterrupted NoticeKind = "capacity_reservation_interrupted"
	NoticeZonalShift             NoticeKind = "zonal_shift" // one may have begun, changed or ended: ARC says which
	NoticeNothing                NoticeKind = "no_op"       // whatever else there is: to be forgotten
)

// FoundClaim is a claim with the cluster it is of.
type FoundClaim struct {
	Cluster string
	Claim   Claim
}

// SpotInterruption is a spot instance that EC2 takes back, or has taken, for reasons of its own.
type SpotInterruption struct {
	InstanceID string
	SinceUnix  int64 // when EC2 last changed the status of its request, seconds; 0 = it does not say
}

// Impairment is something that is wrong with an instance, or about to be, as EC2's status checks say.
type Impairment struct {
	InstanceID string
	Kind       string // ImpairedInstance, ImpairedSystem, ImpairedEvent
	SinceUnix  int64  // of failed checks: since when
	Code       string // of events: instance-retirement, …
	Message    string
}

// Kinds of impairments.
const (
	ImpairedInstance = "instance_status"
	ImpairedSystem   = "system_status"
	ImpairedEvent    = "event_status"
)
