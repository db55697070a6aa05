package model

// Decision is the record of one provisioning decision: why it came out as it did, and enough to make it once more.
type Decision struct {
	ID       string     `json:"id"`
	Cluster  string     `json:"cluster"`
	AtUnix   int64      `json:"at"`
	Trigger  string     `json:"trigger"` // batch, resync, node, bootstrap
	Epoch    int64      `json:"epoch"`   // of the snapshot; 0 = listed
	Seq      int64      `json:"seq"`
	Build    string     `json:"build,omitempty"`
	Rounds   []Round    `json:"rounds"`   // one, or more where a capacity error made it plan again
	Catalog  CatalogUse `json:"machines"` // what prices and instance types it was decided by
	Pending  int        `json:"pending"`
	Launched []string   `json:"launched"` // claim names
	// Open says that the record was written before the last round's launches, and that whoever wrote it died before it
	// could say what came of them: the ledger says, and removals.
	Open bool `json:"open,omitempty"`

	Input *DecisionInput `json:"input,omitempty"` // nil in lists, and in records of versions that did not keep it
}

// Round is one plan within a decision and what came of it.
type Round struct {
	Plan                 Plan                  `json:"plan"`
	Launched             []Claim               `json:"launched,omitempty"`
	Failed               []Claim               `json:"failed,omitempty"`
	UnavailableOfferings []UnavailableOffering `json:"marks,omitempty"`

	Input *PlannerInput `json:"asked,omitempty"` // what Plan answers; nil where Decision.Input is
}

// Disrupted is the record of one decision about disruption, as Decision is of one to provision. Once an hour it is of
// one that disrupts nothing.
type Disrupted struct {
	ID        string      `json:"id"`
	Cluster   string      `json:"cluster"`
	AtUnix    int64       `json:"at"`
	Epoch     int64       `json:"epoch"` // of the snapshot
	Seq       int64       `json:"seq"`
	Build     string      `json:"build,omitempty"`
	Plan      DisruptPlan `json:"plan"`      // with the names replacements have got
	Committed []string    `json:"committed"` // command ids
	Catalog   CatalogUse  `json:"machines"`  // what prices and instance types it was decided by

	Recorded *DecisionInput   `json:"input,omitempty"` // as Decision's
	Input    *DisruptionInput `json:"asked,omitempty"` // what Plan answers; nil where Input is
	// Named are the names replacements have got, by the names they were planned with; of commands that were committed.
	Named map[string]string `json:"named,omitempty"`
}

// DecisionInput is where to find what a decision went by, or that itself where it is nowhere else.
type DecisionInput struct {
	Account string `json:"account,omitempty"` // whose catalog; empty = not known
	Region  string `json:"region"`
	// Snapshot is what was read, HeadSeq exactly; nil = the cluster was listed, and Listed is what that gave, as
	// package wire encodes a base.
	Snapshot *Manifest `json:"snapshot,omitempty"`
	Listed   []byte    `json:"listed,omitempty"`
	// Catalog is the instance catalog as package wire encodes it, where it was read by the planner itself; nil = it is
	// kept under its version (Instances.Version).
	Catalog []byte `json:"catalog,omitempty"`
}

// PlannerClass is a node class as a question puts it, beside what the snapshot says of it.
type PlannerClass struct {
	Name string `json:"name"`
	// Status is what it resolves to, less what was launched since.
	Status ClassStatus `json:"status"`
	// Barred says why nothing may be launched from it now for a reason that lies neither in it nor in its status; empty
	// = something may.
	Barred string `json:"barred,omitempty"`
	// Suspended says that its offerings have prices and are not available.
	Suspended bool `json:"suspended,omitempty"`
}

