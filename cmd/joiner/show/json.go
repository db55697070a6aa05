package show

import (
	"io"

	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// Result is a plan and what is needed to tell of it.
type Result struct {
	Plan        model.Plan
	Snapshot    *model.Snapshot                 // that it is made of; nil = that is not said
	PlanSeconds float64                         // from the decoded input to the plan
	Catalogs    map[string][]model.InstanceType // by class name
	NotPlanned  map[string]int                  // pods that wait for something else than capacity, by what that is
	Headroom    int                             // of the pods the plan names, how many are places that CapacityBuffers keep free
}

// Pods returns how many pods the plan names.
func (r *Result) Pods() int {
	n := len(r.Plan.Unschedulable)
	for i := range r.Plan.Claims {
		n += len(r.Plan.Claims[i].Pods)
	}
	for i := range r.Plan.Nominations {
		n += len(r.Plan.Nominations[i].Pods)
	}
	return n
}

// What JSON writes. Lists are never null.
type (
	planJSON struct {
		Claims        []claimJSON         `json:"claims"`
		Nominations   []nominationJSON    `json:"nominations"`
		Unschedulable []unschedulableJSON `json:"unschedulable"`
		Price         model.MicroUSD      `json:"priceMicroUSDPerHour"`
		PricePerHour  float64             `json:"pricePerHour"` // dollars, as earlier versions wrote it
		Stats         statsJSON           `json:"stats"`
	}
	claimJSON struct {
		Name          string       `json:"name"`
		NodePool      string       `json:"nodePool"`
		InstanceTypes []string     `json:"instanceTypes"` // cheapest first
		Offering      offeringJSON `json:"offer"`         // the cheapest acceptable
		Zones         []string     `json:"zones"`
		CapacityTypes []string     `json:"capacityTypes"`

		Requirements []model.Requirement `json:"requirements"` // of the NodeClaim: all that remains, by key
		Requests     map[string]string   `json:"requests"`     // quantities, as Kubernetes writes them
		Labels       map[string]string   `json:"labels"`
		Annotations  map[string]string   `json:"annotations"`
		Taints       []model.Taint       `json:"taints"`
		Pods         []string            `json:"pods"` // namespace/name
	}
	offeringJSON struct {
		InstanceType string         `json:"instanceType"`
		Zone         string         `json:"zone"`
		CapacityType string         `json:"capacityType"`
		Price        model.MicroUSD `json:"priceMicroUSDPerHour"`
		PricePerHour float64        `json:"pricePerHour"` // dollars, as earlier versions wrote it
	}
	nominationJSON struct {
		Node string   `json:"node"` // or the NodeClaim on its way
		Pods []string `json:"pods"`
	}
	unschedulableJSON struct {
		Pod     string       `json:"pod"`
		Reasons []reasonJSON `json:"reasons"`
	}
	reasonJSON struct {
		NodePool string `json:"nodePool"` // empty = whatever the pool
		Code     string `json:"code"`
		Message  string `json:"message"`
		Remedy   string `json:"remedy"`
	}
	statsJSON struct {
		Pods        int     `json:"pods"`
		Headroom    int     `json:"headroom"` // of pods, places that CapacityBuffers keep free
		PlanSeconds float64 `json:"planSeconds"`
	}
)

// PlanJSON writes a plan for programs.
func PlanJSON(out io.Writer, r *Result) error {
	return Indented(out, planOf(r))
}

func planOf(r *Result) planJSON {
	written := planJSON{
		Claims:        make([]claimJSON, 0, len(r.Plan.Claims)),
		Nominations:   make([]nominationJSON, 0, len(r.Plan.Nominations)),
		Unschedulable: make([]unschedulableJSON, 0, len(r.Plan.Unschedulable)),
		Price:         r.Plan.Price,
		PricePerHour:  r.Plan.Price.USD(),
		Stats:         statsJSON{Pods: r.Pods(), Headroom: r.Headroom, PlanSeconds: r.PlanSeconds},
	}
	for i := range r.Plan.Claims {
		written.Claims = append(written.Claims, claimOf(&r.Plan.Claims[i]))
	}
	for _, n := range r.Plan.Nominations {
		written.Nominations = append(written.Nominations, nominationJSON{n.Node, model.Keys(n.Pods)})
	}
	for _, u := range r.Plan.Unschedulable {
		entry := unschedulableJSON{Pod: u.Pod.Key(), Reasons: make([]reasonJSON, 0, len(u.Reasons))}
		for _, reason := range u.Reasons {
			entry.Reasons = append(entry.Reasons, reasonJSON{reason.Pool, reason.Code, reason.Message, reason.Remedy})
		}
		written.Unschedulable = append(written.Unschedulable, entry)
	}
	return written
}

func claimOf(c *model.PlannedClaim) claimJSON {
	out := claimJSON{
		Name:          c.Name,
		NodePool:      c.Pool,
		InstanceTypes: c.InstanceTypes,
		Offering:      offeringJSON{c.Offering.InstanceType, c.Offering.Zone, c.Offering.CapacityType, c.Price, c.Price.USD()},
		Zones:         c.Zones,
		CapacityTypes: c.CapacityTypes,
		Requirements:  c.Requirements,
		Requests:      make(map[string]string, len(c.Requests)),
		Labels:        c.Labels,
		Annotations:   c.Annotations,
		Taints:        c.Taints,
		Pods:          model.Keys(c.Pods),
	}
	for name, amount := range c.Requests {
		out.Requests[name] = resource.Format(name, amount)
	}
	if out.Requirements == nil {
		out.Requirements = []model.Requirement{}
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	if out.Taints == nil {
		out.Taints = []model.Taint{}
	}
	return out
}
