package check

import (
	"github.com/joiner-sh/joiner/shared/model"
)

// Answer is what a planner says to a problem. Pods are namespace/name.
type Answer struct {
	Claims        []Claim       `json:"claims"`
	Nominations   []Nomination  `json:"nominations"`
	Unschedulable []Unscheduled `json:"unschedulable"`
	PricePerHour  float64       `json:"pricePerHour"` // dollars
	Stats         Stats         `json:"stats"`
}

// Claim is a node to be bought.
type Claim struct {
	Name          string   `json:"name"`
	NodePool      string   `json:"nodePool"`
	InstanceTypes []string `json:"instanceTypes"` // any of them will do; the cheapest first
	Offering      Offering `json:"offer"`         // the cheapest way of buying one
	Zones         []string `json:"zones"`         // any of them will do
	CapacityTypes []string `json:"capacityTypes"` // any of them will do
	Pods          []string `json:"pods"`
}

// Offering is one way of buying an instance type.
type Offering struct {
	InstanceType string  `json:"instanceType"`
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	PricePerHour float64 `json:"pricePerHour"` // dollars
}

// Nomination puts pods on a node that exists.
type Nomination struct {
	Node string   `json:"node"`
	Pods []string `json:"pods"`
}

// Unscheduled is a pod that nothing can hold.
type Unscheduled struct {
	Pod     string   `json:"pod"`
	Reasons []Reason `json:"reasons"`
}

// Reason is why.
type Reason struct {
	NodePool string `json:"nodePool,omitempty"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Remedy   string `json:"remedy,omitempty"`
}

// Stats is what the answer took.
type Stats struct {
	Pods        int     `json:"pods"`
	PlanSeconds float64 `json:"planSeconds"`
	CPUSeconds  float64 `json:"cpuSeconds,omitempty"` // of all of the process's threads: what it takes where nobody else uses the machine, or a little more
	AllocBytes  uint64  `json:"allocBytes,omitempty"`
	AllocCount  uint64  `json:"allocCount,omitempty"`
	PeakBytes   uint64  `json:"peakBytes,omitempty"` // resident, the problem included
}

// FromPlan writes a plan as an answer.
func FromPlan(plan model.Plan) Answer {
	var a Answer
	for i := range plan.Claims {
		c := &plan.Claims[i]
		a.Claims = append(a.Claims, Claim{
			Name: c.Name, NodePool: c.Pool, InstanceTypes: c.InstanceTypes, Zones: c.Zones, CapacityTypes: c.CapacityTypes, Pods: keys(c.Pods),
			Offering: Offering{c.Offering.InstanceType, c.Offering.Zone, c.Offering.CapacityType, c.Price.USD()},
		})
	}
	for _, n := range plan.Nominations {
		a.Nominations = append(a.Nominations, Nomination{n.Node, keys(n.Pods)})
	}
	for _, u := range plan.Unschedulable {
		out := Unscheduled{Pod: u.Pod.Key()}
		for _, r := range u.Reasons {
			out.Reasons = append(out.Reasons, Reason{r.Pool, r.Code, r.Message, r.Remedy})
		}
		a.Unschedulable = append(a.Unschedulable, out)
	}
	a.PricePerHour = plan.Price.USD()
	return a
}

func keys(refs []model.PodRef) []string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.Key()
	}
	return out
}
