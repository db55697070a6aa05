package disruption

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// U11, V128: what budgets say counts nodes that are disrupted already apart from those of the same plan.
func TestU11V128BudgetsSayWhatComesFirst(t *testing.T) {
	w := newWorld().pool("general", budgets(model.Budget{Nodes: "3"}))
	for i := range 5 {
		w.node(fmt.Sprintf("n%d", i), "general")
	}
	message := func(of string) string {
		for _, k := range Plan(w.in).Kept {
			if k.Node == of {
				return k.Reasons[0].Message
			}
		}
		return ""
	}
	want := "budgets of NodePool general allow 3 of its 5 nodes to be disrupted at once (Empty): 0 are disrupted or not ready, and 3 others of this plan come first"
	if got := message("n4"); got != want {
		t.Errorf("%s", got)
	}
	w.in.Snapshot.Pools[0].Disruption.Budgets[0].Nodes = "0"
	want = "budgets of NodePool general allow 0 of its 5 nodes to be disrupted at once (Empty): 0 are disrupted or not ready"
	if got := message("n4"); got != want {
		t.Errorf("%s", got)
	}
}

// F140: a budget nobody can read leaves nothing of the pool to any reason, and says which field it is.
func TestF140BudgetsThatCannotBeReadCloseThePool(t *testing.T) {
	for _, c := range []struct {
		budget model.Budget
		field  string
	}{
		{model.Budget{Nodes: ""}, "budgets[1].nodes"}, {model.Budget{Nodes: "%"}, "budgets[1].nodes"}, {model.Budget{Nodes: "101%"}, "budgets[1].nodes"},
		{model.Budget{Nodes: "-1"}, "budgets[1].nodes"}, {model.Budget{Nodes: "+1"}, "budgets[1].nodes"}, {model.Budget{Nodes: "1.5"}, "budgets[1].nodes"},
		{model.Budget{Nodes: "99999999999999999999"}, "budgets[1].nodes"},
		{model.Budget{Nodes: "1", Schedule: "@daily"}, "budgets[1].schedule"},
		{model.Budget{Nodes: "1", DurationSeconds: 60}, "budgets[1].schedule"},
		{model.Budget{Nodes: "1", Schedule: "* * * *", DurationSeconds: 60}, "budgets[1].schedule"},
		{model.Budget{Nodes: "1", Schedule: "* * * * * *", DurationSeconds: 60}, "budgets[1].schedule"},
		{model.Budget{Nodes: "1", Schedule: "61 * * * *", DurationSeconds: 60}, "budgets[1].schedule"},
		{model.Budget{Nodes: "1", Schedule: "@every 1h", DurationSeconds: 60}, "budgets[1].schedule"},
		{model.Budget{Nodes: "1", Schedule: "@reboot", DurationSeconds: 60}, "budgets[1].schedule"},
		{model.Budget{Nodes: "1", Schedule: "CRON_TZ=Asia/Tokyo 0 9 * *", DurationSeconds: 60}, "budgets[1].schedule"},
		{model.Budget{Nodes: "1", Schedule: "TZ=Asia/Tokyo 0 9 * * *", DurationSeconds: 60}, "budgets[1].schedule"},
		{model.Budget{Nodes: "1", Reasons: []string{model.ReasonEmpty}, Schedule: "nonsense", DurationSeconds: 60}, "budgets[1].schedule"},
	} {
		w := newWorld().pool("general", budgets(model.Budget{Nodes: "50%"}, c.budget)).pool("other").node("n", "general").node("o", "other")
		plan := Plan(w.in)
		wantGiven(t, plan, model.ReasonEmpty, "o")
		if got := kept(plan, "n"); !slices.Equal(got, []string{InvalidBudget}) {
			t.Errorf("%+v: kept for %v", c.budget, got)
		} else if message := plan.Kept[0].Reasons[0].Message; !strings.Contains(message, c.field) {
			t.Errorf("%+v: %s", c.budget, message)
		}
	}
}

// F141: within a window of a budget its pool disrupts nothing; after it the plan says when the next one begins.
func TestF141BudgetWindowsOfAPlan(t *testing.T) {
	midnight := time.Date(2026, 5, 28, 0, 0, 0, 0, time.UTC).Unix()
	w := newWorld().pool("general", budgets(model.Budget{Nodes: "0", Schedule: "@daily", DurationSeconds: 600})).node("n", "general")
	w.in.NowUnix = midnight + 300
	if plan := Plan(w.in); len(plan.Commands) != 0 || !plan.Constrained || plan.ReplanUnix != midnight+600 {
		t.Errorf("within it: %+v", plan)
	}
	w.in.NowUnix = midnight + 600
	if plan := Plan(w.in); len(plan.Commands) != 1 || plan.ReplanUnix != midnight+86_400 {
		t.Errorf("after it: %+v", plan)
	}
}

