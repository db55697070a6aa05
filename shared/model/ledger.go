package model

import "fmt"

// Registration is what we know of a cluster that was attached.
type Registration struct {
	Cluster    string `json:"cluster"` // its EKS name; unique in account and region
	ARN        string `json:"arn,omitempty"`
	Account    string `json:"account,omitempty"`
	Region     string `json:"region"`
	Endpoint   string `json:"endpoint,omitempty"` // of the API server; empty = ask EKS
	CA         []byte `json:"ca,omitempty"`       // PEM
	Roles      Roles  `json:"roles,omitzero"`     // to assume for EC2 and the API server
	ExternalID string `json:"externalID,omitempty"`
	// RelayURL is of the queue of requests to the API server that the watcher carries out, for API servers that
	// functions cannot reach; empty = they call it themselves.
	RelayURL    string `json:"relayURL,omitempty"`
	ServiceCIDR string `json:"serviceCIDR,omitempty"`
	ClusterDNS  string `json:"clusterDNS,omitempty"`
	Version     string `json:"version,omitempty"` // Kubernetes minor, "1.36"
	// SelfManaged says that EKS does not run the control plane: nothing is asked of EKS, and what it would say of the
	// cluster is what people said. It has no ARN.
	SelfManaged bool `json:"selfManaged,omitempty"`
	// Stack is the ARN of the CloudFormation stack that registered the cluster, the only one that may change the
	// registration or take it out; empty = people did, or an older version.
	Stack           string `json:"stack,omitempty"`
	Paused          bool   `json:"paused,omitempty"` // observe only
	RegisteredUnix  int64  `json:"registered,omitempty"`
	BatchIdleMillis int64  `json:"batchIdleMillis,omitempty"`
	BatchMaxMillis  int64  `json:"batchMaxMillis,omitempty"`
	// DefaultSpread is what the cluster's kube-scheduler has under defaultConstraints of PodTopologySpread, YAML or
	// JSON; empty or "none" = nothing. The watcher's JOINER_DEFAULT_SPREAD says the same.
	DefaultSpread string `json:"defaultSpread,omitempty"`
	// WasPaused says whether it was paused before somebody began to detach it, which pauses it; nil = nobody did.
	WasPaused *bool `json:"wasPaused,omitempty"`
}

// Roles are the ARNs of the cluster's roles, one for each program, with permissions to this cluster's instances and
// objects alone. An empty one = the program's own permissions.
type Roles struct {
	Provision    string `json:"provision,omitempty"`
	Interruption string `json:"interruption,omitempty"`
	Catalog      string `json:"catalog,omitempty"`
	Disrupt      string `json:"disrupt,omitempty"`
	Adopt        string `json:"adopt,omitempty"` // for people who take over a cluster from Karpenter
}

// Access is equal for registrations by which the same API server and account are reached with the same permissions.
func (r *Registration) Access() string {
	return fmt.Sprintf("%s %s %+v %s %s %x", r.Region, r.Endpoint, r.Roles, r.ExternalID, r.RelayURL, r.CA)
}

// Fence proves that its holder may write for a cluster: Token grew with this acquisition of the lease, and no write
// with an older one commits any more.
type Fence struct {
	Cluster   string `json:"cluster"`
	Lease     string `json:"lease"` // LeasePlanner, LeaseCollector, …
	Owner     string `json:"owner"`
	Token     int64  `json:"token"`
	UntilUnix int64  `json:"until"`

	// SinceUnix is when it was taken, by the clock of who took it; 0 = not known.
	SinceUnix int64 `json:"since,omitempty"`
}

// Manifest says where the newest snapshot of a cluster is and doubles as the watcher's heartbeat.
type Manifest struct {
	Cluster      string `json:"cluster"`
	Epoch        int64  `json:"epoch"`
	SnapshotKey  string `json:"baseKey"` // of the full snapshot's object
	SnapshotSeq  int64  `json:"baseSeq"`
	HeadSeq      int64  `json:"headSeq"`   // SnapshotSeq ≤ HeadSeq; deltas SnapshotSeq+1..HeadSeq follow the base
	WrittenUnix  int64  `json:"written"`   // last change
	HeartbeatAt  int64  `json:"heartbeat"` // Unix seconds of the watcher's last heartbeat
	WatcherOwner string `json:"owner,omitempty"`

	Lost bool `json:"-"` // somebody has said that an object is gone which it names; only where the ledger is read
}

// Usage is what a pool's claims hold against its limits.
type Usage struct {
	Pool     string    `json:"pool"`
	Reserved Resources `json:"held"` // with nodes
	Version  int64     `json:"version"`
}

