package offering

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Mask returns types with the offerings closed that unexpired entries of unavailableOfferings name: the offering itself, every offering that an
// entry with empty fields covers, and the offerings of a zone all of whose subnets are unavailable. What it is given stays as it was;
// types without a closed offering are shared.
func Mask(types []model.InstanceType, subnets []model.Subnet, unavailableOfferings []model.UnavailableOffering, nowUnix int64) []model.InstanceType {
	out := slices.Clone(types)
	index := indexed(unavailableOfferings, nowUnix)
	if index.empty() {
		return out
	}
	for i := range out {
		copied := false
		for j, o := range out[i].Offerings {
			key := model.OfferingKey{InstanceType: out[i].Name, Zone: o.Zone, CapacityType: o.CapacityType}
			if !o.Available || !index.shifted(&o) && !index.closed(key, subnets) {
				continue
			}
			if !copied {
				out[i].Offerings, copied = slices.Clone(out[i].Offerings), true
			}
			out[i].Offerings[j].Available = false
		}
	}
	return out
}

// unavailableIndex is the unavailable offerings that still count. In a stock-out there are thousands that name one offering each, and few others.
type unavailableIndex struct {
	offerings map[model.OfferingKey]bool  // of unavailable offerings that name one offering
	wide      []model.UnavailableOffering // of several offerings each
	subnets   []model.UnavailableOffering // of one subnet each
	shifts    []model.UnavailableOffering // of a zone each that the cluster is shifted away from
}

// indexed returns the unavailable offerings that still count at nowUnix. One that names nothing at all is not taken to mean everything.
func indexed(unavailableOfferings []model.UnavailableOffering, nowUnix int64) unavailableIndex {
	index := unavailableIndex{offerings: make(map[model.OfferingKey]bool)}
	for _, unavailable := range unavailableOfferings {
		switch {
		case unavailable.UntilUnix <= nowUnix:
		case unavailable.ZoneID != "":
			index.shifts = append(index.shifts, unavailable)
		case unavailable.SubnetID != "":
			index.subnets = append(index.subnets, unavailable)
		case unavailable.InstanceType != "" && unavailable.Zone != "" && unavailable.CapacityType != "" && unavailable.Group == "":
			index.offerings[unavailable.OfferingKey] = true
		case unavailable.OfferingKey != model.OfferingKey{} || unavailable.Group != "":
			index.wide = append(index.wide, unavailable)
		}
	}
	return index
}

func (m *unavailableIndex) empty() bool {
	return len(m.offerings)+len(m.wide)+len(m.subnets)+len(m.shifts) == 0
}

// shifted reports whether the offering is in a zone that the cluster is shifted away from.
func (m *unavailableIndex) shifted(o *model.Offering) bool {
	for i := range m.shifts {
		if InZone(m.shifts[i].ZoneID, o.ZoneID, o.Zone) {
			return true
		}
	}
	return false
}

// InZone reports whether a zone of an ID and a name is the one that a zonal shift names. It names the ID; a zone whose
// ID is not known is compared by its name.
func InZone(shifted, id, name string) bool {
	return shifted != "" && (shifted == id || shifted == name)
}

// Closes reports whether the unavailable offering leaves no way to buy the type's offering.
func Closes(unavailable model.UnavailableOffering, instanceType string, o *model.Offering) bool {
	if unavailable.ZoneID != "" {
		return InZone(unavailable.ZoneID, o.ZoneID, o.Zone)
	}
	return Covers(unavailable, model.OfferingKey{InstanceType: instanceType, Zone: o.Zone,
		CapacityType: o.CapacityType})
}

// closed reports whether unavailable offerings leave no way to buy the offering.
func (m *unavailableIndex) closed(key model.OfferingKey, subnets []model.Subnet) bool {
	if m.offerings[key] {
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

func (m *unavailableIndex) subnetClosed(subnetID string, key model.OfferingKey) bool {
	for i := range m.subnets {
		if m.subnets[i].SubnetID == subnetID && Covers(m.subnets[i], key) {
			return true
		}
	}
	return false
}

// Covers reports whether the unavailable offering names the offering: a field the unavailable offering leaves empty
// matches every one. One of a zonal shift names a zone's ID, which a key does not have: see Closes.
func Covers(unavailable model.UnavailableOffering, key model.OfferingKey) bool {
	return unavailable.Reservation == "" && unavailable.ZoneID == "" && (unavailable.Group == "" ||
		unavailable.Group == QuotaGroup(key.InstanceType)) &&
		(unavailable.InstanceType == "" || unavailable.InstanceType == key.InstanceType) &&
		(unavailable.Zone == "" || unavailable.Zone == key.Zone) &&
		(unavailable.CapacityType == "" || unavailable.CapacityType == key.CapacityType)
}

// CommonUnavailable returns an unavailable offering of what all of the unavailable offerings have in common, such as a zone or that it is spot; false where that is nothing. Reservations
// and groups of quotas have to be the same.
func CommonUnavailable(unavailableOfferings []model.UnavailableOffering) (common model.UnavailableOffering, ok bool) {
	if len(unavailableOfferings) == 0 {
		return model.UnavailableOffering{}, false
	}
	first := unavailableOfferings[0]
	common = model.UnavailableOffering{OfferingKey: first.OfferingKey, Group: first.Group, Reservation: first.Reservation}
	for _, unavailable := range unavailableOfferings[1:] {
		if unavailable.Group != common.Group || unavailable.Reservation != common.Reservation {
			return model.UnavailableOffering{}, false
		}
		common.InstanceType = same(common.InstanceType, unavailable.InstanceType)
		common.Zone = same(common.Zone, unavailable.Zone)
		common.CapacityType = same(common.CapacityType, unavailable.CapacityType)
	}
	return common, common.OfferingKey != model.OfferingKey{}
}

// same returns what both are; empty where they differ.
func same(a, b string) string {
	if a != b {
		return ""
	}
	return a
}
