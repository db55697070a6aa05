package lifecycle

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// D5: who removed a node is known from why it ended, and else from what EC2 says of its instance.
func TestD5WhoWantedAnInstanceToEnd(t *testing.T) {
	for _, c := range []struct{ code, reason, want string }{
		{model.ReasonEmpty, "Client.UserInitiatedShutdown", model.ByJoiner}, // our own call
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

// D5: a record names the command that disrupted the instance only where that is why it ended.
func TestD5ARemovalNamesItsCommand(t *testing.T) {
	commands := []model.Command{{ID: "01J-0", Reason: model.ReasonDrifted, Decision: "01J", Replacements: []model.PlannedClaim{{Name: "new"}}}}
	claim := model.Claim{
		Name: "old", NodeName: "n", InstanceID: "i-1", Command: "01J-0", FailureCode: model.ReasonDrifted, FailureMessage: "AMIDrift", Price: 7,
		Drain: &model.Drain{SinceUnix: 5, Evicted: 3},
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

// D5: instances that ended and that no claim has or had are those of launches that are over and nobody heard of, and those whose claim was
// deleted by hand.
func TestD5InstancesThatEndedUnknown(t *testing.T) {
	instance := func(change func(*model.Instance)) model.Instance {
		i := model.Instance{ID: "i-1", State: "terminated", StateReason: "Server.SpotInstanceTermination", Tags: map[string]string{
			"kubernetes.io/cluster/prod": "owned", model.LabelNodePool: "web", "joiner.sh/intent": "01J",
		}}
		if change != nil {
			change(&i)
		}
		return i
	}
	claim := func(state model.ClaimState, id string) []model.Claim {
		return []model.Claim{{Name: "c", State: state, Intent: "01J", InstanceID: id}}
	}
	for name, c := range map[string]struct {
		instance model.Instance
		records  model.ClusterRecords
		want     int
	}{
		"nobody knows it":         {instance(nil), model.ClusterRecords{}, 1},
		"its launch is over":      {instance(nil), model.ClusterRecords{Intents: []model.Intent{{ID: "01J", State: model.IntentDone}}, Claims: claim(model.Gone, "")}, 1},
		"its launch is open":      {instance(nil), model.ClusterRecords{Intents: []model.Intent{{ID: "01J", State: model.IntentCalling}}}, 0},
		"a claim waits for it":    {instance(nil), model.ClusterRecords{Claims: claim(model.Intended, "")}, 0},
		"a claim has it":          {instance(nil), model.ClusterRecords{Claims: claim(model.Initialized, "i-1")}, 0},
		"a claim had it":          {instance(nil), model.ClusterRecords{Claims: claim(model.Gone, "i-1")}, 0},
		"a claim cannot be read":  {instance(nil), model.ClusterRecords{Unread: model.UnreadItems{{Kind: model.UnreadClaim, Name: "d"}}}, 0},
		"it is yet to end":        {instance(func(i *model.Instance) { i.State = "shutting-down" }), model.ClusterRecords{}, 0},
		"it is another cluster's": {instance(func(i *model.Instance) { delete(i.Tags, "kubernetes.io/cluster/prod") }), model.ClusterRecords{}, 0},
		"others made it for us":   {instance(func(i *model.Instance) { delete(i.Tags, "joiner.sh/intent") }), model.ClusterRecords{}, 0},
	} {
		if got := Unknown(View{Cluster: "prod", Instances: []model.Instance{c.instance}, Records: c.records}); len(got) != c.want {
			t.Errorf("%s: %d, want %d", name, len(got), c.want)
		}
	}
	live := model.LiveState{Nodes: []model.Node{{Name: "n", UID: "u", ProviderID: "aws:///a/i-1"}}}
	got := UnknownRemoval("prod", instance(nil), live, 9)
	if got.By != model.ByAWS || got.Node != "n" || got.Reason != model.EndedInstance || got.Claim.Intent != "01J" || got.Claim.Pool != "web" || got.GoneUnix != 9 {
		t.Errorf("%+v", got)
	}
}
