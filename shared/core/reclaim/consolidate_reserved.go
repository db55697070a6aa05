package reclaim

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// intoReserved gives spot nodes back whose pods reserved capacity holds, where spot nodes are not replaced by spot: it is paid in any
// case. Nothing else is bought for them, so that none of them is replaced by spot or by what costs more than spot would. What all of them
// together find no room in may have room for one after the other.
func (o *optimiser) intoReserved() {
	if o.v.set.SpotToSpot || !o.reserves() {
		return
	}
	list := o.those(func(a *asset) bool {
		return a.Claim.CapacityType == model.Spot && !a.stuck && a.may(replacing) && a.loose()
	})
	if len(list) == 0 {
		return
	}
	var others []model.Mark
	for _, kind := range []string{model.Spot, model.OnDemand} {
		others = append(others, model.Mark{OfferKey: model.OfferKey{CapacityType: kind}, UntilUnix: o.v.now + 1})
	}
	o.v.shut(others, func() {
		desk, why := o.scene.desk, o.why
		defer func() { o.scene.desk, o.why = desk, why }()
		o.scene.desk, o.why = o.v.plans(), make(map[string]model.KeptReason) // why one does not fit there is not why it stays
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
			o.try([]*asset{a}, 1, 1)
		}
	})
}

// reserves reports whether any reserved capacity can be bought.
func (o *optimiser) reserves() bool {
	for _, types := range o.v.in.Catalogs { // any will do: the order does not matter
		if slices.ContainsFunc(types, func(t model.InstanceType) bool {
			return slices.ContainsFunc(t.Offers, func(f model.Offer) bool {
				return f.CapacityType == model.Reserved && f.Available && f.ReservationCapacity > 0
			})
		}) {
			return true
		}
	}
	return false
}