// Ledger is everything the ledger knows of a cluster that a planner needs, read consistently item by item.
type Ledger struct {
	// live ones and those gone in the last minutes, by name
	Claims  []Claim  `json:"claims,omitempty"`
	Intents []Intent `json:"intents,omitempty"` // open ones, by id
	Usage   []Usage  `json:"usage,omitempty"`   // by pool
	// not forgotten, of the cluster's account and region
	UnavailableOfferings []UnavailableOffering `json:"marks,omitempty"`
	Shifts               ZonalShifts           `json:"shifts,omitzero"`   // of the cluster
	Manifest             *Manifest             `json:"pointer,omitempty"` // nil = no watcher was ever here
	// when it was read, by the ledger's own clock: what ages are measured by
	NowUnix int64 `json:"now,omitempty"`

	Unread UnreadItems `json:"unread,omitempty"` // items that are there and cannot be read, by key

	// why what the watcher wrote as its pointer is not believed; there is no Pointer then
	ManifestFault string `json:"pointerFault,omitempty"`

	// claims of no pool that have been Gone for less than a day, or whose item is there still, by name: it may be asked
	// for again
	FormerClaims []Claim `json:"former,omitempty"`
	// claims that had an instance and have been Gone for less than an hour, by name
	Ended     []Claim   `json:"ended,omitempty"`
	Allowance Allowance `json:"allowance,omitempty"` // of the cluster's account and region
	Notes     Notes     `json:"notes,omitempty"`     // the planner's own

	Classes []ClassRecord `json:"classes,omitempty"` // what the catalog function found out last, by name

	// Spent are the Gone claims of the names of open commands' replacements, by name: those replacements have failed.
	// One that is neither here nor among Claims was not launched yet.
	Spent []Claim `json:"spent,omitempty"`

	Commands       []Command       `json:"commands,omitempty"` // open ones and those ended in the last day, by id
	BudgetVersions []BudgetVersion `json:"turns,omitempty"`    // by pool
	Stops          []Stop          `json:"stops,omitempty"`    // of the cluster and of its account and region
	Disrupt        DisruptNotes    `json:"judge,omitempty"`    // the disruption function's own
}

// NeverPublished reports whether no watcher has ever published the cluster and nothing was launched for it: it is
// attached, and the chart is not installed yet.
func (l *Ledger) NeverPublished() bool {
	return l.Manifest == nil && l.ManifestFault == "" && len(l.Claims) == 0
}

// Rush reports whether very many drains have just begun, by the ledger's clock: then the API server has pods to evict,
// and what only shows can wait.
func (l *Ledger) Rush(nowUnix int64) bool {
	const many, seconds = 20, 10
	fresh := 0
	for i := range l.Claims {
		claim := &l.Claims[i]
		if claim.State == Draining && claim.Drain != nil && nowUnix-claim.Drain.SinceUnix < seconds {
			fresh++
		}
	}
	return fresh > many
}

// ClassRecord is what the selectors of a class resolved to, and whether it was found fit to launch from, as the catalog
// function last wrote it. Beside the object's status it has what people need not see: free addresses, free
// reservations.
type ClassRecord struct {
	Name    string `json:"name"`
	UID     string `json:"uid"`
	Version int64  `json:"version"` // bumped by every write; writers condition on it; 0 = never written
	// digest of what validation depends on: the verdict is good while it stays
	Inputs  string      `json:"inputs,omitempty"`
	Checked int64       `json:"checked,omitempty"` // when the verdict was reached, Unix seconds
	Status  ClassStatus `json:"status"`

	Profiles []LeftProfile `json:"profiles,omitempty"` // instance profiles it used before, of the last hour, by name
	// when the cluster's leftover instance profiles were last looked for
	Swept int64 `json:"swept,omitempty"`
}

// LeftProfile is an instance profile that a class used until SinceUnix.
type LeftProfile struct {
	Name      string `json:"name"`
	SinceUnix int64  `json:"since"`
}

// Allowance is what all clusters of an account and region share of EC2's API. Whoever calls EC2 takes from it first, on
// condition of its version; what the numbers mean is the flow's.
type Allowance struct {
	Version           int64 `json:"version"`          // bumped by every write; 0 = never written
	AtUnix            int64 `json:"at,omitempty"`     // when the amounts below were what they say
	CallsMilli        int64 `json:"calls,omitempty"`  // calls that may be made at once, in thousandths
	ReadsMilli        int64 `json:"reads,omitempty"`  // calls that only read and may be made at once, in thousandths
	InsufficientMilli int64 `json:"dry,omitempty"`    // launches that may come back without capacity, in thousandths
	ClosedUntilUnix   int64 `json:"closed,omitempty"` // nobody calls before: EC2 asked for less
	ClosedSeconds     int64 `json:"closedFor,omitempty"`
}

