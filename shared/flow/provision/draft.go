package provision

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/userdata"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	efa               = "vpc.amazonaws.com/efa" // the resource pods ask for EFA interfaces with
	strategyPartition = "partition"
	strategySpread    = "spread"

	// fewTypes is below how many instance types a launch on demand that might have been spot is worth a word.
	fewTypes = 5
)

// grouping is one round's launches in the making, with what they will take of subnets and reservations.
type grouping struct {
	order []*attempt
	byKey map[string]*attempt // open ones, by what is launched
	alike map[string]*attempt // open ones, by what was planned
	gone  map[string]int64    // addresses by id of a subnet, instances by id of a reservation
}

// attemptFor returns the launch a planned claim goes into, with room for it: one for claims planned alike, as long as its
// subnets and reservations last; then they are chosen anew, so that launches that follow each other take turns.
func (r *pass) attemptFor(g *grouping, planned model.PlannedClaim, pool model.Pool, class model.Class, types []model.InstanceType) (*attempt, error) {
	like := likeKey(planned, r.highest(planned))
	a := g.alike[like]
	if a == nil || len(a.claims) >= r.settings.ClaimsPerCall || !g.lasts(a, class) {
		next, err := r.attempt(planned, pool, withLess(class, g.gone), types)
		if err != nil {
			return nil, err
		}
		key := groupKey(next.launch, planned)
		if a = g.byKey[key]; a == nil || len(a.claims) >= r.settings.ClaimsPerCall || !g.reservationFits(a, class) {
			a = next
			g.byKey[key], g.order = a, append(g.order, a)
		}
		g.alike[like] = a
	}
	g.charge(a, class)
	return a, nil
}

// lasts reports whether subnets and reservations of a launch have room for another machine.
func (g *grouping) lasts(a *attempt, class model.Class) bool {
	for _, subnet := range class.Status.Subnets {
		if need, used := a.addresses[subnet.ID]; used && subnet.FreeAddresses-g.gone[subnet.ID] < need {
			return false
		}
	}
	return g.reservationFits(a, class)
}

// reservationFits reports whether the reservations of a launch have room for another machine.
func (g *grouping) reservationFits(a *attempt, class model.Class) bool {
	return a.reservations == nil || offering.ReservationsLeft(withLess(class, g.gone).Status.Reservations, a.reservations) > 0
}

// charge counts one more instance of a launch: its addresses in every subnet it may go to, since it is unknown which it will
// be, and a place in the first of its reservations that has one.
func (g *grouping) charge(a *attempt, class model.Class) {
	for subnet, addresses := range a.addresses {
		g.gone[subnet] += addresses
	}
	reservations := withLess(class, g.gone).Status.Reservations
	for _, id := range a.reservations {
		if offering.ReservationsLeft(reservations, []string{id}) > 0 {
			g.gone[id]++
			return
		}
	}
}

func withLess(class model.Class, gone map[string]int64) model.Class {
	class.Status = offering.Less(class.Status, gone, nil, 0)
	return class
}

// likeKey is equal for planned claims, of so much an hour at most, that are bought alike while nothing else changes.
func likeKey(planned model.PlannedClaim, highest model.MicroUSD) string {
	key, err := json.Marshal([]any{
		laneOf(&planned), planned.Class, planned.InstanceTypes, planned.Requirements, planned.Requests, highest,
		planned.Labels, planned.Annotations, planned.Taints, planned.StartupTaints,
	})
	if err != nil {
		panic(fmt.Sprintf("claim %s cannot be encoded: %v", planned.Name, err)) // plain data always can
	}
	return string(key)
}

// attempt says how a planned claim would be bought. A pool it panics over is left out.
func (r *pass) attempt(planned model.PlannedClaim, pool model.Pool, class model.Class, types []model.InstanceType) (a *attempt, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.accuse("NodePool/"+planned.Pool, fmt.Sprint(p))
			err = fault.New(fault.Internal, "Panic", "%v", p)
		}
	}()
	relaxed := planned.Annotations[model.AnnotationMinValuesRelaxed] == "true"
	choice, err := offering.LaunchChoice(offering.LaunchInput{
		Class: class, Types: types, InstanceTypes: planned.InstanceTypes, Requirements: planned.Requirements,
		UnavailableOfferings: offering.UnavailableForClass(r.unavailableNow(), &class.Status), NowUnix: r.now(), MaxPrice: r.highest(planned), BestEffort: relaxed,
	})
	if err != nil {
		return nil, err
	}
	launch := model.Launch{Cluster: r.reg.Cluster, Pool: planned.Pool, Class: class, CapacityType: choice.CapacityType, IPv6: ipv6(r.reg)}
	if !relaxed {
		launch.Context = class.Context
	}
	byName := make(map[string]*model.InstanceType, len(types))
	for i := range types {
		byName[types[i].Name] = &types[i]
	}
	if launch.Templates, err = r.templates(planned, launch, choice, byName); err != nil {
		return nil, err
	}
	if choice.Types < fewTypes && r.fallsBack(pool, choice) {
		r.problem("claims of NodePool %s fall back from spot to on-demand with %d instance types to choose from; let the NodePool use at least %d", planned.Pool, choice.Types, fewTypes)
	}
	return &attempt{launch: launch, limits: pool.Limits, reservations: choice.Reservations, addresses: addressesOf(choice, byName)}, nil
}

