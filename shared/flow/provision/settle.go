package provision

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"sort"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// settler calls EC2 for recorded launches and records their outcomes.
type settler struct {
	*state
	fleet   Fleet
	classes *classes
	backOff *backOff
}

// call asks EC2 for the instances. A launch template that has been deleted is made again, once: its name is a digest of
// its content, so the recorded bytes stay what they are.
func (s *settler) call(ctx context.Context, a *attempt) {
	a.result, a.err = s.callFleet(ctx, a.intent)
	if a.err == nil || !templateGone(fault.CodeOf(a.err)) {
		return
	}
	request, err := s.fleet.PrepareRequest(ctx, a.launch)
	if err != nil || !bytes.Equal(request, a.intent.Request) {
		return
	}
	a.result, a.err = s.callFleet(ctx, a.intent)
}

func (s *settler) callFleet(ctx context.Context, intent model.Intent) (result model.LaunchResult, err error) {
	if s.clock().Unix() >= s.fence.UntilUnix {
		// Another planner may hold the lease by now and look into this launch.
		return result, fault.New(fault.Internal, "LeaseOver", "the planner lease ended before EC2 was called")
	}
	err = s.effect(ctx, EffectLaunch, func() (err error) {
		result, err = s.fleet.Launch(ctx, intent.Request)
		return err
	})
	return result, err
}

// settle records an outcome found out by recovery.
func (s *settler) settle(ctx context.Context, intent model.Intent, claims []model.Claim,
	result model.LaunchResult) error {
	s.backOff.markUnavailable(ctx, s.backOff.counted(unavailableOf(model.Launch{}, result.Errors)))
	var class model.Class
	var types []model.InstanceType
	if len(result.Instances) > 0 && len(claims) > 0 {
		var err error
		if class, types, err = s.classes.typesOf(ctx, claims[0].Class); err != nil {
			return err
		}
	}
	return s.writeOutcome(ctx, s.outcome(intent, claims, result, class, types))
}

func (s *settler) writeOutcome(ctx context.Context, outcome model.Settlement) error {
	err := s.effect(ctx, EffectSettle, func() error { return s.store.Settle(ctx, s.fence, outcome) })
	if err != nil {
		return fmt.Errorf("record outcome of launch %s: %w", outcome.Intent.ID, err)
	}
	for i := range outcome.Failed {
		s.moved(outcome.Failed[i].Name)
	}
	return nil
}

// outcome deals instances to claims: the i-th id in order is the i-th claim's by name, so every retry deals alike.
func (s *settler) outcome(intent model.Intent, claims []model.Claim, result model.LaunchResult, class model.Class,
	types []model.InstanceType) model.Settlement {
	instances := distinct(result.Instances)
	claims = append([]model.Claim{}, claims...)
	sort.Slice(claims, func(i, j int) bool { return claims[i].Name < claims[j].Name })
	settlement := model.Settlement{Intent: intent, AtUnix: s.now()}
	if len(instances) > len(claims) {
		s.problem("launch %s of NodePool %s returned %d instances for %d claims; the others have no claim",
			intent.ID, intent.Pool, len(instances), len(claims))
	}
	for i, claim := range claims {
		if i < len(instances) {
			settlement.Launched = append(settlement.Launched, s.launched(claim, instances[i], class, types))
			continue
		}
		claim.State, _ = lifecycle.Next(claim.State, lifecycle.LaunchFailed)
		claim.GoneUnix = s.now()
		claim.FailureCode, claim.FailureMessage = failure(result.Errors)
		settlement.Failed = append(settlement.Failed, claim)
	}
	return settlement
}

// distinct returns the instances by id, each once and none without an id.
func distinct(instances []model.Instance) []model.Instance {
	sorted := append([]model.Instance{}, instances...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].ID < sorted[j].ID })
	var out []model.Instance
	for _, instance := range sorted {
		if instance.ID != "" && (len(out) == 0 || out[len(out)-1].ID != instance.ID) {
			out = append(out, instance)
		}
	}
	return out
}

// failure sums up why a claim got no instance: the first error, and how many more there were.
func failure(errors []model.LaunchError) (code, message string) {
	if len(errors) == 0 {
		return "Unfulfilled", "EC2 launched fewer instances than requested and gave no reason"
	}
	message = errors[0].Message
	if len(errors) > 1 {
		message = fmt.Sprintf("%s (and %d more errors)", message, len(errors)-1)
	}
	return errors[0].Code, message
}