// Notes are what the planner of a cluster remembers from one run to the next. Only the holder of the planner lease
// writes them.
type Notes struct {
	Paces            []LaunchRate      `json:"paces,omitempty"`      // by pool
	ClassSuspensions []ClassSuspension `json:"holds,omitempty"`      // by class
	PoolSuspensions  []PoolSuspension  `json:"poolHolds,omitempty"`  // by pool
	Unfit            []Unfit           `json:"unfit,omitempty"`      // by name
	Quarantine       []Quarantine      `json:"quarantine,omitempty"` // by what is left out
	// since when NodeClaim objects exist that the ledger knows nothing of; 0 = none do
	LostUnix int64 `json:"lost,omitempty"`

	// Replaced are the names of the Draining claims whose pods were planned for, sorted: what they need has been asked
	// of EC2.
	Replaced []string `json:"replaced,omitempty"`

	Health []PoolHealth `json:"health,omitempty"` // by pool
	Shown  []PoolShown  `json:"shown,omitempty"`  // by pool

	Refusals    []ClassRefusal `json:"refusals,omitempty"`  // by class
	Templates   []TemplateUse  `json:"templates,omitempty"` // used lately, by name
	RecountUnix int64          `json:"recount,omitempty"`   // when usage was last counted anew
	TidyUnix    int64          `json:"tidy,omitempty"`      // when launch templates nobody uses were last looked for

	Headroom *HeadroomNote `json:"headroom,omitempty"` // nil = there may be room missing
	Unplaced *UnplacedNote `json:"unplaced,omitempty"` // nil = no pod was left without a place

	// UID of the pod up to which the last plan took any pods; "" = all that waited fit into it
	PlannedTo string `json:"plannedTo,omitempty"`

	// thousandths of calls of EC2's API that launches took lately, as of
	CallsMilli int64 `json:"calls,omitempty"`
	CallsUnix  int64 `json:"callsAt,omitempty"` // this time
	// thousandths of launches that came back without capacity lately, as of
	InsufficientMilli int64 `json:"dry,omitempty"`
	InsufficientUnix  int64 `json:"dryAt,omitempty"` // this time, when one last did
}

// UnplacedNote says which pods a plan left without a place, and why.
type UnplacedNote struct {
	AtUnix int64  `json:"at"`     // when a decision that says so was kept
	Digest string `json:"digest"` // of the pods and the codes of their reasons
}

// HeadroomNote says that all that CapacityBuffers ask for was there, and what that depended on.
type HeadroomNote struct {
	AtUnix int64  `json:"at"`
	Epoch  int64  `json:"epoch"` // of the snapshot
	Seq    int64  `json:"seq"`
	Ledger string `json:"ledger"` // digest of what the ledger says beyond it
}

// PoolShown says what a NodePool's status was last made to show of its instances.
type PoolShown struct {
	Pool   string `json:"pool"`
	Digest string `json:"digest"` // of the NodePool's UID and its PoolStatus
}

// ClassRefusal says that EC2 refused to launch from a class, for a reason that lies in the class, in what it names, or
// in permissions: nothing that another machine type or zone would get round.
type ClassRefusal struct {
	Class     string `json:"class"`
	Inputs    string `json:"inputs"` // digest of the class as it was; another one is tried at once
	Reason    string `json:"reason"` // such as Unauthorized
	Message   string `json:"message"`
	Failures  int    `json:"failures"` // in a row, none of them ten minutes after the one before was over; ≥ 1
	UntilUnix int64  `json:"until"`    // nothing is launched from it before
}

// TemplateUse says when a launch template was last used, to within some minutes.
type TemplateUse struct {
	Name     string `json:"name"`
	UsedUnix int64  `json:"used"`
}

// PoolHealth is what became of a pool's latest instances: whether they joined.
type PoolHealth struct {
	Pool string `json:"pool"`
	UID  string `json:"uid"`
	// stands for pool and class as they were; with others it begins anew
	Spec      string                `json:"spec"`
	SinceUnix int64                 `json:"since"`              // outcomes of instances asked for before do not count
	Outcomes  []RegistrationOutcome `json:"outcomes,omitempty"` // by time and claim, at most 4
}

// RegistrationOutcome is whether a claim's instance joined.
type RegistrationOutcome struct {
	Claim  string `json:"claim"`
	AtUnix int64  `json:"at"`
	Joined bool   `json:"joined,omitempty"`
}