// S30: a percentage is of the nodes that are initialized.
func TestS30PercentagesAreOfInitializedNodes(t *testing.T) {
	w := newWorld().pool("general", budgets(model.Budget{Nodes: "10%"}))
	for i := range 11 {
		w.node(fmt.Sprintf("n%02d", i), "general", func(n *model.Node, c *model.Claim) {
			if i < 3 {
				delete(n.Labels, model.LabelInitialized)
				c.State = model.Registered
			}
		})
	}
	wantGiven(t, Plan(w.in), model.ReasonEmpty, "n03") // a tenth of eight, rounded up
}

// R42: nodes that are not initialized count neither among those a percentage is of nor among those that are disrupted.
func TestR42NodesThatAreNotInitializedDoNotCount(t *testing.T) {
	w := newWorld().pool("general", budgets(model.Budget{Nodes: "50%"}))
	for i := range 6 {
		w.node(fmt.Sprintf("n%d", i), "general", func(n *model.Node, c *model.Claim) {
			if i < 4 {
				n.Ready = false
				delete(n.Labels, model.LabelInitialized)
				c.State = model.Registered
			}
		})
	}
	wantGiven(t, Plan(w.in), model.ReasonEmpty, "n4")
}

// F142: whatever is disrupted for any cause, or not ready, takes of what the budget leaves.
func TestF142BusyNodesTakeOfTheBudget(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Node, *model.Claim)
		left   int // of 3
	}{
		"nothing":            {func(*model.Node, *model.Claim) {}, 3},
		"not ready":          {func(n *model.Node, _ *model.Claim) { n.Ready = false }, 2},
		"being deleted":      {func(n *model.Node, _ *model.Claim) { n.DeletedUnix = testNow }, 2},
		"draining":           {func(_ *model.Node, c *model.Claim) { c.State = model.Draining }, 2},
		"ending":             {func(_ *model.Node, c *model.Claim) { c.State = model.Terminating }, 2},
		"all of it together": {func(n *model.Node, c *model.Claim) { n.Ready, n.DeletedUnix, c.State = false, testNow, model.Draining }, 2},
	} {
		w := newWorld().pool("general", budgets(model.Budget{Nodes: "3"})).node("z", "general", c.change)
		for i := range 8 {
			w.node(fmt.Sprintf("n%d", i), "general")
		}
		if got := given(Plan(w.in), model.ReasonEmpty); len(got) != c.left {
			t.Errorf("%s: %v", name, got)
		}
	}
	w := newWorld().pool("general", budgets(model.Budget{Nodes: "3"}))
	for i := range 8 {
		w.node(fmt.Sprintf("n%d", i), "general")
	}
	w.command("c1", model.ReasonDrifted, model.CommandCommitted, []string{"n0", "n1"}).command("c2", model.ReasonDrifted, model.CommandUndone, []string{"n7"}, func(c *model.Command) { c.EndedUnix = 1 })
	if got := given(Plan(w.in), model.ReasonEmpty); !slices.Equal(got, []string{"n2"}) {
		t.Errorf("in a command: %v", got)
	}
}

// R44: a plan that only budgets kept from more says so, and when the next window opens.
func TestR44AConstrainedPlanSaysSo(t *testing.T) {
	w := newWorld().pool("general", budgets(model.Budget{Nodes: "0"})).node("n", "general").node("d", "general", drifted(testNow-60)).running("web", "d", 1)
	if plan := Plan(w.in); !plan.Constrained || len(plan.Commands) != 0 || !slices.Contains(kept(plan, "n"), NodeBudget) || !slices.Contains(kept(plan, "d"), NodeBudget) {
		t.Errorf("%+v", plan)
	}
	w = newWorld().pool("general", budgets(model.Budget{Nodes: "1"})).node("n", "general")
	if plan := Plan(w.in); plan.Constrained || len(plan.Commands) != 1 {
		t.Errorf("room for all: %+v", plan)
	}
}

// B3: whatever the commands of one plan and their reasons, together with what is busy they never take more than any
// budget of their reason leaves.
func TestB3CommandsOfOnePlanShareTheBudgets(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := drawWorld(r)
		in := w.in
		plan := Plan(in)
		v := newPlanner(&in, nil)
		busy := map[string]int{}
		for pool, of := range v.budgets.busy {
			busy[pool] = of.Sum(nil, false)
		}
		for _, command := range plan.Commands {
			if command.Reason == model.ReasonReplicas {
				continue
			}
			reason := command.Reason
			if reason == model.ReasonExpired {
				reason = model.ReasonDrifted
			}
			for _, name := range command.Nodes {
				node := v.fork.byName[name]
				pool := node.Node.Pool()
				if !v.budgets.counted[name] {
					busy[pool]++
				}
				if bound, _ := v.budgets.tightest(pool, reason); busy[pool] > bound.Nodes {
					t.Fatalf("seed %d: %s takes node %d of %s, whose limit is %d",
						seed, command.Reason, busy[pool], pool, bound.Nodes)
				}
			}
		}
	}
}
