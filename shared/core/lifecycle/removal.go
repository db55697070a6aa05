package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Removal returns the record of a claim's end at nowUnix. commands are those the ledger knows; reason is the code that
// EC2 gives for the instance's state, empty where it gives none.
func Removal(cluster string, claim model.Claim, commands []model.Command, reason string, nowUnix int64) model.Removal {
	out := model.Removal{
		Cluster: cluster, Claim: claim, Node: claim.NodeName, Reason: claim.FailureCode, Message: claim.FailureMessage, By: claim.EndedBy,
		PricePerHour: claim.Price, GoneUnix: nowUnix,
	}
	out.Claim.State, out.Claim.GoneUnix = model.Gone, nowUnix
	if out.By == "" {
		out.By = WantedBy(claim.FailureCode, reason)
	}
	if claim.Drain != nil {
		out.BeganUnix, out.Pods = claim.Drain.SinceUnix, claim.Drain.Evicted
	}
	for i := range commands {
		if c := &commands[i]; claim.Command != "" && c.ID == claim.Command && c.Reason == claim.FailureCode {
			out.Command, out.Decision = c.ID, c.Decision
			for j := range c.Replacements {
				out.Replacements = append(out.Replacements, c.Replacements[j].Name)
			}
		}
	}
	return out
}

// WantedBy returns who wanted an instance to end that did for a reason, one of model's By… words. reason is the code
// EC2 gives for the instance's state. Source: state reason codes of the EC2 API reference, Instance.
func WantedBy(code, reason string) string {
	switch code {
	case model.EndedObjectDeleted, model.EndedNodeDeleted, model.EndedInstanceStopping:
		return model.ByPeople
	case model.EndedSpotInterrupted, model.EndedScheduledChange, model.EndedReservationInterrupted, model.EndedStatusFailed, model.EndedBlockEnds:
		return model.ByAWS
	case model.EndedInstance, model.EndedMissing:
		switch {
		case strings.HasPrefix(reason, "Client.UserInitiated"), reason == "Client.InstanceInitiatedShutdown":
			return model.ByPeople
		case strings.HasPrefix(reason, "Server."), reason == "Client.VolumeLimitExceeded", reason == "Client.InternalError":
			return model.ByAWS
		}
		return model.ByOutside
	}
	return model.ByJoiner
}

// Unknown returns the cluster's instances that have ended and that no claim has or had: the answer to their launch was
// lost and they ended before anybody looked for them, or somebody deleted their claim. None while claims or intents
// cannot be read. By id.
func Unknown(view View) (out []model.Instance) {
	ended := func(i *model.Instance) bool { return i.State == "terminated" && Owned(*i, view.Cluster) }
	if !slices.ContainsFunc(view.Instances, func(i model.Instance) bool { return ended(&i) }) {
		return nil
	}
	j := index(view, Settings{})
	for _, id := range j.ids {
		i := j.instances[id]
		if ended(i) && !j.unread && j.live[id] == nil && j.gone[id] == nil && !j.waiting[i.Tags[tagIntent]] {
			out = append(out, *i)
		}
	}
	return out
}

// UnknownRemoval returns the record of the end of one of the instances that Unknown returns, under the instance's id.
// sight is where its node is looked for.
func UnknownRemoval(cluster string, i model.Instance, live model.LiveState, nowUnix int64) model.Removal {
	claim := claimOf(&i, nowUnix)
	claim.FailureCode = model.EndedInstance
	claim.FailureMessage = fmt.Sprintf("EC2 says that instance %s has ended (%s). No claim in the ledger belongs or belonged to it: it ended before the ledger recorded it, or its claim was deleted by hand.",
		i.ID, cmp.Or(i.StateReason, "no reason is given"))
	for _, n := range live.Nodes {
		if InstanceID(n.ProviderID) == i.ID {
			claim.NodeName, claim.NodeUID = n.Name, n.UID
		}
	}
	return model.Removal{
		Cluster: cluster, Claim: claim, Node: claim.NodeName, Reason: claim.FailureCode, Message: claim.FailureMessage,
		By: WantedBy(claim.FailureCode, i.StateReason), GoneUnix: nowUnix,
	}
}

// claimOf returns the claim that an instance would have had that ended by nowUnix.
func claimOf(i *model.Instance, nowUnix int64) model.Claim {
	return model.Claim{
		Name: i.ID, Pool: i.Tags[model.LabelNodePool], State: model.Gone, Intent: i.Tags[tagIntent], InstanceID: i.ID, InstanceType: i.Type, Zone: i.Zone,
		CapacityType: i.CapacityType, ImageID: i.ImageID, LaunchedUnix: i.LaunchedUnix, GoneUnix: nowUnix,
	}
}

// OrphanRemoval returns the record of the end of an instance that no claim had, under the instance's id.
func OrphanRemoval(cluster string, f *Finding, nowUnix int64) model.Removal {
	claim := claimOf(f.Instance, nowUnix)
	claim.FailureCode, claim.FailureMessage = model.EndedOrphan, f.Why()
	return model.Removal{Cluster: cluster, Claim: claim, Reason: model.EndedOrphan, Message: f.Why(), By: model.ByJoiner, GoneUnix: nowUnix}
}
