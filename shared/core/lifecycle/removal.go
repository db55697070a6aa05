package lifecycle

import (
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Removal returns the record of a claim's end at nowUnix. commands are those the ledger knows; reason is the code that EC2 gives for the
// machine's state, empty where it gives none.
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
		out.BeganUnix, out.Pods = claim.Drain.SinceUnix, claim.Drain.Asked
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

// WantedBy returns who wanted a machine to end that did for a reason, one of model's By… words. reason is the code EC2 gives for the
// machine's state. Source: state reason codes of the EC2 API reference, Instance.
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

// OrphanRemoval returns the record of the end of a machine that no claim had, under the machine's id.
func OrphanRemoval(cluster string, f *Finding, nowUnix int64) model.Removal {
	i := f.Instance
	claim := model.Claim{
		Name: i.ID, Pool: i.Tags[model.LabelNodePool], State: model.Gone, Intent: i.Tags[tagIntent], InstanceID: i.ID, InstanceType: i.Type, Zone: i.Zone,
		CapacityType: i.CapacityType, ImageID: i.ImageID, LaunchedUnix: i.LaunchedUnix, GoneUnix: nowUnix,
		FailureCode: model.EndedOrphan, FailureMessage: f.Why(),
	}
	return model.Removal{Cluster: cluster, Claim: claim, Reason: model.EndedOrphan, Message: f.Why(), By: model.ByJoiner, GoneUnix: nowUnix}
}
