package offer

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Mask returns types with the offers that unexpired marks speak of made unavailable: an offer named, every offer a mark
// with empty fields covers, and the offers of a zone all of whose subnets are marked. What it is given stays as it was;
// types without a marked offer are shared.
func Mask(types []model.InstanceType, subnets []model.Subnet, marks []model.Mark, nowUnix int64) []model.InstanceType {
	live := unexpired(marks, nowUnix)
	out := slices.Clone(types)
	if len(live) == 0 {
		return out
	}
	for i := range out {
		copied := false
		for j, o := range out[i].Offers {
			key := model.OfferKey{InstanceType: out[i].Name, Zone: o.Zone, CapacityType: o.CapacityType}
			if !o.Available || !marked(key, subnets, live) {
				continue
			}
			if !copied {
				out[i].Offers, copied = slices.Clone(out[i].Offers), true
			}
			out[i].Offers[j].Available = false
		}
	}
	return out
}

// unexpired returns the marks that still count at nowUnix. One that names nothing at all is not taken to mean everything.
func unexpired(marks []model.Mark, nowUnix int64) []model.Mark {
	var live []model.Mark
	for _, mark := range marks {
		if mark.UntilUnix > nowUnix && (mark.OfferKey != model.OfferKey{} || mark.SubnetID != "") {
			live = append(live, mark)
		}
	}
	return live
}

// marked reports whether marks leave no way to buy the offer.
func marked(key model.OfferKey, subnets []model.Subnet, live []model.Mark) bool {
	for _, mark := range live {
		if mark.SubnetID == "" && Covers(mark, key) {
			return true
		}
	}
	inZone, closed := 0, 0
	for _, subnet := range subnets {
		if subnet.Zone != key.Zone {
			continue
		}
		inZone++
		if subnetMarked(subnet.ID, key, live) {
			closed++
		}
	}
	return inZone > 0 && closed == inZone
}

func subnetMarked(subnetID string, key model.OfferKey, live []model.Mark) bool {
	for _, mark := range live {
		if mark.SubnetID == subnetID && Covers(mark, key) {
			return true
		}
	}
	return false
}

// Covers reports whether the mark speaks of the offer: a field the mark leaves empty matches every one.
func Covers(mark model.Mark, key model.OfferKey) bool {
	return (mark.InstanceType == "" || mark.InstanceType == key.InstanceType) &&
		(mark.Zone == "" || mark.Zone == key.Zone) &&
		(mark.CapacityType == "" || mark.CapacityType == key.CapacityType)
}
