package v1

import "time"

// What the API server fills in where a pool or claim says nothing.
const (
	DefaultExpireAfter         = 720 * time.Hour
	DefaultConsolidateAfter    = 0 * time.Second
	DefaultConsolidationPolicy = ConsolidationPolicyWhenEmptyOrUnderutilized
	DefaultBudgetNodes         = "10%"
)

// SetDefaults fills in what the pool does not say, as the API server does on admission. It is for pools that never were
// in an API server, such as those read from a file; a second call changes nothing.
func (p *NodePool) SetDefaults() {
	setDuration(&p.Spec.Template.Spec.ExpireAfter, DefaultExpireAfter)
	disruption := &p.Spec.Disruption
	setDuration(&disruption.ConsolidateAfter, DefaultConsolidateAfter)
	if disruption.ConsolidationPolicy == "" {
		disruption.ConsolidationPolicy = DefaultConsolidationPolicy
	}
	if disruption.Budgets == nil {
		disruption.Budgets = []Budget{{}}
	}
	for i := range disruption.Budgets {
		if disruption.Budgets[i].Nodes == "" {
			disruption.Budgets[i].Nodes = DefaultBudgetNodes
		}
	}
}

// SetDefaults fills in what the claim does not say, as the API server does on admission.
func (c *NodeClaim) SetDefaults() { setDuration(&c.Spec.ExpireAfter, DefaultExpireAfter) }

func setDuration(d *NillableDuration, value time.Duration) {
	if d.IsZero() {
		*d = NewNillableDuration(&value)
	}
}
