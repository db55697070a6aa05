package offer

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Settings are the region's and the operator's own values.
type Settings struct {
	Region string
	// MemoryOverheadPPM is the part of a machine's memory that hypervisor and firmware keep, in parts per million.
	// 0 means the default of 75,000 (7.5 %), a negative value none.
	MemoryOverheadPPM int64
	// ReservedENIs are network interfaces no pod gets addresses from (custom networking, security groups for pods).
	ReservedENIs int64
}

const defaultMemoryOverheadPPM = 75_000

// Catalog returns the instance types that nodes of the class see, by name, with every offer of the region: those the
// class cannot use now are unavailable, not absent. The class's status must be resolved: without subnets nothing is
// available, and where it has images, a type that none of them boots is not.
func Catalog(facts []model.MachineType, class model.Class, settings Settings) []model.InstanceType {
	types := make([]model.InstanceType, 0, len(facts))
	zones := zoneIDs(class.Status.Subnets)
	for i := range facts {
		types = append(types, instanceType(&facts[i], &class, zones, settings))
	}
	slices.SortStableFunc(types, func(a, b model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return types
}

func instanceType(m *model.MachineType, class *model.Class, zones map[string]string, settings Settings) model.InstanceType {
	capacity := capacityOf(m, class, settings)
	t := model.InstanceType{
		Name:     m.Name,
		Labels:   labelsOf(m, class, zones, settings.Region),
		Capacity: capacity,
		Overhead: overheadOf(m, class, capacity),
		Offers:   slices.Clone(m.Offers),
	}
	bootable := boots(m, class, t)
	for i := range t.Offers {
		o := &t.Offers[i]
		zoneID, reachable := zones[o.Zone]
		if o.ZoneID == "" {
			o.ZoneID = zoneID
		}
		o.Available = o.Available && bootable && reachable && sold(m, o)
	}
	slices.SortStableFunc(t.Offers, compareOffers)
	return t
}

// boots reports whether the class has an image and an operating system for the type.
func boots(m *model.MachineType, class *model.Class, t model.InstanceType) bool {
	family := familyOf(class)
	if family.windows && m.Arch != "amd64" {
		return false
	}
	if class.Family == "AL2023" && strings.HasPrefix(m.Name, "a1.") { // its kernel needs a newer processor
		return false
	}
	_, found := ImageFor(*class, t)
	return found || len(class.Status.Images) == 0
}

// sold reports whether the offer can be bought at all: at a known price, in a way the type is sold, and, where it is
// reserved, with something left of the reservation.
func sold(m *model.MachineType, o *model.Offer) bool {
	if o.CapacityType == model.Reserved {
		return o.ReservationCapacity > 0 && o.Price >= 0
	}
	return o.Price > 0 && (len(m.UsageClasses) == 0 || slices.Contains(m.UsageClasses, o.CapacityType))
}

// zoneIDs returns the id of every zone that has a subnet, "" where it is not known, by zone.
func zoneIDs(subnets []model.Subnet) map[string]string {
	zones := make(map[string]string, len(subnets))
	for _, subnet := range subnets {
		if zones[subnet.Zone] == "" {
			zones[subnet.Zone] = subnet.ZoneID
		}
	}
	return zones
}

func compareOffers(a, b model.Offer) int {
	if c := strings.Compare(a.Zone, b.Zone); c != 0 {
		return c
	}
	if c := strings.Compare(a.CapacityType, b.CapacityType); c != 0 {
		return c
	}
	return strings.Compare(a.ReservationID, b.ReservationID)
}
