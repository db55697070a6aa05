package model

// Pool is a NodePool: what nodes may be made for whom.
type Pool struct {
	Name        string    `json:"name"`
	UID         string    `json:"uid"`
	Generation  int64     `json:"generation,omitempty"`
	DeletedUnix int64     `json:"deleted,omitempty"`
	Weight      int32     `json:"weight,omitempty"`   // 0..100, higher first
	Limits      Resources `json:"limits,omitempty"`   // nil = none; may name Nodes
	Replicas    *int64    `json:"replicas,omitempty"` // set = static pool: never scheduled into by new claims
	Hash        string    `json:"hash,omitempty"`     // drift hash of the template
	Template    Template  `json:"template"`

	Disruption Disruption `json:"disruption"`

	// Annotations are those of the NodePool object itself that are ours (joiner.sh/…).
	Annotations map[string]string `json:"annotations,omitempty"`

	// Invalid says why the pool may not be used, each a sentence naming field, value and remedy. Empty = usable.
	Invalid []string `json:"invalid,omitempty"`
}

// Template is what every claim of a pool starts from.
type Template struct {
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Requirements  []Requirement     `json:"requirements,omitempty"`
	Taints        []Taint           `json:"taints,omitempty"`
	StartupTaints []Taint           `json:"startupTaints,omitempty"`
	ClassGroup    string            `json:"classGroup,omitempty"`
	ClassKind     string            `json:"classKind,omitempty"`
	ClassName     string            `json:"className,omitempty"`
	// terminationGracePeriod; nil = wait for ever
	GraceSeconds       *int64 `json:"graceSeconds,omitempty"`
	ExpireAfterSeconds *int64 `json:"expireAfterSeconds,omitempty"` // nil = Never
}

// UsesEC2NodeClass reports whether the template names an EC2NodeClass: a pool whose nodes are of another provider's
// class is that provider's.
func (t *Template) UsesEC2NodeClass() bool {
	return t.ClassGroup == "karpenter.k8s.aws" && t.ClassKind == "EC2NodeClass"
}

// Disruption says when and how fast nodes of a pool may be disrupted.
type Disruption struct {
	// WhenEmpty, WhenEmptyOrUnderutilized, Balanced
	Policy                  string   `json:"policy,omitempty"`
	ConsolidateAfterSeconds *int64   `json:"consolidateAfterSeconds,omitempty"` // nil = Never
	Budgets                 []Budget `json:"budgets,omitempty"`
}

// Budget bounds how many nodes of a pool may be disrupted at once.
type Budget struct {
	Reasons         []string `json:"reasons,omitempty"` // empty = every reason
	Nodes           string   `json:"nodes"`             // "10%" or "3"
	Schedule        string   `json:"schedule,omitempty"`
	TimeZone        string   `json:"timeZone,omitempty"` // of the schedule, an IANA name; empty = UTC
	DurationSeconds int64    `json:"durationSeconds,omitempty"`
}