// LaunchRate counts a pool's launch starts by the minute.
type LaunchRate struct {
	Pool           string `json:"pool"`
	Minute         int64  `json:"minute"`           // Unix seconds / 60
	Starts         int64  `json:"starts"`           // claims recorded in Minute
	UnknownOutcome int64  `json:"vain,omitempty"`   // of Starts, those of unknown outcome: they are no ramp-up
	Before         int64  `json:"before,omitempty"` // claims recorded in the minute before, without such
}

// ClassSuspension says that instances of a class do not join, and until when no more are launched to find that out
// again.
type ClassSuspension struct {
	Class string `json:"class"`
	// digest of the class as it was: another one is tried at once; empty = not known
	Inputs    string `json:"inputs,omitempty"`
	Failures  int    `json:"failures"` // in a row; 0 = the class was changed after the last one
	LastUnix  int64  `json:"last"`     // launch of the latest instance that counts among them
	UntilUnix int64  `json:"until"`    // after it one instance at a time is tried, until one joins
	// when the last failure was counted: instances launched before are of the same incident
	NotedUnix int64 `json:"noted"`
}

// Unfit is a replacement that a command waits for and that cannot be launched, for a reason that waiting does not mend.
type Unfit struct {
	Name   string `json:"name"` // the claim's
	Why    string `json:"why"`
	AtUnix int64  `json:"at"` // when that was found out
}

// Quarantine is something that made planning panic.
type Quarantine struct {
	What  string `json:"what"`  // NodePool/<name> or Pods/<namespace>/<owner kind>/<owner>
	Count int    `json:"count"` // times planning panicked because of it
	// left out from the start until then, once Count is high enough; forgotten after
	UntilUnix int64 `json:"until"`
	Reported  bool  `json:"told,omitempty"` // an event was written
}

// Settlement is the outcome of an intent: every claim of the intent is in exactly one of the two lists.
type Settlement struct {
	Intent   Intent
	Launched []Claim // with instance, capacity and price filled in
	Failed   []Claim // with FailureCode and FailureMessage; their hold is disrupted
	AtUnix   int64
}

// Launch is what a CreateFleet request is made from.
type Launch struct {
	Intent       string   // id; becomes the tag joiner.sh/intent
	Token        string   // client token
	Cluster      string   //
	Pool         string   //
	Class        Class    // with its resolved status
	Claims       []string // names, sorted; as many instances are asked for
	CapacityType string   // reserved, spot or on-demand: one request buys one
	Prioritized  bool     // people set prices of it: EC2 is to go by the overrides' and not by its own
	Context      string   // CreateFleet's; "" = none
	IPv6         bool     // the cluster's pods and services have IPv6 addresses
	Templates    []LaunchTemplate
}

// LaunchTemplate is the part of a launch whose instances boot alike: one image, one user data.
type LaunchTemplate struct {
	ImageID   string
	UserData  []byte // as the instance gets it, not encoded
	EFA       int64  // EFA interfaces, one for each network card; 0 = as the class says
	Dedicated bool   // on hardware of one's own
	Enclaves  bool   // Nitro enclaves are enabled
	Partition int64  // of the class's placement group, 1…; 0 = EC2 chooses
	// Reservation is what a launch of reserved capacity goes into; "" for others.
	Reservation   string
	Block         bool // the reservation is a capacity block
	Interruptible bool // the reservation's owner may take the capacity back
	Overrides     []Override
}

// Override is one pool of capacity the fleet may use. No two of a launch share instance type and zone.
type Override struct {
	InstanceType string
	Zone         string
	SubnetID     string
	Price        MicroUSD // per hour; orders equals
}

// LaunchResult is what CreateFleet answered.
type LaunchResult struct {
	Instances []Instance    // by id; may be empty
	Errors    []LaunchError // may be empty, and may come together with instances
}

// LaunchError is one pool's "no".
type LaunchError struct {
	Code     string // EC2's
	Message  string
	Offering OfferingKey // empty where the error names none
	SubnetID string
}

// InstanceCatalog is the region's instance types with the time they were read. Each part has an age of its own, because
// each may fail to be read again while the others do not.
type InstanceCatalog struct {
	Types    []InstanceTypeInfo `json:"types"` // by name
	ReadUnix int64              `json:"read"`  // when types, zones and what is offered where were read
	// when on-demand prices were read; 0 = never: then those of a built-in table stand in for them
	PriceUnix int64 `json:"priceRead,omitempty"`
	// when spot prices were read; 0 = never: then on-demand prices stand in for them
	SpotUnix int64 `json:"spotRead,omitempty"`
	// when a part of it was last read without effect; 0 = the last try brought all it was for
	TriedUnix int64  `json:"tried,omitempty"`
	Version   string `json:"version"` // changes whenever the content does
}

