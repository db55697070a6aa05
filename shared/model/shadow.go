package model

// Difference is how a plan made once more differs from the one that is recorded. Empty lists = in nothing of theirs.
type Difference struct {
	Identical bool            `json:"identical"` // to the last byte
	Claims    []ClaimChange   `json:"claims,omitempty"`
	Commands  []CommandChange `json:"commands,omitempty"`
	Pods      []PodChange     `json:"pods,omitempty"` // by key
	// per hour: of all claims to be launched; of the disruption function, once the plan is carried out
	PriceWas MicroUSD `json:"priceWas"`
	PriceIs  MicroUSD `json:"priceIs"`
}

// Shape reports whether instances, commands or places differ, and not reasons or order alone.
func (d *Difference) Shape() bool { return len(d.Claims)+len(d.Commands)+len(d.Pods) > 0 }

// ClaimChange is an instance that only one of the plans has, or both otherwise.
type ClaimChange struct {
	Was *Bought `json:"was,omitempty"` // nil = added
	Is  *Bought `json:"is,omitempty"`  // nil = removed
}

// Bought is a planned instance in short.
type Bought struct {
	Name     string      `json:"name"`
	Pool     string      `json:"pool,omitempty"`
	Offering OfferingKey `json:"offer"` // the cheapest acceptable
	Price    MicroUSD    `json:"price"` // of it, per hour
	Types    int         `json:"types"` // instance types that would do
	Pods     int         `json:"pods"`
}

// CommandChange is a command that only one of the plans has, or both otherwise.
type CommandChange struct {
	Nodes []string        `json:"nodes"`
	Was   *DisruptedNodes `json:"was,omitempty"` // nil = added
	Is    *DisruptedNodes `json:"is,omitempty"`  // nil = removed
}

// DisruptedNodes is a planned command in short.
type DisruptedNodes struct {
	Reason       string   `json:"reason"`
	Replacements []Bought `json:"replacements,omitempty"`
	PodsMoved    int      `json:"podsMoved"`
	Savings      MicroUSD `json:"savings"` // per hour
}

// PodChange is a pod that the plans give different places.
type PodChange struct {
	Pod string `json:"pod"`           // namespace/name
	Was string `json:"was,omitempty"` // a node or claim; empty = none
	Is  string `json:"is,omitempty"`
}

// Kinds of recorded decisions.
const (
	KindProvision = "provision"
	KindDisrupt   = "disrupt" // the disruption function's
)

// Recorded names a decision that is recorded.
type Recorded struct {
	ID   string
	Kind string // one of the Kind… words
	Day  string // UTC, such as 2026-11-20
}

// Shadowed is a recorded decision that another version makes otherwise: what that decides, and how it differs.
type Shadowed struct {
	Decision string `json:"decision"`
	Cluster  string `json:"cluster"`
	Kind     string `json:"kind"`
	AtUnix   int64  `json:"at"`
	Build    string `json:"build,omitempty"` // that decided, and acted
	By       string `json:"by"`              // that decided once more, and did not

	Rounds  []Difference `json:"rounds,omitempty"` // one for each plan of the record; the disruption function makes one
	Plans   []Plan       `json:"plans,omitempty"`  // of By, as many
	Planned *DisruptPlan `json:"judged,omitempty"` // of By, where it is the disruption function's
	Panic   string       `json:"panic,omitempty"`  // what By panicked with; then it came to no plan
}

// Verdicts on a decision that another version made once more.
const (
	ShadowSame       = "same"       // to the last byte
	ShadowDiffers    = "differs"    // a Shadowed says how
	ShadowUnanswered = "unanswered" // it could not be made once more
)

// ShadowIndex says which decisions of a day a version has made once more.
type ShadowIndex struct {
	Cluster string        `json:"cluster"`
	Day     string        `json:"day"`
	By      string        `json:"by"`
	Entries []ShadowEntry `json:"entries"` // by decision
}

// ShadowEntry is one of them.
type ShadowEntry struct {
	Decision string `json:"decision"`
	Kind     string `json:"kind"`
	AtUnix   int64  `json:"at"`
	Build    string `json:"build,omitempty"` // that decided, and acted
	Verdict  string `json:"verdict"`         // one of the Shadow… words
	Why      string `json:"why,omitempty"`   // it is unanswered
}
