package lifecycle

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// D5: who removed a node is known from why it ended, and else from what EC2 says of its machine.
func TestD5WhoWantedAMachineToEnd(t *testing.T) {
	for _, c := range []struct{ code, reason, want string }{
		{model.EndedEmpty, "Client.UserInitiatedShutdown", model.ByJoiner}, // our own call
		{model.EndedExpired, "", model.ByJoiner},
		{model.EndedObjectDeleted, "", model.ByPeople},
		{model.EndedSpotInterrupted, "Server.SpotInstanceTermination", model.ByAWS},
		{model.EndedInstance, "Client.UserInitiatedShutdown", model.ByPeople},
		{model.EndedInstance, "Server.SpotInstanceTermination", model.ByAWS},
		{model.EndedInstance, "", model.ByOutside},
		{model.EndedMissing, "", model.ByOutside},
	} {
		if got := WantedBy(c.code, c.reason); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.code, c.reason, got, c.want)
		}
	}
}

// D5: a record names the command that gave the machine back only where that is why it ended.
func TestD5ARemovalNamesItsCommand(t *testing.T) {
	commands := []model.Command{{ID: "01J-0", Reason: model.ReasonDrifted, Decision: "01J", Replacements: []model.PlannedClaim{{Name: "new"}}}}
	claim := model.Claim{
		Name: "old", NodeName: "n", InstanceID: "i-1", Command: "01J-0", FailureCode: model.EndedDrifted, FailureMessage: "AMIDrift", Price: 7,
		Drain: &model.Drain{SinceUnix: 5, Asked: 3},
	}
	r := Removal("prod", claim, commands, "", 9)
	if r.Command != "01J-0" || r.Decision != "01J" || len(r.Replacements) != 1 || r.Replacements[0] != "new" || r.By != model.ByJoiner ||
		r.Pods != 3 || r.BeganUnix != 5 || r.GoneUnix != 9 || r.Claim.State != model.Gone || r.PricePerHour != 7 {
		t.Errorf("%+v", r)
	}
	claim.FailureCode = model.EndedSpotInterrupted // EC2 was faster
	if r := Removal("prod", claim, commands, "", 9); r.Command != "" || r.Decision != "" || r.By != model.ByAWS {
		t.Errorf("%+v", r)
	}
}