// CatalogParts are the parts of an instance catalog that are read apart.
type CatalogParts struct{ Types, Prices, Spot bool }

// Any reports whether there is any part among them.
func (p CatalogParts) Any() bool { return p.Types || p.Prices || p.Spot }

// Calls returns about how many calls of EC2's API it takes to read them, in a region of 900 types and six zones: types
// come by the hundred, offerings and spot prices by the thousand. The price list is another service.
func (p CatalogParts) Calls() int {
	calls := 0
	if p.Types {
		calls += 16
	}
	if p.Spot {
		calls += 11
	}
	return calls
}

// CatalogUse says which catalog was decided by, and how old it was.
type CatalogUse struct {
	Source    string `json:"source"`  // s3, ec2
	Version   string `json:"version"` //
	ReadUnix  int64  `json:"read"`
	PriceUnix int64  `json:"priceRead,omitempty"`
	SpotUnix  int64  `json:"spotRead,omitempty"`
	// what of it was older than it should have been, with its age; empty = nothing
	Stale []string `json:"stale,omitempty"`
}

// NodePatch is what registration and initialisation write to a node.
type NodePatch struct {
	Name         string
	UID          string            // of the node that was evaluated
	Labels       map[string]string // to set
	RemoveLabels []string          // keys
	Annotations  map[string]string // to set
	AddTaints    []Taint           // merged by key and effect
	// by key and effect, or by key alone where the effect is empty; one that is to be added as it is stays
	RemoveTaints []Taint
	Owner        *Object // NodeClaim to own it; nil = leave
	// UID of an owner that it is to have no longer, so that it stays when that goes; "" = leave
	Disown    string
	Finalizer bool // put ours on; a node that is being deleted gets none

	// Plain says that the node is thought to have no taint, and of finalizers ours alone, so that it need not be read
	// before it is written to. Where it turns out otherwise it is read all the same.
	Plain bool
}

// Report is what events and conditions say.
type Report struct {
	Events     []Event
	Pools      []Condition // on NodePools
	Claims     []Condition // on NodeClaims without an instance; Consolidatable and DisruptionReason on others too
	PodEvents  []PodEvent  // on NodeClaims
	Classes    []ClassReport
	PoolStatus []PoolStatus
	Buffers    []BufferReport
	Overlays   []OverlayReport
}

// Event is a Kubernetes event on one object.
type Event struct {
	Kind      string // Pod, NodeClaim, NodePool, EC2NodeClass, Node, CapacityBuffer, NodeOverlay
	Namespace string
	Name      string
	UID       string
	Warning   bool
	Reason    string // FailedScheduling, Nominated, …
	Message   string
}

// Condition is one status condition of one object.
type Condition struct {
	Object  string // name
	UID     string
	Type    string
	Status  string // True, False, Unknown; of Consolidatable and DisruptionReason also empty: it is taken off
	Reason  string
	Message string
}

// PodEvent says when a pod last came to the node of a NodeClaim or left it.
type PodEvent struct {
	Claim  string
	UID    string // of the NodeClaim object
	AtUnix int64
}

// ClassReport is an EC2NodeClass's resolved status.
type ClassReport struct {
	Class   string
	UID     string
	Status  ClassStatus
	Waiting string // of one that is being deleted: what it waits for; then nothing else of its status is written
}

// PoolStatus is what a NodePool's status shows of its claims.
type PoolStatus struct {
	Pool      string
	UID       string
	Nodes     int64
	Resources Resources
	// ClassGeneration is the generation of the EC2NodeClass that the pool's health was evaluated with; 0 = there is
	// none
	ClassGeneration int64
	Rollout         PoolRollout
}

// PoolRollout counts the nodes of a NodePool by whether an instance launched now would differ. Each node is in one of
// the three numbers.
type PoolRollout struct {
	Generation int64 // of the NodePool it was counted by
	Current    int64 // nodes of which nothing would differ
	Drifted    int64 // nodes of which something would, and that nobody replaces yet
	Replacing  int64 // the same, and a command or a drain is at work on them
}

// Condition says whether all nodes are current, as the condition RolledOut of the NodePool does.
func (r *PoolRollout) Condition() (status, reason, message string) {
	all := r.Current + r.Drifted + r.Replacing
	if r.Current == all {
		return "True", ConditionRolledOut, ""
	}
	return "False", "NodesDrifted",
		fmt.Sprintf("%d of %d nodes differ from what would be launched now; %d of them are being replaced",
			r.Drifted+r.Replacing, all, r.Replacing)
}
