package console

import (
	"reflect"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// TestU58APoolSaysWhatItsLimitsAndBudgetsLeave: what somebody looks up who asks why a NodePool launches or disrupts
// nothing.
func TestU58APoolSaysWhatItsLimitsAndBudgetsLeave(t *testing.T) {
	c := small(0, 2, 0)
	minute := int64(90 * 60)
	c.snapshot().Pools = []model.Pool{{
		Name: "default", Limits: model.Resources{model.CPU: 8000, model.Memory: 64 << 30}, Weight: 10,
		Invalid: []string{"spec.weight is 101."},
		Template: model.Template{
			ClassKind: "EC2NodeClass", ClassName: "al", ExpireAfterSeconds: &minute,
			Requirements: []model.Requirement{
				{Key: model.LabelCapacityType, Operator: model.In, Values: []string{"spot"}},
			},
			Taints: []model.Taint{{Key: "team", Value: "a", Effect: "NoSchedule"}},
		},
		Disruption: model.Disruption{Policy: "WhenEmpty", Budgets: []model.Budget{
			{Nodes: "100%"}, {Nodes: "0", Reasons: []string{model.ReasonDrifted}},
		}},
	}, {Name: "idle"}}
	c.State.Ask.Usage = map[string]model.Resources{"default": {model.CPU: 4000, model.Memory: 8 << 30}}
	c.State.Ask.ClassProblems = map[string]string{"al": "no subnet has the tag"}
	c.State.Installation.Ledger.Stops = []model.Stop{{Scope: model.StopPool, Pool: "idle", Why: "a migration"}}
	feed := newTestFeed(&script{cluster: c})
	got, err := feed.Pools(t.Context())
	if err != nil || len(got) != 2 || got[0].Name != "default" {
		t.Fatalf("%v %+v", err, got)
	}
	pool := got[0]
	if want := []PoolLimit{{"cpu", "4", "8", 0.5}, {"memory", "8Gi", "64Gi", 0.125}}; !slices.Equal(pool.Limits, want) {
		t.Errorf("limits: %+v", pool.Limits)
	}
	want := []PoolAllowance{
		{Reasons: []string{model.ReasonEmpty, model.ReasonUnderutilized}, Most: 1, Of: 1},
		{Reasons: []string{model.ReasonDrifted}, Of: 1},
	}
	if !reflect.DeepEqual(pool.Allowed, want) {
		t.Errorf("allowed: %+v", pool.Allowed)
	}
	if want := []string{"nodes 100%", "nodes 0 for Drifted"}; !slices.Equal(pool.Budgets, want) {
		t.Errorf("budgets: %q", pool.Budgets)
	}
	conditions := []PoolCondition{
		{"ValidationSucceeded", false, "spec.weight is 101."}, {"NodeClassReady", false, "no subnet has the tag"},
		{"Ready", false, ""},
	}
	if !slices.Equal(pool.Conditions, conditions) {
		t.Errorf("conditions: %+v", pool.Conditions)
	}
	if pool.Nodes != 1 || pool.Price != 40_000 || pool.ExpireAfter != "1h30m" || pool.ConsolidateAfter != "Never" {
		t.Errorf("got %+v", pool)
	}
	if !slices.Equal(pool.Requirements, []string{"karpenter.sh/capacity-type In [spot]"}) ||
		!slices.Equal(pool.Taints, []string{"team=a:NoSchedule"}) {
		t.Errorf("got %q %q", pool.Requirements, pool.Taints)
	}
	if stop := got[1].Conditions[3]; stop.Met || stop.Message != "a migration" || got[1].Allowed[0].Most != -1 {
		t.Errorf("got %+v", got[1])
	}
}

// TestU54ADeletedPoolIsTheCauseOfItsNodesEnd: NodeClaims go with their NodePool; somebody deleted that, no NodeClaim.
func TestU54ADeletedPoolIsTheCauseOfItsNodesEnd(t *testing.T) {
	c := small(0, 0, 0)
	c.snapshot().Pools = []model.Pool{{Name: "default"}}
	end := func(name, pool string) model.Removal {
		return model.Removal{
			Claim: model.Claim{Name: name, Pool: pool}, GoneUnix: start.Unix(), PricePerHour: 5,
			By: model.ByPeople, Reason: model.EndedObjectDeleted, Message: "its NodeClaim object was deleted",
		}
	}
	removals := []model.Removal{end("b-1", "amd64"), end("a-1", "default")}
	source := &script{cluster: c, records: Records{Removals: removals}}
	feed := newTestFeed(source)
	feed.Refresh(t.Context())
	entries := feed.state.Entries
	if len(entries) != 2 || entries[0].Trigger != "NodePool amd64 was deleted" || entries[0].By != model.ByPeople ||
		entries[1].Trigger != model.EndedObjectDeleted+": its NodeClaim object was deleted" {
		t.Errorf("got %+v", entries)
	}
}

// TestU49TheSavingIsWhatTheDryRunSays: the head of the page and the list do not contradict each other.
func TestU49TheSavingIsWhatTheDryRunSays(t *testing.T) {
	feed := newTestFeed(&script{cluster: small(0, 1, 0)})
	dry, err := feed.DryRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	saving, err := feed.Saving(t.Context())
	if err != nil || saving.Before != dry.Before || saving.After != dry.After || saving.AtUnix != dry.AtUnix {
		t.Errorf("%v %+v of %+v", err, saving, dry)
	}
}

// F140: with joiner.sh/budgets-by-reason a budget counts nodes that are disrupted for its reasons, and those that are
// not ready; without it all of them.
func TestF140APoolSaysWhatBudgetsOfEachReasonCount(t *testing.T) {
	c := small(0, 3, 0)
	nodes := c.snapshot().Nodes
	ledger := &c.State.Installation.Ledger
	ledger.Claims, ledger.Commands = nil, []model.Command{{ID: "c1", Reason: model.ReasonDrifted}}
	for i := range nodes {
		nodes[i].Labels[model.LabelNodePool] = "default"
		nodes[i].Labels[model.LabelInitialized] = "true"
		nodes[i].Ready, nodes[i].DeletedUnix = true, 0
		ledger.Claims = append(ledger.Claims, model.Claim{Name: nodes[i].Name, NodeName: nodes[i].Name})
	}
	ledger.Claims[0].Command = "c1"
	n := len(nodes)
	pool := &model.Pool{Name: "default", Disruption: model.Disruption{Budgets: []model.Budget{
		{Nodes: "2", Reasons: []string{model.ReasonDrifted}}, {Nodes: "1", Reasons: []string{model.ReasonEmpty}},
	}}}
	want := []PoolAllowance{
		{Reasons: []string{model.ReasonEmpty}, Most: 1, Busy: 1, Of: n},
		{Reasons: []string{model.ReasonDrifted}, Most: 2, Busy: 1, Of: n},
		{Reasons: []string{model.ReasonUnderutilized}, Most: -1, Busy: 1, Of: n},
	}
	if got := allowances(c, pool); !reflect.DeepEqual(got, want) {
		t.Errorf("without the annotation: %+v", got)
	}
	pool.Annotations = map[string]string{model.AnnotationByReason: "true"}
	want[0].Busy = 0
	if got := allowances(c, pool); !reflect.DeepEqual(got, want) {
		t.Errorf("with the annotation: %+v", got)
	}
}