// PlannerInput is what one round of provisioning asks of the planner, beside the snapshot and the instance catalog.
type PlannerInput struct {
	NowUnix   int64            `json:"now"`
	Salt      string           `json:"salt"`
	Classes   []PlannerClass   `json:"classes,omitempty"` // those that are used, by name
	Offerings OfferingSettings `json:"offers"`
	// in flight, by name, as far as planning reads them
	Claims               []Claim               `json:"claims,omitempty"`
	Promised             []ReservedCapacity    `json:"promised,omitempty"` // room of theirs that is others', by claim
	Usage                []Usage               `json:"usage,omitempty"`    // by pool
	UnavailableOfferings []UnavailableOffering `json:"marks,omitempty"`
	// pools that had no capacity a moment ago and are left out of this round, sorted
	ExcludedPools []string `json:"aside,omitempty"`
	// pools that nothing is bought for now, by name
	SuspendedPools []SuspendedPool `json:"held,omitempty"`
	LeftOut        []string        `json:"leftOut,omitempty"` // what planning panicked over: see Quarantine

	// Leaving says of nodes that are to end, by name, by when no pod is left there, as package core/pack understands
	// it, at SeenUnix.
	Leaving  map[string]int64 `json:"leaving,omitempty"`
	SeenUnix int64            `json:"seen"`
	// Most is what one plan takes of the pods that wait; nil = all of them. Served are the namespaces with pods that
	// wait that something was launched for lately, the one that waits longest first; PlannedTo is the pod, by UID, up
	// to which the plan before took any pods.
	Most      *PlanBound `json:"most,omitempty"`
	Served    []string   `json:"served,omitempty"`
	PlannedTo string     `json:"plannedTo,omitempty"`

	// UIDs of pods that ask for nothing any more, though the snapshot says so; sorted
	Bound []string `json:"bound,omitempty"`

	// NodePools and EC2NodeClasses in the place of the snapshot's; nil = the snapshot's
	Applied *Applied `json:"applied,omitempty"`

	// instances that static pools lack, in the snapshot's order
	Fill []Filling `json:"fill,omitempty"`
	// replacements that commands wait for and that may be launched now
	PendingReplacements []PlannedClaim    `json:"owed,omitempty"`
	StandaloneClaims    []StandaloneClaim `json:"wishes,omitempty"` // NodeClaims made by hand

	IgnorePreferences   bool `json:"ignorePreferences,omitempty"`
	BestEffortMinValues bool `json:"bestEffortMinValues,omitempty"`
	// price of a claim, as a multiple of what it usually costs, above which its pods wait
	PriceCapFactor      int   `json:"dearTimes"`
	PriceCapWaitSeconds int64 `json:"dearWaitSeconds"` // how long they wait at most
}

// Applied is every NodePool and EC2NodeClass as the API server had them, by name.
type Applied struct {
	Pools   []Pool  `json:"pools,omitempty"`
	Classes []Class `json:"classes,omitempty"`
}

// In returns the snapshot with these in the place of its own; the snapshot itself where a is nil.
func (a *Applied) In(snapshot *Snapshot) *Snapshot {
	if a == nil {
		return snapshot
	}
	out := *snapshot
	out.Pools, out.Classes = a.Pools, a.Classes
	return &out
}

// SuspendedPool is a NodePool that nothing is bought for now.
type SuspendedPool struct {
	Pool string `json:"pool"`
	Why  string `json:"why"` // for people
}

// PlanBound is how much one plan takes at most.
type PlanBound struct {
	Pods  int `json:"pods"`
	Sets  int `json:"sets"`  // sets of pods that rules between pods name: distinct selectors, by namespace
	Rules int `json:"rules"` // such rules: distinct pairs of a set and a topology key
}

// ReservedCapacity is what of a claim's room is for pods that run elsewhere still.
type ReservedCapacity struct {
	Claim string    `json:"claim"`
	Takes Resources `json:"takes"`
}

// Filling is how many instances a static pool is to get in one round.
type Filling struct {
	Pool  string `json:"pool"`
	Count int    `json:"count"`
}

// DisruptionInput is what the disruption function asks: what is to be disrupted. It is asked beside the snapshot and
// the instance catalog.
type DisruptionInput struct {
	NowUnix   int64            `json:"now"`
	Salt      string           `json:"salt"`
	Classes   []PlannerClass   `json:"classes,omitempty"` // by name
	Offerings OfferingSettings `json:"offers"`
	// live ones, by name, as far as planning reads them
	Claims               []Claim               `json:"claims,omitempty"`
	Usage                []Usage               `json:"usage,omitempty"` // by pool
	UnavailableOfferings []UnavailableOffering `json:"marks,omitempty"` //
	SuspendedPools       []SuspendedPool       `json:"held,omitempty"`  // as Question's
	// open ones and those ended in the last day, by id
	Commands []Command          `json:"commands,omitempty"`
	Stops    []Stop             `json:"stops,omitempty"`
	Settings DisruptionSettings `json:"settings"`

	// claims cannot be read: nodes of pools without one are theirs, and may be ending
	Unclaimed bool `json:"unclaimed,omitempty"`
}

