package provision

import (
	"cmp"

	"github.com/joiner-sh/joiner/shared/model"
)

// highest is the most an instance of the planned claim may cost per hour: what is left of the pool's dollars, and no more than
// a few times the price it was planned at unless a pod has waited long enough. A fleet takes any of the types it is offered
// when the others have no capacity, so that it is not offered those. 0 = whatever it costs.
func (r *pass) highest(planned model.PlannedClaim) model.MicroUSD {
	limit := model.MicroUSD(planned.Reserve[model.Dollars])
	most := planned.Price * model.MicroUSD(r.settings.PriceCapFactor)
	if command := r.replaces(planned.Name); command != nil { // none of its pods waits
		if most = cmp.Or(maxPrice(command, &planned), most); limit == 0 || most != 0 && most < limit {
			limit = most
		}
		return limit
	}
	if most == 0 || limit != 0 && limit < most || r.round.Waited(planned.Pods) {
		return limit
	}
	return most
}

// pod returns the snapshot's pod where it asks for capacity; nil where none of that UID does.
func (r *pass) pod(ref model.PodRef) *model.Pod {
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
