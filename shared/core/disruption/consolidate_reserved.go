package disruption

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// intoReserved disrupts spot nodes whose pods reserved capacity holds, where spot nodes are not replaced by spot: it is
// paid in any case. Nothing else is bought for them, so that none of them is replaced by spot or by what costs more
// than spot would. What all of them together find no room in may have room for one after the other.
func (o *optimizer) intoReserved() {
	if o.p.fork.set.SpotToSpot || !reserves(o.simulation.supply.types.catalogs) {
		return
	}
	list := o.candidatesWhere(func(a *candidate) bool {
		return a.Claim.CapacityType == model.Spot && !a.unplaceable && a.mayDisrupt(replacing) && a.mayPay()
	})
	if len(list) == 0 {
		return
	}
	var others []model.UnavailableOffering
	for _, kind := range []string{model.Spot, model.OnDemand} {
		others = append(others, model.UnavailableOffering{
			OfferingKey: model.OfferingKey{CapacityType: kind}, UntilUnix: o.p.fork.now + 1,
		})
	}
	supply, kept := o.simulation.supply, o.notes
	defer func() { o.simulation.supply, o.notes = supply, kept }()
	o.simulation.supply, o.notes = supply.less(others), make(notes) // why one does not fit there is not why it stays
	o.repack(list)
	let := o.allowance()
	for _, a := range list {
		if o.full() || o.groups >= mostGroups {
			return
		}
		if a.settled || a.host || !let.lets(a) {
			continue
		}
		o.groups++
		o.try([]*candidate{a}, 1, 1)
	}
}

// reserves reports whether any reserved capacity can be bought.
func reserves(catalogs map[string][]model.InstanceType) bool {
	for _, types := range catalogs { // any will do: the order does not matter
		if slices.ContainsFunc(types, func(t model.InstanceType) bool {
			return slices.ContainsFunc(t.Offerings, func(f model.Offering) bool {
				return f.CapacityType == model.Reserved && f.Available && f.ReservationCapacity > 0
			})
		}) {
			return true
		}
	}
	return false
}
