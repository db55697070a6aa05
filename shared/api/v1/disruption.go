package v1

// Disruption says when and how fast nodes are disrupted. Changing it leaves the nodes there are as they are.
type Disruption struct {
	// ConsolidateAfter is how long nothing may have happened to a node's pods before the node is considered for
	// consolidation. Never disables consolidation.
	//
	// +kubebuilder:default="0s"
	// +optional
	ConsolidateAfter NillableDuration `json:"consolidateAfter,omitzero"`
	// ConsolidationPolicy says which nodes are considered for consolidation.
	//
	// +kubebuilder:default=WhenEmptyOrUnderutilized
	// +optional
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`
	// Budgets bound how many nodes may be disrupted at once. All that are active count, so the tightest decides.
	//
	// +kubebuilder:default={{nodes: "10%"}}
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Budgets []Budget `json:"budgets,omitzero"`
}

// ConsolidationPolicy says which nodes are considered for consolidation.
//
// +kubebuilder:validation:Enum=WhenEmpty;WhenEmptyOrUnderutilized;Balanced
type ConsolidationPolicy string

// The consolidation policies.
const (
	// ConsolidationPolicyWhenEmpty removes nodes without pods.
	ConsolidationPolicyWhenEmpty ConsolidationPolicy = "WhenEmpty"
	// ConsolidationPolicyWhenEmptyOrUnderutilized also moves pods to fewer or cheaper nodes.
	ConsolidationPolicyWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	// ConsolidationPolicyBalanced moves pods only where the saving is worth the moves.
	ConsolidationPolicyBalanced ConsolidationPolicy = "Balanced"
)

// DisruptionReason is why a node is disrupted voluntarily.
//
// +kubebuilder:validation:Enum=Underutilized;Empty;Drifted
type DisruptionReason string

// The reasons a budget can name.
const (
	ReasonUnderutilized DisruptionReason = "Underutilized"
	ReasonEmpty         DisruptionReason = "Empty"
	ReasonDrifted       DisruptionReason = "Drifted"
)

// Budget bounds how many nodes may be disrupted at once, always or during recurring hours.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) == has(self.duration)",message="'schedule' and 'duration' must be set together"
type Budget struct {
	// Reasons limits the budget to disruptions for these reasons. Unset means every reason.
	//
	// +kubebuilder:validation:MaxItems=50
	// +listType=set
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`
	// Nodes is the number of nodes, or the percentage of the pool's nodes, that may be disrupted at once.
	//
	// +kubebuilder:default="10%"
	// +kubebuilder:validation:Pattern=`^([0-9]+|([0-9]{1,2}|100)%)$`
	// +required
	Nodes string `json:"nodes"`
	// Schedule is when the budget becomes active, in UTC: five cron fields or one of @annually, @yearly, @monthly,
	// @weekly, @daily, @midnight and @hourly. Unset is always active.
	//
	// +kubebuilder:validation:Pattern=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\s*\S+(\s+\S+){4}\s*)$`
	// +optional
	Schedule *string `json:"schedule,omitempty"`
	// Duration is how long the budget stays active after each time Schedule names, in hours and minutes.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+h([0-9]+m)?|[0-9]+m)(0s)?$`
	// +optional
	Duration *Duration `json:"duration,omitempty"`
}