// launched fills in a claim from its instance.
func (s *settler) launched(claim model.Claim, instance model.Instance, class model.Class,
	types []model.InstanceType) model.Claim {
	claim.State, _ = lifecycle.Next(claim.State, lifecycle.InstanceLaunched)
	claim.LaunchedUnix = s.now()
	claim.InstanceID, claim.ProviderID = instance.ID, instance.ProviderID()
	claim.InstanceType, claim.Zone, claim.CapacityType = instance.Type, instance.Zone, instance.CapacityType
	claim.ImageID, claim.SubnetID = instance.ImageID, instance.SubnetID
	claim.Reservation = ""
	if instance.CapacityType == model.Reserved { // one that is in an open reservation by chance may leave it again
		claim.Reservation = instance.Reservation
		if of := reservationOf(&class, claim.Reservation); of != nil && of.Block {
			claim.BlockEndsUnix = of.EndUnix
		}
	}
	labels := map[string]string{}
	for i := range types {
		t := &types[i]
		if t.Name != instance.Type {
			continue
		}
		claim.Capacity, claim.Allocatable = shownOf(t.Capacity, &claim, class), shownOf(t.Allocatable(), &claim, class)
		for key, values := range t.Labels {
			if len(values) == 1 {
				labels[key] = values[0]
			}
		}
		for _, o := range t.Offerings {
			if o.Zone == instance.Zone && o.CapacityType == instance.CapacityType &&
				o.ReservationID == claim.Reservation {
				claim.Price, claim.ZoneID = o.Price, o.ZoneID
			}
		}
	}
	maps.Copy(labels, s.boughtLabels(&claim, instance, class))
	maps.Copy(labels, claim.Labels) // what was planned wins
	dropForeign(labels, &claim)
	claim.Labels = labels
	return claim
}

// reservationOf returns the class's reservation of an id; nil where it has none.
func reservationOf(class *model.Class, id string) *model.Reservation {
	return find(class.Status.Reservations, func(r *model.Reservation) bool { return r.ID == id })
}

// shownOf leaves EFA interfaces out of what an instance has where it was launched without any.
func shownOf(amounts model.Resources, claim *model.Claim, class model.Class) model.Resources {
	if claim.Requests[efa] > 0 || len(class.NetworkInterfaces) > 0 || amounts[efa] == 0 {
		return amounts
	}
	amounts = maps.Clone(amounts)
	delete(amounts, efa)
	return amounts
}

// boughtLabels are what the purchase decided about an instance.
func (s *settler) boughtLabels(claim *model.Claim, instance model.Instance, class model.Class) map[string]string {
	labels := map[string]string{
		model.LabelInstanceType: instance.Type, model.LabelZone: instance.Zone,
		model.LabelCapacityType: instance.CapacityType,
		model.LabelRegion:       s.reg.Region, model.LabelTenancy: "default",
	}
	if claim.ZoneID != "" {
		labels[model.LabelZoneID] = claim.ZoneID
	}
	group := class.Status.PlacementGroup
	partitions := int64(0)
	if group != nil {
		labels[model.LabelPlacementGroup], partitions = group.ID, group.Partitions
	}
	forced := offering.LaunchConstraintsOf(claim.Requirements, claim.Requests, partitions)
	if forced.Dedicated {
		labels[model.LabelTenancy] = "dedicated"
	}
	if group != nil && group.Strategy == strategyPartition {
		labels[model.LabelPartition] = "" // until EC2 says which it chose
		if n := max(instance.Partition, forced.Partition); n > 0 {
			labels[model.LabelPartition] = strconv.FormatInt(n, 10)
		}
	}
	if reservation := reservationOf(&class, claim.Reservation); reservation != nil {
		labels[model.LabelReservationType] = offering.ReservationType(reservation.Block)
		labels[model.LabelInterruptible] = strconv.FormatBool(reservation.Interruptible)
	}
	if claim.Reservation != "" {
		labels[model.LabelReservationID] = claim.Reservation
	}
	return labels
}

// dropForeign takes labels of a reservation off an instance that is in none.
func dropForeign(labels map[string]string, claim *model.Claim) {
	if claim.Reservation != "" {
		return
	}
	for _, key := range []string{model.LabelReservationID, model.LabelReservationType, model.LabelInterruptible} {
		delete(labels, key)
	}
}
