package offering

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	// MaxLaunchTypes is how many instance types one launch may name.
	MaxLaunchTypes = 60
	// MaxOverrides is how many pools of capacity one launch may name.
	MaxOverrides = 300
)

// LaunchInput is what a choice is made from.
type LaunchInput struct {
	Class                model.Class                 // with its resolved status: subnets, images, and what its reservations have left now
	Types                []model.InstanceType        // what the class can buy, unavailable offerings already applied
	InstanceTypes        []string                    // acceptable to the claim; empty = whatever its requirements allow
	Requirements         []model.Requirement         // of the claim
	MaxPrice             model.MicroUSD              // the most an instance may cost per hour; 0 = whatever it costs
	UnavailableOfferings []model.UnavailableOffering // those of single subnets are left out
	BestEffort           bool                        // too few values for minValues are borne
	NowUnix              int64
}

// Choice is what to ask a fleet for.
type Choice struct {
	CapacityType string           // reserved, spot or on-demand: one request buys one
	Overrides    []model.Override // by price, then type, then zone; 1..MaxOverrides; each type has an image (ImageFor)
	Reservations []string         // parallel to Overrides: what each goes into; nil unless reserved capacity is bought
	Block        bool             // the reservations are one capacity block
	Interrupted  bool             // the reservations' owners may take the capacity back
	Types        int              // distinct instance types among them, 1..MaxLaunchTypes
	Prioritized  bool             // NodeOverlays set the price of any of them
}

// candidate is one offering a claim could be bought by.
type candidate struct {
	instance *model.InstanceType
	offering model.Offering
	subnetID string
}

// LaunchChoice says which capacity type to buy for a claim, and from which pools of capacity: reserved before spot
// before on-demand, among what the claim accepts and is available, without instances nobody asked for and without spot
// more expensive than on-demand. A NoCapacity error means that nothing the claim accepts is available now.
func LaunchChoice(in LaunchInput) (Choice, error) {
	// 1. What the claim accepts, is available, boots and has an address.
	candidates := acceptable(in)
	if len(candidates) == 0 {
		return Choice{}, fault.New(fault.NoCapacity, "", "none of the %d instance types the claim accepts is available in a zone and capacity type it accepts",
			len(in.InstanceTypes))
	}
	// 2. Capacity that is paid for already, of one kind, because one request buys one; of blocks a single one.
	candidates = withReserved(candidates)
	flexible := asksMinValues(in.Requirements)
	if !flexible {
		// 3. An instance with devices nobody asked for, or bare metal, only where nothing else is left.
		candidates = unlessEmpty(candidates, func(c candidate) bool { return !Exotic(c.instance) })
		// 4. Spot that costs more than on-demand is left out.
		candidates = withoutExpensiveSpot(candidates)
	}
	// 5. One request buys one capacity type.
	chosen := capacityType(candidates)
	candidates = keep(candidates, func(c candidate) bool { return c.offering.CapacityType == chosen })
	// 6. The cheapest types, one offering for each type and zone.
	candidates = cheapestTypes(onePerZone(candidates))
	if flexible && !in.BestEffort {
		if short := shortOfMinValues(candidates, in.Requirements); short != "" {
			return Choice{}, fault.New(fault.NoCapacity, "", "the instance types available as %s have too few values of %s for its minValues", chosen, short)
		}
	}
	return choice(chosen, candidates), nil
}

