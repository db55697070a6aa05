package model

// ClaimState is where a claim is in its life. It only moves forward.
type ClaimState string

// The states of a claim that exist so far, in order.
const (
	Intended    ClaimState = "Intent"      // recorded; nothing asked of EC2 that we know of
	Launched    ClaimState = "Launched"    // an instance exists
	Registered  ClaimState = "Registered"  // its node joined and carries our labels
	Initialized ClaimState = "Initialized" // its node is ready for pods
	// it is to end, and its node is being emptied first; it is no capacity any more and its pods ask for a place
	// elsewhere
	Draining ClaimState = "Draining"
	// its instance is to end, or is ending; it is no capacity any more and still holds its share of limits
	Terminating ClaimState = "Terminating"
	Gone        ClaimState = "Gone" // never launched, or its instance is gone
)

// Claim is a node we asked for, as the ledger keeps it. The NodeClaim object of the same name shows it to people.
type Claim struct {
	Name    string     `json:"name"`
	Pool    string     `json:"pool"`
	PoolUID string     `json:"poolUID,omitempty"`
	Class   string     `json:"class"`
	State   ClaimState `json:"state"`
	Version int64      `json:"version"` // bumped by every write; writers condition on it
	Intent  string     `json:"intent"`  // id of the Intent that launches it

	// What was asked for.
	Requirements  []Requirement     `json:"requirements,omitempty"` // sorted by key
	Requests      Resources         `json:"requests,omitempty"`
	InstanceTypes []string          `json:"instanceTypes,omitempty"` // acceptable, cheapest first
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Taints        []Taint           `json:"taints,omitempty"`
	StartupTaints []Taint           `json:"startupTaints,omitempty"`
	GraceSeconds  *int64            `json:"graceSeconds,omitempty"`
	ExpireSeconds *int64            `json:"expireSeconds,omitempty"`
	Pods          []PodRef          `json:"pods,omitempty"` // planned onto it, by key
	// of the devices that those pods claim, by name: its node is to have devices of each
	DeviceDrivers []string `json:"deviceDrivers,omitempty"`
	// held against the pool's limits; 0 ≤ what was settled ≤ held until settled
	Reserved Resources `json:"held,omitempty"`
	Decision string    `json:"decision,omitempty"`

	// What came of it. Empty until Launched.
	InstanceID   string `json:"instanceId,omitempty"`
	ProviderID   string `json:"providerID,omitempty"`
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	ZoneID       string `json:"zoneID,omitempty"`
	CapacityType string `json:"capacityType,omitempty"`
	ImageID      string `json:"imageId,omitempty"`
	SubnetID     string `json:"subnetId,omitempty"`
	Reservation  string `json:"reservation,omitempty"` // capacity reservation it was launched into
	// when the capacity block it runs in ends; 0 = it runs in none
	BlockEndsUnix int64     `json:"blockEnds,omitempty"`
	Price         MicroUSD  `json:"price,omitempty"` // per hour
	Capacity      Resources `json:"capacity,omitempty"`
	Allocatable   Resources `json:"allocatable,omitempty"`
	NodeName      string    `json:"nodeName,omitempty"`
	NodeUID       string    `json:"nodeUID,omitempty"`

	// why it never came to be, or why it ends: one of the Ended… codes
	FailureCode    string `json:"failureCode,omitempty"`
	FailureMessage string `json:"failureMessage,omitempty"`

	// Command is the id of the command that disrupts it voluntarily. While that is open its node is tainted, and nobody
	// else disrupts it voluntarily; whatever must end it does so all the same.
	Command string `json:"command,omitempty"`

	// Drain is how far emptying its node has come. Nil until Draining.
	Drain *Drain `json:"drain,omitempty"`

	CreatedUnix     int64 `json:"created,omitempty"`
	LaunchedUnix    int64 `json:"launched,omitempty"`
	RegisteredUnix  int64 `json:"registered,omitempty"`
	InitializedUnix int64 `json:"initialized,omitempty"`
	GoneUnix        int64 `json:"gone,omitempty"`

	// Drift says why an instance launched now would differ; empty = it would not. Since DriftUnix.
	Drift        string `json:"drift,omitempty"` // NodeClassDrift, AMIDrift, …
	DriftMessage string `json:"driftMessage,omitempty"`
	DriftUnix    int64  `json:"drifted,omitempty"`

	// Why its node is not Registered or Initialized yet, as the reason and message of that condition. Empty where it
	// is, and where there is no more to say than that it has not joined or is not ready.
	WaitReason  string `json:"waitReason,omitempty"`
	WaitMessage string `json:"waitMessage,omitempty"`

	// Inconsistent says how its node falls short of what was launched; empty = it does not. Since InconsistentUnix.
	Inconsistent     string `json:"inconsistent,omitempty"`
	InconsistentUnix int64  `json:"inconsistentSince,omitempty"`

	// Unrecorded says that the claim was closed while the record of its end could not be kept: it is yet to be.
	Unrecorded bool   `json:"unrecorded,omitempty"`
	EndedBy    string `json:"endedBy,omitempty"` // who wanted it to end, one of the By… words; of one that is Gone

	// ObjectUID is the NodeClaim object's UID once that exists. The object is written after the record.
	ObjectUID string `json:"objectUID,omitempty"`

	// Vanished says that the NodeClaim object went together with a definition, which nobody meant as the instance's
	// end: it is made anew once the definitions and its NodePool are there.
	Vanished bool `json:"vanished,omitempty"`
}

