package offering

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Taken returns what claims launched since the status was resolved have taken of it: addresses by id of a subnet, instances
// by id of a reservation. An instance is counted with an address for each pod it can hold, since they are given to it as its
// pods come. Claims whose outcome is not known yet name no subnet and are not counted.
func Taken(status *model.ClassStatus, claims []model.Claim) map[string]int64 {
	taken := map[string]int64{}
	for i := range claims {
		c := &claims[i]
		if !c.Live() || c.InstanceID == "" || c.LaunchedUnix < status.ResolvedUnix {
			continue
		}
		if c.SubnetID != "" {
			taken[c.SubnetID] += max(1, c.Capacity[model.Pods])
		}
		if c.Reservation != "" {
			taken[c.Reservation]++
		}
	}
	return taken
}

// Less returns the status without what was taken of it, and without what is left of reservations that gave nothing since
// it was resolved. Subnets stay in their order; no number falls below zero. What it is given stays as it was.
func Less(status model.ClassStatus, taken map[string]int64, unavailableOfferings []model.UnavailableOffering, nowUnix int64) model.ClassStatus {
	subnets, reservations := slices.Clone(status.Subnets), slices.Clone(status.Reservations)
	for i := range subnets {
		subnets[i].FreeAddresses = max(0, subnets[i].FreeAddresses-taken[subnets[i].ID])
	}
	for i := range reservations {
		r := &reservations[i]
		r.Free = max(0, r.Free-taken[r.ID])
		if slices.ContainsFunc(unavailableOfferings, func(m model.UnavailableOffering) bool {
			return m.Reservation == r.ID && m.AtUnix >= status.ResolvedUnix && m.UntilUnix > nowUnix
		}) {
			r.Free = 0
		}
	}
	status.Subnets, status.Reservations = subnets, reservations
	return status
}

// UnavailableForClass returns the unavailable offerings that concern launches from a class: of those within placement groups its own group's only.
func UnavailableForClass(unavailableOfferings []model.UnavailableOffering, status *model.ClassStatus) []model.UnavailableOffering {
	group := ""
	if status.PlacementGroup != nil {
		group = status.PlacementGroup.ID
	}
	concerns := func(m model.UnavailableOffering) bool { return m.PlacementGroup == "" || m.PlacementGroup == group }
	if !slices.ContainsFunc(unavailableOfferings, func(m model.UnavailableOffering) bool { return !concerns(m) }) {
		return unavailableOfferings
	}
	var out []model.UnavailableOffering
	for _, m := range unavailableOfferings {
		if concerns(m) {
			out = append(out, m)
		}
	}
	return out
}

// LaunchConstraints is what an instance must have besides its type because the claim accepts nothing else.
type LaunchConstraints struct {
	Dedicated bool  // hardware of one's own
	Enclaves  bool  // Nitro enclaves
	Partition int64 // of the class's placement group, 1…; 0 = EC2 may choose
}

// LaunchConstraintsOf returns what requirements and requests of a claim force. partitions is how many the class's placement group has.
func LaunchConstraintsOf(requirements []model.Requirement, requests model.Resources, partitions int64) LaunchConstraints {
	forced := LaunchConstraints{
		Dedicated: !Accepts(requirements, model.LabelTenancy, "default") && Accepts(requirements, model.LabelTenancy, "dedicated"),
		Enclaves:  requests[nitroSandbox] > 0 || !Accepts(requirements, model.LabelNitroSandbox, "false") && Accepts(requirements, model.LabelNitroSandbox, "true"),
	}
	if asks(requirements, model.LabelPartition) {
		forced.Partition = firstPartition(requirements, partitions)
	}
	return forced
}

// firstPartition returns the lowest partition the requirements accept, by number; 0 where they accept all of them, or none.
func firstPartition(requirements []model.Requirement, partitions int64) int64 {
	var accepted []int64
	for n := int64(1); n <= partitions; n++ {
		if Accepts(requirements, model.LabelPartition, number(n)[0]) {
			accepted = append(accepted, n)
		}
	}
	if len(accepted) == 0 || int64(len(accepted)) == partitions && partitions > 1 {
		return 0
	}
	return accepted[0]
}

// Accepts reports whether requirements on a key accept one of its values.
func Accepts(requirements []model.Requirement, key, value string) bool {
	for _, r := range requirements {
		if r.Key == key && !meets(r, value, true) {
			return false
		}
	}
	return true
}

func asks(requirements []model.Requirement, key string) bool {
	return slices.ContainsFunc(requirements, func(r model.Requirement) bool { return r.Key == key })
}

// ReservationsLeft returns how many instances could still go into the given reservations together.
func ReservationsLeft(reservations []model.Reservation, ids []string) int64 {
	left, total := leftOf(reservations), int64(0)
	ids = slices.Clone(ids)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		total += left[id]
	}
	return total
}
