package model

// Plan is what a provisioning decision says to do. Same input, same Plan, byte for byte.
type Plan struct {
	Claims        []PlannedClaim  `json:"claims"`        // in the order they were opened; may be empty, never nil
	Nominations   []Nomination    `json:"nominations"`   // by node
	Unschedulable []Unschedulable `json:"unschedulable"` // by pod key
	// of all claims, per hour, at their cheapest acceptable offerings
	Price MicroUSD `json:"price"`

	Later int `json:"later,omitempty"` // pods that wait too and did not fit into this plan: they are planned next
}

// PlannedClaim is a node to be asked for.
type PlannedClaim struct {
	Name          string      `json:"name"` // unique within the plan; the flow makes it unique in the cluster
	Pool          string      `json:"pool"`
	Class         string      `json:"class"`
	InstanceTypes []string    `json:"instanceTypes"` // every one holds the pods and its daemons; cheapest first
	Offering      OfferingKey `json:"offer"`         // the cheapest acceptable
	Price         MicroUSD    `json:"price"`         // of Offer, per hour
	Zones         []string    `json:"zones"`         // that remain acceptable, sorted
	CapacityTypes []string    `json:"capacityTypes"` // that remain acceptable: reserved, spot, on-demand order
	// what remains, by key; instance type, zone and capacity type included
	Requirements  []Requirement     `json:"requirements"`
	Requests      Resources         `json:"requests"` // pods plus the smallest daemon overhead
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Taints        []Taint           `json:"taints,omitempty"`
	StartupTaints []Taint           `json:"startupTaints,omitempty"`
	// of the devices that its pods claim, by name
	DeviceDrivers []string `json:"deviceDrivers,omitempty"`
	// the most any acceptable type would take of the pool's limits, with nodes=1
	Reserve Resources `json:"hold"`
	Pods    []PodRef  `json:"pods"` // by key
	// PoolHash is the drift hash of the pool's template as it was when this was planned, where it is launched only
	// later (a command's replacement): an edit in between shows as drift. Empty = the pool's own at launch.
	PoolHash string `json:"poolHash,omitempty"`
}

// Nomination says which pods fit a node that exists or is on its way (then Node is the claim's name).
type Nomination struct {
	Node string   `json:"node"`
	Pods []PodRef `json:"pods"` // by key
}

// Unschedulable is a pod nothing can hold, with the reason of every pool in pool order.
type Unschedulable struct {
	Pod     PodRef   `json:"pod"`
	Reasons []Reason `json:"reasons"` // never empty
}

// Reason is a "no" as data.
type Reason struct {
	Pool    string `json:"nodePool,omitempty"` // empty = whatever the pool
	Code    string `json:"code"`               // one of the codes of core/pack
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
	// About is the label key or the taint it is about; empty where it is about neither, or about several together.
	About string `json:"about,omitempty"`
}