// fallsBack reports whether instances are bought on demand that the pool would have as spot, were there any.
func (r *pass) fallsBack(pool model.Pool, choice offering.Choice) bool {
	if choice.CapacityType != model.OnDemand || !offering.Accepts(pool.Template.Requirements, model.LabelCapacityType, model.Spot) {
		return false
	}
	for _, o := range choice.Overrides {
		spot := model.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: model.Spot}
		if slices.ContainsFunc(r.ledger.UnavailableOfferings, func(m model.UnavailableOffering) bool {
			return m.SubnetID == "" && m.UntilUnix > r.now() && offering.Covers(m, spot)
		}) {
			return true
		}
	}
	return false
}

// addressesOf returns by subnet what an instance takes at the least: an address for each pod it can hold.
func addressesOf(choice offering.Choice, byName map[string]*model.InstanceType) map[string]int64 {
	addresses := map[string]int64{}
	for _, o := range choice.Overrides {
		need := max(1, byName[o.InstanceType].Capacity[model.Pods])
		if least, seen := addresses[o.SubnetID]; !seen || need < least {
			addresses[o.SubnetID] = need
		}
	}
	return addresses
}

// ipv6 reports whether the cluster's pods and services have IPv6 addresses.
func ipv6(reg model.Registration) bool {
	if reg.ClusterDNS != "" {
		return strings.Contains(reg.ClusterDNS, ":")
	}
	return strings.Contains(reg.ServiceCIDR, ":")
}

// boot is what instances of one launch template have in common.
type boot struct {
	image       string
	maxPods     int64
	reserved    string // of the kubelet and the system, as text
	efa         int64
	reservation string
}

// templates sorts the overrides of a choice by what their instances boot, in the order of the first of each.
func (r *pass) templates(planned model.PlannedClaim, launch model.Launch, choice offering.Choice, byName map[string]*model.InstanceType) ([]model.LaunchTemplate, error) {
	class := launch.Class
	partitions := int64(0)
	if group := class.Status.PlacementGroup; group != nil && group.Strategy == strategyPartition {
		partitions = group.Partitions
	}
	forced := offering.LaunchConstraintsOf(planned.Requirements, planned.Requests, partitions)
	var templates []model.LaunchTemplate
	index := map[boot]int{}
	for i, override := range choice.Overrides {
		t := byName[override.InstanceType]
		image, ok := offering.ImageFor(class, *t)
		if !ok {
			continue
		}
		b := boot{image: image.ID, maxPods: t.Capacity[model.Pods], reserved: reservedText(t)}
		if planned.Requests[efa] > 0 && len(class.NetworkInterfaces) == 0 {
			b.efa = t.Capacity[efa]
		}
		if choice.Reservations != nil {
			b.reservation = choice.Reservations[i]
		}
		at, known := index[b]
		if !known {
			text, err := r.userData(planned, class, choice.CapacityType, image.Name, t)
			if err != nil {
				return nil, err
			}
			at = len(templates)
			index[b] = at
			templates = append(templates, model.LaunchTemplate{
				ImageID: image.ID, UserData: text, EFA: b.efa, Dedicated: forced.Dedicated, Enclaves: forced.Enclaves, Partition: forced.Partition,
				Reservation: b.reservation, Block: choice.Block, Interruptible: choice.Interrupted,
			})
		}
		templates[at].Overrides = append(templates[at].Overrides, override)
	}
	if len(templates) == 0 {
		return nil, fault.New(fault.Invalid, "NoImage",
			"no image of EC2NodeClass %s fits any of the claim's instance types; correct spec.amiSelectorTerms of EC2NodeClass %s", class.Name, class.Name)
	}
	return templates, nil
}

// reservedText is equal for types whose kubelet and system reserve the same.
func reservedText(t *model.InstanceType) string {
	if len(t.KubeReserved)+len(t.SystemReserved) == 0 {
		return ""
	}
	var parts []string
	for _, amounts := range []map[string]string{t.KubeReserved, t.SystemReserved} {
		for _, name := range slices.Sorted(maps.Keys(amounts)) {
			parts = append(parts, name+"="+amounts[name])
		}
		parts = append(parts, "/")
	}
	return strings.Join(parts, " ")
}

func (r *pass) userData(planned model.PlannedClaim, class model.Class, capacityType, imageName string, t *model.InstanceType) ([]byte, error) {
	labels := map[string]string{}
	maps.Copy(labels, planned.Labels)
	labels[model.LabelCapacityType] = capacityType
	return userdata.Render(userdata.Input{
		Class: class, Cluster: r.reg.Cluster, Endpoint: r.reg.Endpoint, CA: r.reg.CA,
		ServiceCIDR: r.reg.ServiceCIDR, ClusterDNS: r.reg.ClusterDNS, ImageName: imageName,
		Labels: labels, Taints: slices.Concat(planned.Taints, planned.StartupTaints),
		MaxPods: t.Capacity[model.Pods], KubeReserved: t.KubeReserved, SystemReserved: t.SystemReserved,
	})
}
