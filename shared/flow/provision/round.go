package provision

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// round is one of a run's rounds of planning: what it depends on beside the state.
type round struct {
	decision string            // id of the record
	number   int               // from 1
	excluded map[string]bool   // pools left out because they had no capacity
	blocked  map[string]string // classes that refused a launch, with why
}

// roundPlan is the plan of one round, with the question that it answers.
type roundPlan struct {
	model.Plan
	of       round
	input    *model.PlannerInput
	question *replay.Provision // the same, joined with what it is asked of
}

// roundLaunches is what came of one round's launches.
type roundLaunches struct {
	model.Round
	again        bool            // something failed in a way another plan may get round
	yielded      bool            // launches were not made so that others may
	insufficient map[string]bool // pools one of whose launches came back without an instance
	gave         map[string]bool // pools one of whose launches came back with one
}

// launches is what one run launches, and what keeps it from launching more.
type launches struct {
	recorded map[string]bool   // names of claims whose launches were recorded
	blocked  map[string]string // classes that refused a launch, with why
	putOff   map[string]string // why launches of a pool were put off, by pool
	planned  []string          // draining claims whose pods were planned for, by name; nil = nothing was planned
}

func newLaunches() *launches {
	return &launches{recorded: map[string]bool{}, blocked: map[string]string{}, putOff: map[string]string{}}
}

// attempt is one launch under way: what is asked for and what came of it.
type attempt struct {
	launch      model.Launch
	claims      []model.Claim // by name
	intent      model.Intent
	limits      model.Resources
	result      model.LaunchResult
	err         error
	unavailable []model.UnavailableOffering
	failed      []model.Claim
	settled     []model.Claim
	probes      int // half-open unavailable offerings it tries

	reservations []string         // it goes into; nil unless reserved capacity is bought
	addresses    map[string]int64 // by subnet: what one instance of it takes at the least
}

// throttled reports whether EC2 asked for fewer calls.
func (a *attempt) throttled() bool {
	return fault.Is(a.err, fault.Throttled) ||
		slices.ContainsFunc(a.result.Errors, func(e model.LaunchError) bool { return throttleCode(e.Code) })
}

// grouping is one round's launches in the making, with what they will take of subnets and reservations.
type grouping struct {
	order   []*attempt
	byKey   map[string]*attempt // open ones, by what is launched
	alike   map[string]*attempt // open ones, by what was planned
	gone    map[string]int64    // addresses by id of a subnet, instances by id of a reservation
	ofPool  map[string]int      // claims by their pool
	ofClass map[string]int      // claims by their class
}

func newGrouping() *grouping {
	return &grouping{
		byKey: map[string]*attempt{}, alike: map[string]*attempt{},
		gone: map[string]int64{}, ofPool: map[string]int{}, ofClass: map[string]int{},
	}
}

// lasts reports whether subnets and reservations of a launch have room for another instance.
func (g *grouping) lasts(a *attempt, class model.Class) bool {
	for _, subnet := range class.Status.Subnets {
		if need, used := a.addresses[subnet.ID]; used && subnet.FreeAddresses-g.gone[subnet.ID] < need {
			return false
		}
	}
	return g.reservationFits(a, class)
}

// reservationFits reports whether the reservations of a launch have room for another instance.
func (g *grouping) reservationFits(a *attempt, class model.Class) bool {
	return a.reservations == nil || offering.ReservationsLeft(withLess(class, g.gone).Status.Reservations,
		a.reservations) > 0
}

// charge counts one more instance of a launch: its addresses in every subnet it may go to, since it is unknown which it
// will be, and a place in the first of its reservations that has one.
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

// groupKey is equal for claims whose instances may be dealt out among them.
func groupKey(launch model.Launch, planned model.PlannedClaim) string {
	key, err := json.Marshal([]any{
		laneOf(&planned), launch.Class.Name, launch.CapacityType, launch.Templates,
		planned.Labels, planned.Annotations, planned.Taints, planned.StartupTaints,
	})
	if err != nil {
		panic(fmt.Sprintf("launch of claim %s cannot be encoded: %v", planned.Name, err)) // plain data always can
	}
	return string(key)
}

// laneOf tells claims that may be of one launch from those that may not: each that people made by hand is launched
// alone.
func laneOf(planned *model.PlannedClaim) string {
	if planned.Pool != "" {
		return planned.Pool
	}
	return model.NoPool + planned.Name
}
