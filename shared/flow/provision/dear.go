package provision

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/model"
)

// codeTooDear is the reason of a pod that waits because everything of a fair price gave no capacity a moment ago.
const codeTooDear = "TooDearForNow"

// affordable takes claims out of the plan that would become a far larger machine than their pods need, only because what
// suits them gave no capacity a moment ago. Their pods wait for it, with that for a reason, until one of them has waited
// for Settings.DearWait: then the machine there is has to do. A claim that is dear because only another capacity type is
// left is none of these: that is what accepting both is for.
func (r *run) affordable(plan model.Plan) model.Plan {
	if len(r.marksNow()) == 0 {
		return plan
	}
	types := map[string][]model.Requirement{}
	for i := range r.snapshot.Pools {
		pool := &r.snapshot.Pools[i]
		types[pool.Name] = slices.DeleteFunc(slices.Clone(pool.Template.Requirements), func(n model.Requirement) bool { return n.Key != model.LabelInstanceType })
	}
	var kept []model.PlannedClaim
	for _, claim := range plan.Claims {
		usual, name := r.usual(claim, types[claim.Pool], r.whole[claim.Class])
		if usual == 0 || r.waited(claim.Pods) {
			kept = append(kept, claim)
			continue
		}
		plan.Price -= claim.Price
		for _, pod := range claim.Pods {
			plan.Unschedulable = append(plan.Unschedulable, model.Unschedulable{Pod: pod, Reasons: []model.Reason{{
				Pool: claim.Pool, Code: codeTooDear,
				Message: fmt.Sprintf("%s (%s, $%.4f per hour) would hold it and has no capacity at this moment; the cheapest machine that has is a %s for $%.4f",
					name, claim.Offer.CapacityType, usual.USD(), claim.Offer.InstanceType, claim.Price.USD()),
				Remedy: fmt.Sprintf("it is launched once the pod has waited for %s; more instance types, zones or capacity types in the pool make this rare", r.settings.DearWait),
			}}})
		}
	}
	if len(kept) == len(plan.Claims) {
		return plan
	}
	r.problem("%d claims wait: only machines of more than %d times the usual price have capacity for them", len(plan.Claims)-len(kept), r.settings.DearTimes)
	plan.Claims = slices.Concat([]model.PlannedClaim{}, kept) // never nil
	sort.SliceStable(plan.Unschedulable, func(i, j int) bool { return plan.Unschedulable[i].Pod.Key() < plan.Unschedulable[j].Pod.Key() })
	return plan
}

// dearest is the most a machine of the planned claim may cost per hour: what is left of the pool's dollars, and no more than
// a few times the price it was planned at unless a pod has waited long enough. A fleet takes any of the types it is offered
// when the others have no capacity, so that it is not offered those. 0 = whatever it costs.
func (r *run) dearest(planned model.PlannedClaim) model.MicroUSD {
	limit := model.MicroUSD(planned.Hold[model.Dollars])
	most := planned.Price * model.MicroUSD(r.settings.DearTimes)
	if command := r.replaces(planned.Name); command != nil { // none of its pods waits
		if most = cmp.Or(worth(command, &planned), most); limit == 0 || most != 0 && most < limit {
			limit = most
		}
		return limit
	}
	if most == 0 || limit != 0 && limit < most || r.waited(planned.Pods) {
		return limit
	}
	return most
}

// lasting are the marks that speak of more than one offer without capacity: a quota, a subnet, a whole capacity type. Nothing
// is gained by waiting for those.
func (r *run) lasting() []model.Mark {
	return slices.DeleteFunc(slices.Clone(r.marksNow()), func(m model.Mark) bool {
		return m.Group == "" && m.SubnetID == "" && m.InstanceType != ""
	})
}

// usual is the lowest price of a machine of the claim's capacity type that its pool allows and that holds its pods, and what
// machine that is, were everything for sale to be had. A planned claim's own instance types are what is to be had; those the
// pool names are asked for. 0 where the claim costs no more than DearTimes that, and where pods choose among types
// themselves.
func (r *run) usual(claim model.PlannedClaim, ofPool []model.Requirement, list []offer.Priced) (model.MicroUSD, string) {
	if slices.ContainsFunc(claim.Pods, r.namesTypes) {
		return 0, ""
	}
	asked := slices.DeleteFunc(slices.Clone(claim.Requirements), func(n model.Requirement) bool { return n.Key == model.LabelInstanceType })
	below := (claim.Price-1)/model.MicroUSD(r.settings.DearTimes) + 1 // times DearTimes, what is below is less than the claim's price
	return offer.Usual(list, append(asked, ofPool...), claim.Requests, claim.Offer.CapacityType, below)
}

// namesTypes reports whether the pod speaks of instance types by name.
func (r *run) namesTypes(ref model.PodRef) bool {
	pod := r.pod(ref)
	if pod == nil {
		return false
	}
	shape := r.snapshot.ShapeOf(pod)
	if _, named := shape.NodeSelector[model.LabelInstanceType]; named {
		return true
	}
	return slices.ContainsFunc(shape.RequiredNodeAffinity, func(term model.NodeTerm) bool {
		return slices.ContainsFunc(term.Requirements, func(n model.Requirement) bool { return n.Key == model.LabelInstanceType })
	})
}

// waited reports whether any of the pods has waited long enough for any machine to be welcome.
func (r *run) waited(pods []model.PodRef) bool {
	return slices.ContainsFunc(pods, func(ref model.PodRef) bool {
		pod := r.pod(ref)
		return pod == nil || r.now()-pod.CreatedUnix >= int64(r.settings.DearWait.Seconds())
	})
}

// pod returns the snapshot's pod where it asks for capacity; nil where none of that UID does.
func (r *run) pod(ref model.PodRef) *model.Pod {
	if r.podAt == nil { // of those only: in a large cluster most run
		r.podAt = map[string]int{}
		for _, i := range r.pending() {
			r.podAt[r.snapshot.Pods[i].UID] = i
		}
	}
	if i, known := r.podAt[ref.UID]; known {
		return &r.snapshot.Pods[i]
	}
	return nil
}
