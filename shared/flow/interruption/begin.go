package interruption

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Cause is why a claim is to end.
type Cause struct {
	Code         string // one of model's Ended… codes
	Message      string // a sentence for people
	DeadlineUnix int64  // when no pod may be left, as far as the cause itself says; 0 = it does not
	NowUnix      int64  // by the ledger's clock

	// Notice is what AWS said, of which the drain run is to tell people; empty = nothing, or whoever begins the end tells them.
	Notice model.NoticeKind
}

// begin writes down that a claim is to end and taints its node. From then on nothing brings it back: its node is emptied,
// or, where it has none, its instance ends at once. A claim that is to end already is only given the cause's
// deadline where that is earlier; one that is Gone stays as it is.
//
// The claim is returned as it is stored. Conflict where the ledger has it at another version, or it has no instance yet: read
// it again. That its node could not be tainted is no error, as the drain run taints it too; say so with tainted.
// Whoever begins ends of a cluster's claims announces them afterwards, once.
func (r *session) begin(ctx context.Context, claim model.Claim, why Cause) (begun model.Claim, tainted bool, err error) {
	next := claim
	switch claim.State {
	case model.Gone, model.Terminating:
		return claim, true, nil
	case model.Draining:
		var drain model.Drain
		if claim.Drain != nil {
			drain = *claim.Drain
		}
		sooner := earliest(drain.DeadlineUnix, why.DeadlineUnix)
		if sooner == drain.DeadlineUnix {
			return claim, true, nil
		}
		drain.DeadlineUnix, drain.DueUnix = sooner, 0
		next.Drain = &drain
	default:
		var moves bool
		if next.State, moves = lifecycle.Next(claim.State, requested(&claim)); !moves {
			return claim, false, fault.New(fault.Conflict, "NotLaunched", "claim %s is %s and has no instance to terminate", claim.Name, claim.State)
		}
		next.Drain = &model.Drain{SinceUnix: why.NowUnix, DeadlineUnix: claim.Deadline(why.NowUnix, why.DeadlineUnix), Notice: why.Notice}
		next.FailureCode, next.FailureMessage = why.Code, why.Message
	}
	err = r.Effect(ctx, EffectBegin, func() (err error) {
		begun, err = r.flow.Steps.Advance(ctx, r.reg.Cluster, next)
		return err
	})
	if err != nil {
		return claim, false, fmt.Errorf("record that claim %s terminates: %w", claim.Name, err)
	}
	if claim.NodeName == "" || claim.NodeUID == "" {
		return begun, true, nil
	}
	patch := cordon(claim.NodeName, claim.NodeUID)
	patch.Plain = claim.State == model.Initialized && len(claim.Taints) == 0 && claim.Command == ""
	return begun, r.taint(ctx, patch) == nil, nil
}

// requested is what it means for a claim that it is to end. One whose node nobody has registered has none that is known, unless
// whoever asks has seen it and named it in the claim.
func requested(claim *model.Claim) lifecycle.Observation {
	if claim.State == model.Launched && claim.NodeUID == "" {
		return lifecycle.EndRequestedUnregistered
	}
	return lifecycle.EndRequested
}

// announce asks provision where the pods of so many claims that were begun are to go, and for the first step of their drains.
// key tells this announcement from others of the cluster. Both are asked for whatever becomes of the other. Where several ends
// began, as where hundreds do, that first step is asked for a moment later: until EC2 was asked for what their pods
// need a drain run could but wait, and whoever looks for that every few milliseconds keeps others from getting there.
func (r *session) announce(ctx context.Context, cluster, key string, begun int) error {
	const several, moment = 3, 2 * time.Second
	var after time.Duration
	if begun > several {
		after = moment
	}
	plan := r.Effect(ctx, EffectPlan, func() error { return r.flow.RequestPlan(ctx, cluster, key) })
	if plan != nil {
		plan = fmt.Errorf("send a provision hint of cluster %s: %w", cluster, plan)
	}
	dated := datedKey(key, r.Clock().Unix())
	drain := r.Effect(ctx, EffectDrain, func() error { return r.flow.RequestDrain(ctx, cluster, dated, after) })
	if drain != nil {
		drain = fmt.Errorf("send a drain hint of cluster %s: %w", cluster, drain)
	}
	return errors.Join(plan, drain)
}

// cordon is the patch that keeps new pods off a node and takes it out of load balancers, and has it stay in the cluster until
// its instance has ended. Taints of the same key and another effect are replaced.
func cordon(name, uid string) model.NodePatch {
	return model.NodePatch{
		Name: name, UID: uid, Finalizer: true,
		Labels:    map[string]string{model.LabelExcludeBalancers: model.ExcludedForDrain},
		AddTaints: []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}},
		RemoveTaints: []model.Taint{
			{Key: model.TaintDisrupted, Effect: model.NoExecute}, {Key: model.TaintDisrupted, Effect: model.PreferNoSchedule},
		},
	}
}

// Every instance's end is recorded: why, and who wanted it. The record is kept before the claim is closed, since nobody looks at one that is.
// Where it cannot be kept the claim is closed all the same, and says so; a later check makes up for it.

// recordEnd keeps the record of a claim's end that is about to be closed, and returns the claim as it is to be closed. reason is the code
// EC2 gives for the instance's state.
func (r *session) recordEnd(ctx context.Context, claim model.Claim, commands []model.Command, reason string, nowUnix int64) model.Claim {
	if claim.InstanceID == "" {
		return claim // there was no instance
	}
	removal := lifecycle.Removal(r.reg.Cluster, claim, commands, reason, nowUnix)
	claim.EndedBy = removal.By
	if !r.keep(ctx, removal, "store the record of claim "+claim.Name+"; a later run does") {
		claim.Unrecorded = true
	}
	return claim
}

// keep keeps the record of an end. Where that fails the problem begins with text.
func (r *session) keep(ctx context.Context, removal model.Removal, text string) bool {
	return r.Try(ctx, EffectRemoval, text, func() error { return r.flow.Removals.PutRemoval(ctx, removal) })
}

// taken is the unavailable offering of what a claim's instance was bought as and EC2 took back at a time; false where it is none that can be
// marked, or that was too long ago.
func taken(claim *model.Claim, kind model.NoticeKind, atUnix, nowUnix int64) (model.UnavailableOffering, bool) {
	const backOff, forgetAfter = 3 * 60, 20 * 3 * 60 // seconds, as for a launch that gave nothing
	unavailable := model.UnavailableOffering{Reason: string(kind), Failures: 1, AtUnix: atUnix}
	switch {
	case kind == model.NoticeSpotInterrupted && claim.CapacityType == model.Spot:
		unavailable.Reason = model.EndedSpotInterrupted
		unavailable.OfferingKey = model.OfferingKey{InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: model.Spot}
	case kind == model.NoticeReservationInterrupted && claim.Reservation != "":
		unavailable.Reason, unavailable.Reservation = model.EndedReservationInterrupted, claim.Reservation
	default:
		return unavailable, false
	}
	unavailable.UntilUnix = unavailable.AtUnix + backOff
	unavailable.ForgetUnix = unavailable.UntilUnix + forgetAfter
	return unavailable, unavailable.UntilUnix > nowUnix && (unavailable.Reservation != "" || unavailable.InstanceType != "" && unavailable.Zone != "")
}
