package interruption

import (
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

// noticeEvents are the events of what AWS says of instances, by kind of notice. They bear the reasons Karpenter's have.
var noticeEvents = map[model.NoticeKind]model.Event{
	model.NoticeSpotInterrupted:        {Warning: true, Reason: "SpotInterrupted", Message: "EC2 has warned that it interrupts this spot instance within two minutes"},
	model.NoticeReservationInterrupted: {Warning: true, Reason: "CapacityReservationInstanceInterrupted", Message: "EC2 has warned that the owner of the capacity reservation reclaims this instance within two minutes"},
	model.NoticeRebalance:              {Reason: "SpotRebalanceRecommendation", Message: "EC2 sees an elevated risk that it interrupts this spot instance"},
	model.NoticeScheduledChange:        {Warning: true, Reason: "InstanceUnhealthy", Message: "AWS says that this instance is unhealthy, or about to be changed"},
	model.NoticeStopped:                {Warning: true, Reason: "InstanceStopping", Message: "EC2 says that this instance is stopping"},
	model.NoticeTerminated:             {Warning: true, Reason: "InstanceTerminating", Message: "EC2 says that this instance is terminating"},
}

// noticedAs are the kinds of notices that say what a look may find, too.
var noticedAs = map[lifecycle.Kind]model.NoticeKind{
	lifecycle.Interrupted: model.NoticeSpotInterrupted, lifecycle.Impaired: model.NoticeScheduledChange, lifecycle.Stopping: model.NoticeStopped,
}

// eventsOf returns what people learn of a claim's instance, each kind once: on the NodeClaim object and on the node, as far as
// there are such.
func eventsOf(claim model.Claim, kinds ...model.NoticeKind) []model.Event {
	var reported []model.Event
	seen := map[string]bool{}
	for _, kind := range kinds {
		event := noticeEvents[kind]
		if event.Reason != "" && !seen[event.Reason] {
			seen[event.Reason] = true
			reported = append(reported, event)
		}
	}
	return onBoth(claim, reported)
}

// endEvents returns what people learn of a claim that ends for what AWS said of its instance: that, and that its node is
// drained for it.
func endEvents(claim model.Claim, kind model.NoticeKind) []model.Event {
	return append(eventsOf(claim, kind), onBoth(claim, []model.Event{{
		Warning: true, Reason: reasonInterrupted, Message: "the node is drained and its instance terminated, because of the event from AWS",
	}})...)
}

// onBoth says each event on a claim's NodeClaim object and on its node, as far as there are such.
func onBoth(claim model.Claim, reported []model.Event) []model.Event {
	var events []model.Event
	for _, event := range reported {
		if claim.ObjectUID != "" {
			event.Kind, event.Name, event.UID = KindNodeClaim, claim.Name, claim.ObjectUID
			events = append(events, event)
		}
		if claim.NodeName != "" && claim.NodeUID != "" {
			event.Kind, event.Name, event.UID = KindNode, claim.NodeName, claim.NodeUID
			events = append(events, event)
		}
	}
	return events
}