func acceptable(in LaunchInput) []candidate {
	index := indexed(in.UnavailableOfferings, in.NowUnix)
	left := leftOf(in.Class.Status.Reservations)
	var out []candidate
	for i := range in.Types {
		t := &in.Types[i]
		if len(in.InstanceTypes) > 0 && !slices.Contains(in.InstanceTypes, t.Name) || !typeMeets(t, in.Requirements) {
			continue
		}
		if _, bootable := ImageFor(in.Class, *t); !bootable {
			continue
		}
		for _, o := range t.Offerings {
			if !o.Available || !offeringMeets(&o, in.Requirements) || in.MaxPrice != 0 && o.Price > in.MaxPrice {
				continue
			}
			if index.shifted(&o) {
				continue
			}
			if n, known := left[o.ReservationID]; known {
				o.ReservationCapacity = n
			}
			if o.CapacityType == model.Reserved && o.ReservationCapacity <= 0 {
				continue
			}
			key := model.OfferingKey{InstanceType: t.Name, Zone: o.Zone, CapacityType: o.CapacityType}
			if subnet, found := subnetFor(key, in.Class.Status.Subnets, &index); found {
				out = append(out, candidate{instance: t, offering: o, subnetID: subnet})
			}
		}
	}
	slices.SortStableFunc(out, compareCandidates)
	return out
}

// subnetFor returns the zone's unmarked subnet with the most free addresses; ties go to the first in status order.
func subnetFor(key model.OfferingKey, subnets []model.Subnet, unavailable *unavailableIndex) (id string, found bool) {
	most := int64(0)
	for _, subnet := range subnets {
		if subnet.Zone != key.Zone || unavailable.subnetClosed(subnet.ID, key) {
			continue
		}
		if !found || subnet.FreeAddresses > most {
			id, most, found = subnet.ID, subnet.FreeAddresses, true
		}
	}
	return id, found
}

// leftOf returns how many instances could be launched into each reservation, by id.
func leftOf(reservations []model.Reservation) map[string]int64 {
	left := make(map[string]int64, len(reservations))
	for i := range reservations {
		left[reservations[i].ID] = reservations[i].Free
	}
	return left
}

// withReserved keeps the reserved candidates of one kind where there are any: the kind of the cheapest; among equals plain
// reservations, then blocks, then interruptible ones. Of blocks it keeps the single cheapest. Without reserved candidates
// all stay. The candidates are sorted.
func withReserved(candidates []candidate) []candidate {
	reserved := keep(candidates, func(c candidate) bool { return c.offering.CapacityType == model.Reserved })
	if len(reserved) == 0 {
		return candidates
	}
	first := slices.MinFunc(reserved, func(a, b candidate) int {
		return cmp.Or(comparePrices(a.offering, b.offering), cmp.Compare(kindOf(a.offering), kindOf(b.offering)))
	})
	if first.offering.ReservationBlock {
		return keep(reserved, func(c candidate) bool { return c.offering.ReservationID == first.offering.ReservationID })
	}
	return keep(reserved, func(c candidate) bool { return kindOf(c.offering) == kindOf(first.offering) })
}

// kindOf orders kinds of reservations: plain, block, interruptible.
func kindOf(o model.Offering) int {
	switch {
	case o.ReservationBlock:
		return 1
	case o.Interruptible:
		return 2
	}
	return 0
}

// Exotic reports whether the type is bare metal or carries accelerators: expensive, slow to start, and meant for pods that ask
// for it. Such types are bought only where nothing else is left of what a claim accepts.
func Exotic(t *model.InstanceType) bool {
	_, size, _ := strings.Cut(t.Name, ".")
	if strings.HasPrefix(size, "metal") {
		return true
	}
	for _, device := range []string{nvidiaGPU, amdGPU, gaudi, neuron, neuronCore} {
		if t.Capacity[device] > 0 {
			return true
		}
	}
	return false
}

// withoutExpensiveSpot drops spot offerings above the cheapest on-demand one, where both kinds are there.
func withoutExpensiveSpot(candidates []candidate) []candidate {
	onDemand := slices.IndexFunc(candidates, func(c candidate) bool { return c.offering.CapacityType == model.OnDemand })
	if onDemand < 0 {
		return candidates
	}
	limit := candidates[onDemand].offering.Price // candidates are sorted by price
	return keep(candidates, func(c candidate) bool { return c.offering.CapacityType != model.Spot || c.offering.Price <= limit })
}

