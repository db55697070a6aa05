package interruption

import (
	"context"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// Reasons of events about what looks find.
const (
	reasonInterrupted   = "TerminatingOnInterruption"
	reasonTerminating   = "DisruptionTerminating"
	reasonBlocked       = "DisruptionBlocked"
	reasonRepairBlocked = "NodeRepairBlocked"
)

// reportEnd says on a claim's NodeClaim and Node that its end has begun, and why.
func (r *pass) reportEnd(claim *model.Claim, f *lifecycle.Finding) {
	event := model.Event{Reason: reasonTerminating, Message: "The node is drained and its instance terminated: " + f.Why()}
	switch f.Kind {
	case lifecycle.Interrupted, lifecycle.Stopping, lifecycle.Impaired, lifecycle.BlockEnds:
		event.Reason, event.Warning = reasonInterrupted, true
	}
	if kind, ok := noticedAs[f.Kind]; ok { // as if EventBridge had reported it
		r.events = append(r.events, eventsOf(*claim, []clusterNotice{{Notice: model.Notice{Kind: kind}}})...)
	}
	r.events = append(r.events, onBoth(*claim, []model.Event{event})...)
}

// reportDeferred says on a pool that ends of its claims are put off. Nodes without a pool have no object to say it on.
func (r *pass) reportDeferred(f *lifecycle.Finding) {
	if f.Subject == "" {
		return
	}
	event := model.Event{Kind: "NodePool", Name: f.Subject, Reason: reasonBlocked, Message: f.Why()}
	if f.Code == model.EndedUnhealthy {
		event.Reason, event.Warning = reasonRepairBlocked, true
	}
	for i := range r.records.Claims {
		if claim := &r.records.Claims[i]; claim.Live() && claim.Pool == f.Subject && claim.PoolUID != "" {
			event.UID = claim.PoolUID
		}
	}
	r.events = append(r.events, event)
}

// markUnavailable has the offering left alone that EC2 takes a claim's instance back of: its warning was lost, or is on its way.
func (r *pass) markUnavailable(claim *model.Claim) {
	if unavailable, ok := taken(claim, model.NoticeSpotInterrupted, r.records.NowUnix, r.records.NowUnix); ok {
		r.unavailableOfferings = append(r.unavailableOfferings, unavailable)
	}
}

// publishEvents publishes what this look has to say, and has offerings left alone.
func (r *pass) publishEvents(ctx context.Context) {
	if len(r.unavailableOfferings) > 0 {
		if err := r.effect(ctx, EffectUnavailable, func() error { return r.Unavailable.MarkUnavailable(ctx, r.reg, r.unavailableOfferings) }); err != nil {
			r.problem("record %d unavailable offerings of interrupted instances: %v", len(r.unavailableOfferings), err)
		}
	}
	if len(r.events) > 0 {
		report := model.Report{Events: r.events}
		if err := r.effect(ctx, EffectReport, func() error { return r.clients.Reporter.Report(ctx, report) }); err != nil {
			r.problem("publish %d events: %v", len(r.events), err)
		}
	}
}