// Live reports whether the claim has, or may yet have, an instance.
func (c *Claim) Live() bool { return c.State != Gone }

// Ending reports whether the claim is to end or is ending.
func (c *Claim) Ending() bool { return c.State == Draining || c.State == Terminating }

// Free reports whether the claim may become a command's: it is live, is not to end, and no command has it.
func (c *Claim) Free() bool { return c.Live() && !c.Ending() && c.Command == "" }

// DrainDeadlineUnix returns the time at which the drain of an ending claim's node is over; 0 = it has none. Of an
// instance that is being terminated that is now: its pods end with it.
func (c *Claim) DrainDeadlineUnix(nowUnix int64) int64 {
	switch {
	case c.State == Terminating:
		return nowUnix
	case c.Drain == nil:
		return 0
	}
	return c.Drain.DeadlineUnix
}

// Consumed returns the share of the reserved limits that the claim's instance uses: the instance's own amounts where
// they are known, and never more than was reserved.
func (c *Claim) Consumed() Resources {
	took := make(Resources, len(c.Reserved))
	for name, held := range c.Reserved {
		took[name] = held
		amount, known := c.Capacity[name]
		switch name {
		case Nodes:
			amount, known = 1, true
		case Dollars:
			amount, known = int64(c.Price), c.Price > 0
		}
		if known {
			took[name] = min(held, amount)
		}
	}
	return took
}

// Deadline returns by when no pod is left on the claim's node where its end is decided at nowUnix: the earliest of what
// terminationGracePeriod gives it and the others that are set; 0 = never.
func (c *Claim) Deadline(nowUnix int64, others ...int64) int64 {
	var out int64
	if c.GraceSeconds != nil {
		out = nowUnix + max(0, *c.GraceSeconds)
	}
	for _, other := range others {
		if other != 0 && (out == 0 || other < out) {
			out = other
		}
	}
	return out
}

// EndedLately reports whether the claim had an instance and has been Gone for less than an hour at nowUnix.
func (c *Claim) EndedLately(nowUnix int64) bool {
	return c.State == Gone && c.InstanceID != "" && nowUnix-c.GoneUnix < 3600
}

// IntentState is how far a launch has come.
type IntentState string

// The states of an intent.
const (
	IntentCalling IntentState = "Calling" // recorded with its claims; CreateFleet may have been called
	IntentDone    IntentState = "Done"    // its outcome is recorded
)

// Intent is one launch of one or more like claims, recorded before CreateFleet is called with exactly the stored bytes.
type Intent struct {
	ID          string      `json:"id"`
	Cluster     string      `json:"cluster"`
	Pool        string      `json:"pool"`
	Claims      []string    `json:"claims"` // names, sorted; instance ids sorted the same way are theirs
	State       IntentState `json:"state"`
	Request     []byte      `json:"request"` // the exact CreateFleet request, client token included
	Token       string      `json:"token"`   // its client token, ≤ 64 ASCII characters
	Attempt     int         `json:"attempt"` // 1, 2, …: calls made with this token
	CreatedUnix int64       `json:"created"`
	DueUnix     int64       `json:"due"` // when recovery may look at it
}

// Instance is an instance EC2 says exists.
type Instance struct {
	ID           string `json:"id"`
	Type         string `json:"type"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	ImageID      string `json:"imageId,omitempty"`
	SubnetID     string `json:"subnetId,omitempty"`
	State        string `json:"state,omitempty"` // pending, running, …
	// of one that ended or is about to: EC2's code, such as Client.UserInitiatedShutdown
	StateReason  string            `json:"stateReason,omitempty"`
	LaunchedUnix int64             `json:"launched,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`

	SecurityGroups []string `json:"securityGroups,omitempty"` // ids, sorted; of its primary interface
	Reservation    string   `json:"reservation,omitempty"`    // capacity reservation it runs in
	Profile        string   `json:"profile,omitempty"`        // name of its instance profile
	PlacementGroup string   `json:"placementGroup,omitempty"` // id
	Partition      int64    `json:"partition,omitempty"`      // 0 = none, or not known yet
}

// ProviderID is the id by which the instance's Node names it: aws:///<zone>/<instance id>. Source: the AWS cloud
// provider's node addresses.
func (i *Instance) ProviderID() string { return "aws:///" + i.Zone + "/" + i.ID }