// capacityType returns the most preferred capacity type there is; candidates are not empty.
func capacityType(candidates []candidate) string {
	for _, preferred := range []string{model.Reserved, model.Spot} {
		if slices.ContainsFunc(candidates, func(c candidate) bool { return c.offering.CapacityType == preferred }) {
			return preferred
		}
	}
	return model.OnDemand
}

// onePerZone keeps one offering for each type and zone, because a fleet refuses two: the cheapest, or among reservations
// the one with most left.
func onePerZone(candidates []candidate) []candidate {
	best := make(map[model.OfferingKey]int)
	for i, c := range candidates {
		key := model.OfferingKey{InstanceType: c.instance.Name, Zone: c.offering.Zone}
		if j, seen := best[key]; !seen || c.offering.ReservationCapacity > candidates[j].offering.ReservationCapacity {
			best[key] = i
		}
	}
	var out []candidate
	for _, i := range slices.Sorted(maps.Values(best)) {
		out = append(out, candidates[i])
	}
	return out
}

// cheapestTypes keeps the offerings of the MaxLaunchTypes types that have the cheapest, and of those the MaxOverrides
// cheapest.
func cheapestTypes(candidates []candidate) []candidate {
	names := make(map[string]bool, MaxLaunchTypes)
	for _, c := range candidates {
		if len(names) < MaxLaunchTypes {
			names[c.instance.Name] = true
		}
	}
	out := keep(candidates, func(c candidate) bool { return names[c.instance.Name] })
	return out[:min(len(out), MaxOverrides)]
}

func asksMinValues(requirements []model.Requirement) bool {
	return slices.ContainsFunc(requirements, func(r model.Requirement) bool { return r.MinValues > 0 })
}

// shortOfMinValues returns the first key, in the order of requirements, of which the candidates' types have fewer
// acceptable values than its minValues; "" where none is.
func shortOfMinValues(candidates []candidate, requirements []model.Requirement) string {
	for _, r := range requirements {
		if r.MinValues == 0 {
			continue
		}
		values := make(map[string]bool)
		for _, c := range candidates {
			for _, value := range valuesMeeting(c.instance, r.Key, requirements) {
				values[value] = true
			}
		}
		if len(values) < r.MinValues {
			return r.Key
		}
	}
	return ""
}

func choice(capacityType string, candidates []candidate) Choice {
	out := Choice{CapacityType: capacityType}
	if capacityType == model.Reserved {
		out.Block, out.Interrupted = candidates[0].offering.ReservationBlock, candidates[0].offering.Interruptible
	}
	names := make(map[string]bool)
	for _, c := range candidates {
		names[c.instance.Name] = true
		out.Prioritized = out.Prioritized || c.offering.Overlaid
		out.Overrides = append(out.Overrides, model.Override{
			InstanceType: c.instance.Name, Zone: c.offering.Zone, SubnetID: c.subnetID, Price: c.offering.Price,
		})
		if capacityType == model.Reserved {
			out.Reservations = append(out.Reservations, c.offering.ReservationID)
		}
	}
	out.Types = len(names)
	return out
}

func keep(candidates []candidate, wanted func(candidate) bool) []candidate {
	var out []candidate
	for _, c := range candidates {
		if wanted(c) {
			out = append(out, c)
		}
	}
	return out
}

func unlessEmpty(candidates []candidate, wanted func(candidate) bool) []candidate {
	if kept := keep(candidates, wanted); len(kept) > 0 {
		return kept
	}
	return candidates
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(
		comparePrices(a.offering, b.offering),
		strings.Compare(a.instance.Name, b.instance.Name),
		compareOfferings(a.offering, b.offering),
	)
}

// comparePrices orders by price, and reserved capacity, which costs next to nothing more, by what it would cost otherwise.
func comparePrices(a, b model.Offering) int {
	return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.ListPrice, b.ListPrice))
}