// OfferingSettings are what instance types are worked out by: the region's and the operator's own values.
type OfferingSettings struct {
	Region string `json:"region,omitempty"`
	// MemoryOverheadPPM is the part of an instance's memory that hypervisor and firmware keep, in parts per million.
	// 0 means the default of 75,000 (7.5 %), a negative value none.
	MemoryOverheadPPM int64 `json:"memoryOverheadPPM,omitempty"`
	// ReservedENIs are network interfaces no pod gets addresses from (custom networking, security groups for pods).
	ReservedENIs int64 `json:"reservedENIs,omitempty"`
	// NodeClassCEL allows expressions in kubelet configurations. Where it is false a class that has any can buy
	// nothing.
	NodeClassCEL bool `json:"nodeClassCEL,omitempty"`
	// NowUnix is when the types are asked for: reservations end, and what was learned is forgotten. 0 = before anything
	// does.
	NowUnix int64 `json:"now,omitempty"`
}

// DisruptionSettings are what people choose for all pools about disrupting nodes. The zero value of a number means the
// default named with it.
type DisruptionSettings struct {
	// spot nodes may be replaced by spot nodes, where enough types are cheaper
	SpotToSpot bool `json:"spotToSpot,omitempty"`
	// that must be cheaper for a single spot node to be replaced: 15
	SpotTypes           int  `json:"spotTypes,omitempty"`
	IgnorePreferences   bool `json:"ignorePreferences,omitempty"`
	BestEffortMinValues bool `json:"bestEffortMinValues,omitempty"`
	// of the price of what is disrupted, that a command must save: 1
	MinSavingPercent int64 `json:"minSavingPercent,omitempty"`
	// per hour, that a command must save: 1,000 ($0.001)
	MinSaving       MicroUSD `json:"minSaving,omitempty"`
	BalancedPercent int64    `json:"balancedPercent,omitempty"` // what a move of a Balanced pool must score: 50
	// for how long a decision must not be turned round without a changed input: 1,800
	OppositeSeconds int64 `json:"oppositeSeconds,omitempty"`
	// of the latest BreakerOutcomes commands of a class, that stop it: 3
	BreakerFailures int   `json:"breakerFailures,omitempty"`
	BreakerOutcomes int   `json:"breakerOutcomes,omitempty"` // 5
	BreakerSeconds  int64 `json:"breakerSeconds,omitempty"`  // for how long: 1,800
	MaxCommands     int   `json:"maxCommands,omitempty"`     // in one plan: 100
}

// Removal is the record of one instance's end: why, by whose decision, and what it had cost by then.
type Removal struct {
	Cluster string `json:"cluster"`
	Claim   Claim  `json:"claim"` // as it was when it was closed, its decision and its reason included
	Node    string `json:"node,omitempty"`
	Reason  string `json:"reason"`            // one of the Ended… codes; never empty
	Message string `json:"message,omitempty"` // a sentence
	By      string `json:"by"`                // who wanted it: one of the By… words
	// Command and Decision are those that disrupted it voluntarily; empty where nobody did.
	Command  string `json:"command,omitempty"`
	Decision string `json:"decision,omitempty"`
	// names of the claims that took its place, where a command says
	Replacements []string `json:"replacements,omitempty"`

	Pods         int      `json:"pods"` // that were asked to leave
	PricePerHour MicroUSD `json:"pricePerHour"`
	BeganUnix    int64    `json:"began,omitempty"` // when its end began; 0 = it ended by itself
	GoneUnix     int64    `json:"gone"`            // when it was closed
}

// Who wanted an instance to end.
const (
	ByJoiner  = "joiner"  // this program, voluntarily or by what its pool says
	ByPeople  = "people"  // somebody deleted an object or terminated the instance
	ByAWS     = "aws"     // spot, capacity, health of the hardware
	ByOutside = "outside" // people or AWS: EC2 does not say
)
