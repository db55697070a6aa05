package replay

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// TooExpensiveForNow is the reason of a pod that waits because everything of a fair price gave no capacity a moment ago.
const TooExpensiveForNow = "TooDearForNow"

// Affordable takes claims out of the plan that would become a far larger instance than their pods need, only because what
// suits them gave no capacity a moment ago, and returns how many. Their pods wait for it, with that for a reason, until one of them has
// waited for PriceCapWaitSeconds: then the instance there is has to do. A claim that is expensive because only another capacity type is
// left is none of these: that is what accepting both is for.
func (p *Provision) Affordable(plan model.Plan) (model.Plan, int) {
	if p.whole == nil {
		return plan, 0
	}
	types := map[string][]model.Requirement{}
	for i := range p.Input.Snapshot.Pools {
		pool := &p.Input.Snapshot.Pools[i]
		types[pool.Name] = slices.DeleteFunc(slices.Clone(pool.Template.Requirements), func(n model.Requirement) bool { return n.Key != model.LabelInstanceType })
	}
	kept := []model.PlannedClaim{}
	for _, claim := range plan.Claims {
		usual, name := p.usual(claim, types[claim.Pool])
		if usual == 0 || p.Waited(claim.Pods) {
			kept = append(kept, claim)
			continue
		}
		plan.Price -= claim.Price
		for _, pod := range claim.Pods {
			plan.Unschedulable = append(plan.Unschedulable, model.Unschedulable{Pod: pod, Reasons: []model.Reason{{
				Pool: claim.Pool, Code: TooExpensiveForNow,
				Message: fmt.Sprintf("%s (%s, $%.4f per hour) would hold it and has no capacity now; the cheapest instance type that has capacity is %s for $%.4f",
					name, claim.Offering.CapacityType, usual.USD(), claim.Offering.InstanceType, claim.Price.USD()),
				Remedy: fmt.Sprintf("it is launched once the pod has been pending for %s; more instance types, zones or capacity types in the pool make this rare",
					time.Duration(p.input.PriceCapWaitSeconds)*time.Second),
			}}})
		}
	}
	waits := len(plan.Claims) - len(kept)
	if waits > 0 {
		plan.Claims = kept
		sort.SliceStable(plan.Unschedulable, func(i, j int) bool { return plan.Unschedulable[i].Pod.Key() < plan.Unschedulable[j].Pod.Key() })
	}
	return plan, waits
}

// usual is the lowest price of an instance of the claim's capacity type that its pool allows and that holds its pods, and what
// instance that is, were everything for sale available. A planned claim's own instance types are what is available; those the
// pool names are asked for. 0 where the claim costs no more than PriceCapFactor that, and where pods choose among types
// themselves.
func (p *Provision) usual(claim model.PlannedClaim, ofPool []model.Requirement) (model.MicroUSD, string) {
	if slices.ContainsFunc(claim.Pods, p.namesTypes) {
		return 0, ""
	}
	asked := slices.DeleteFunc(slices.Clone(claim.Requirements), func(n model.Requirement) bool { return n.Key == model.LabelInstanceType })
	below := (claim.Price-1)/model.MicroUSD(p.input.PriceCapFactor) + 1 // times PriceCapFactor, what is below is less than the claim's price
	return offering.Usual(p.whole[claim.Class], append(asked, ofPool...), claim.Requests, claim.Offering.CapacityType, below)
}

// namesTypes reports whether the pod names instance types by name.
func (p *Provision) namesTypes(ref model.PodRef) bool {
	pod := p.pod(ref)
	if pod == nil {
		return false
	}
	shape := p.Input.Snapshot.ShapeOf(pod)
	if _, named := shape.NodeSelector[model.LabelInstanceType]; named {
		return true
	}
	return slices.ContainsFunc(shape.RequiredNodeAffinity, func(term model.NodeTerm) bool {
		return slices.ContainsFunc(term.Requirements, func(n model.Requirement) bool { return n.Key == model.LabelInstanceType })
	})
}

// Waited reports whether any of the pods has waited long enough for any instance to be welcome.
func (p *Provision) Waited(pods []model.PodRef) bool {
	return slices.ContainsFunc(pods, func(ref model.PodRef) bool {
		pod := p.pod(ref)
		return pod == nil || p.input.NowUnix-pod.CreatedUnix >= p.input.PriceCapWaitSeconds
	})
}
