package model

// Operator of a Requirement, spelled as in the Kubernetes API.
type Operator string

// The eight operators. Gte and Lte exist on pools and claims only; a pod's own affinity has the first six.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
	Gt           Operator = "Gt"
	Lt           Operator = "Lt"
	Gte          Operator = "Gte"
	Lte          Operator = "Lte"
)

// Requirement is one condition on a node label, as written by a person. core/requirement turns lists of them into sets
// that can be intersected.
type Requirement struct {
	Key      string   `json:"key"`
	Operator Operator `json:"operator"`
	// In, NotIn: any; Gt, Lt, Gte, Lte: exactly one integer ≥ 0; Exists, DoesNotExist: none
	Values []string `json:"values,omitempty"`
	// 0 = none, else 1..50; distinct values the acceptable instance types must cover
	MinValues int `json:"minValues,omitempty"`
}

// Taint of a node. Effect is NoSchedule, PreferNoSchedule or NoExecute.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// The taint effects.
const (
	NoSchedule       = "NoSchedule"
	PreferNoSchedule = "PreferNoSchedule"
	NoExecute        = "NoExecute"
)

// Toleration of a pod. Operator is "" (means Equal), Equal, Exists, Lt or Gt; an empty Key with Exists tolerates every
// taint; an empty Effect matches every effect.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
}
