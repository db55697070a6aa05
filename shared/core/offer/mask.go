package offer

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Mask returns types with the offers that unexpired marks speak of made unavailable: an offer named, every offer a mark
// with empty fields covers, and the offers of a zone all of whose subnets are marked. What it is given stays as it was;
// types without a marked offer are shared.
func Mask(types []model.InstanceType, subnets []model.Subnet, marks []model.Mark, nowUnix int64) []model.InstanceType {
	out := slices.Clone(types)
	index := indexed(marks, nowUnix)
	if index.empty() {
		return out
	}
	for i := range out {
		copied := false
		for j, o := range out[i].Offers {
			key := model.OfferKey{InstanceType: out[i].Name, Zone: o.Zone, CapacityType: o.CapacityType}
			if !o.Available || !index.closed(key, subnets) {
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

// markIndex is the marks that still count. In a stock-out there are thousands that name one offer each, and few others.
type markIndex struct {
	offers  map[model.OfferKey]bool // of marks that name one offer
	wide    []model.Mark            // of several offers each
	subnets []model.Mark            // of one subnet each
}

// indexed returns the marks that still count at nowUnix. One that names nothing at all is not taken to mean everything.
func indexed(marks []model.Mark, nowUnix int64) markIndex {
	index := markIndex{offers: make(map[model.OfferKey]bool)}
	for _, mark := range marks {
		switch {
		case mark.UntilUnix <= nowUnix:
		case mark.SubnetID != "":
			index.subnets = append(index.subnets, mark)
		case mark.InstanceType != "" && mark.Zone != "" && mark.CapacityType != "" && mark.Group == "":
			index.offers[mark.OfferKey] = true
		case mark.OfferKey != model.OfferKey{} || mark.Group != "":
			index.wide = append(index.wide, mark)
		}
	}
	return index
}

func (m *markIndex) empty() bool { return len(m.offers)+len(m.wide)+len(m.subnets) == 0 }

// closed reports whether marks leave no way to buy the offer.
func (m *markIndex) closed(key model.OfferKey, subnets []model.Subnet) bool {
	if m.offers[key] {
		return true
	}
	for i := range m.wide {
		if Covers(m.wide[i], key) {
			return true
		}
	}
	if len(m.subnets) == 0 {
		return false
	}
	inZone, closed := 0, 0
	for _, subnet := range subnets {
		if subnet.Zone != key.Zone {
			continue
		}
		inZone++
		if m.subnetClosed(subnet.ID, key) {
			closed++
		}
	}
	return inZone > 0 && closed == inZone
}

func (m *markIndex) subnetClosed(subnetID string, key model.OfferKey) bool {
	for i := range m.subnets {
		if m.subnets[i].SubnetID == subnetID && Covers(m.subnets[i], key) {
			return true
		}
	}
	return false
}

// Covers reports whether the mark speaks of the offer: a field the mark leaves empty matches every one.
func Covers(mark model.Mark, key model.OfferKey) bool {
	return mark.Reservation == "" && (mark.Group == "" || mark.Group == QuotaGroup(key.InstanceType)) &&
		(mark.InstanceType == "" || mark.InstanceType == key.InstanceType) &&
		(mark.Zone == "" || mark.Zone == key.Zone) &&
		(mark.CapacityType == "" || mark.CapacityType == key.CapacityType)
}

// Common returns a mark of what all of the marks have in common, such as a zone or that it is spot; false where that is nothing. Reservations
// and groups of quotas have to be the same.
func Common(marks []model.Mark) (common model.Mark, ok bool) {
	if len(marks) == 0 {
		return model.Mark{}, false
	}
	first := marks[0]
	common = model.Mark{OfferKey: first.OfferKey, Group: first.Group, Reservation: first.Reservation}
	for _, mark := range marks[1:] {
		if mark.Group != common.Group || mark.Reservation != common.Reservation {
			return model.Mark{}, false
		}
		common.InstanceType = same(common.InstanceType, mark.InstanceType)
		common.Zone = same(common.Zone, mark.Zone)
		common.CapacityType = same(common.CapacityType, mark.CapacityType)
	}
	return common, common.OfferKey != model.OfferKey{}
}

// same returns what both are; empty where they differ.
func same(a, b string) string {
	if a != b {
		return ""
	}
	return a
}
