package metrics

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/flow/publish"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// M43: budgets are of initialized nodes, and those that go or are not ready count against them.
func TestM43AllowedDisruptionsFollowBudgetsAndNodes(t *testing.T) {
	var nodes []model.Node
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		n := node(name, "general", began)
		n.Ready = true
		nodes = append(nodes, *n)
	}
	nodes[0].DeletedUnix = began
	nodes[1].Ready = false
	nodes[2].Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	young := node("young", "general", began)
	delete(young.Labels, model.LabelInitialized)
	nodes = append(nodes, *young)
	p := pool(30, "WhenEmpty")
	p.Disruption.Budgets = []model.Budget{{Nodes: "50%"}, {Nodes: "4", Reasons: []string{model.ReasonDrifted}}}
	got := allowances([]model.Pool{p}, nodes, began)
	want := []allowance{{"general", "drifted", 1, 3}, {"general", "empty", 2, 3}, {"general", "underutilized", 2, 3}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	p.Disruption.Budgets = nil
	if got := allowances([]model.Pool{p}, nodes, began); got[0].allowed != 7 {
		t.Errorf("without budgets: %+v", got)
	}
	p.Disruption.Budgets = []model.Budget{{Nodes: "many"}}
	if got := allowances([]model.Pool{p}, nodes, began); got[0].allowed != 0 {
		t.Errorf("with a budget that cannot be read: %+v", got)
	}
	w := watch()
	w.synced = true
	w.rows = publish.Rows{Pools: []model.Pool{p}, Nodes: nodes}
	expect(t, w.scrape(t), map[string]float64{
		`karpenter_nodepools_nodes_consuming_budgets{nodepool="general",reason="drifted"}`:       3,
		`karpenter_nodepools_nodes_consuming_budgets{nodepool="general",reason="empty"}`:         3,
		`karpenter_nodepools_nodes_consuming_budgets{nodepool="general",reason="underutilized"}`: 3,
	})
}

// M43: repairs are counted by the condition of the node, and commands by each NodePool that has a node in them.
func TestM43RepairsAndCommandsOfNodePoolsAreCounted(t *testing.T) {
	w := watch()
	w.synced = true
	ends := func(name, pool, reason, message string) {
		shown := model.ClaimShown{Pool: pool, CapacityType: "spot", ImageID: "ami-1"}
		claim := &model.Object{Name: name}
		w.Observe(wire.Change{Claim: claim, Shown: &shown})
		ending := shown
		ending.DisruptionReason, ending.DisruptionMessage = reason, message
		w.Observe(wire.Change{Claim: claim, Shown: &ending})
	}
	ends("a", "general", "Unhealthy", "condition Ready of node n has been False since 12:00:00")
	command := model.DisruptedBy("c1", 3, 1) + ": x"
	ends("b", "general", "Underutilized", command)
	ends("c", "batch", "Underutilized", command)
	ends("d", "batch", "Underutilized", command)
	of := func(pool string) string {
		return `karpenter_voluntary_disruption_decisions_by_nodepool_total{consolidation_type="multi",` +
			`decision="replace",nodepool="` + pool + `",reason="underutilized"}`
	}
	expect(t, w.scrape(t), map[string]float64{
		of("general"): 1, of("batch"): 1,
		`karpenter_voluntary_disruption_decisions_total{consolidation_type="multi",decision="replace",` +
			`reason="underutilized"}`: 1,
		`karpenter_nodeclaims_unhealthy_disrupted_total{capacity_type="spot",condition="Ready",image_id="ami-1",` +
			`nodepool="general"}`: 1,
	})
	w.Observe(wire.Change{Deleted: true, Pool: &model.Pool{Name: "batch"}})
	if _, still := w.scrape(t)[of("batch")]; still {
		t.Error("the series of a NodePool that is gone are still there")
	}
}
