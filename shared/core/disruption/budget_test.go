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

// F140: a percentage is rounded up, a number is taken as it is, and the smallest of those that name the reason counts.
func TestF140BudgetsPercentNumbersAndTheSmallest(t *testing.T) {
	empty := []string{model.ReasonEmpty}
	for _, c := range []struct {
		budgets []model.Budget
		nodes   int
		want    int
	}{
		{nil, 19, unlimited},
		{[]model.Budget{}, 19, unlimited},
		{[]model.Budget{{Nodes: "20%"}}, 19, 4},
		{[]model.Budget{{Nodes: "5%"}}, 10, 1},
		{[]model.Budget{{Nodes: "10%"}}, 1, 1},
		{[]model.Budget{{Nodes: "10%"}}, 0, 0},
		{[]model.Budget{{Nodes: "0%"}}, 100, 0},
		{[]model.Budget{{Nodes: "100%"}}, 7, 7},
		{[]model.Budget{{Nodes: "0"}}, 100, 0},
		{[]model.Budget{{Nodes: "7"}}, 3, 7},
		{[]model.Budget{{Nodes: "50%"}, {Nodes: "3"}}, 100, 3},
		{[]model.Budget{{Nodes: "3"}, {Nodes: "50%"}}, 4, 2},
		{[]model.Budget{{Nodes: "3", Reasons: empty}}, 100, unlimited},
		{[]model.Budget{{Nodes: "3", Reasons: empty}, {Nodes: "10%"}}, 100, 10},
		{[]model.Budget{{Nodes: "3", Reasons: []string{model.ReasonDrifted, model.ReasonEmpty}}, {Nodes: "10%"}}, 100, 3},
	} {
		got, _, err := limitOf(c.budgets, model.ReasonDrifted, c.nodes, testNow)
		if err != nil || got != c.want {
			t.Errorf("%+v of %d nodes: %d, %v; want %d", c.budgets, c.nodes, got, err, c.want)
		}
	}
}

// V128: what budgets say counts nodes that are disrupted already apart from those of the same plan.
func TestV128BudgetsSayWhatComesFirst(t *testing.T) {
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

// F141: a window begins with each hit of its schedule, in UTC, and is over once its duration is. It says when to look again.
func TestF141BudgetWindows(t *testing.T) {
	at := func(text string) int64 {
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return moment.Unix()
	}
	daily := model.Budget{Nodes: "0", Schedule: "@daily", DurationSeconds: 600}
	work := model.Budget{Nodes: "0", Schedule: "0 9 * * mon-fri", DurationSeconds: 8 * 3600}
	never := model.Budget{Nodes: "0", Schedule: "0 0 31 2 *", DurationSeconds: 3600}
	for _, c := range []struct {
		budget model.Budget
		now    string
		active bool
		change string // "" = never
	}{
		{daily, "2026-05-27T23:59:59Z", false, "2026-05-28T00:00:00Z"},
		{daily, "2026-05-28T00:00:00Z", true, "2026-05-28T00:10:00Z"},
		{daily, "2026-05-28T00:09:59Z", true, "2026-05-28T00:10:00Z"},
		{daily, "2026-05-28T00:10:00Z", false, "2026-05-29T00:00:00Z"},
		{work, "2026-05-29T16:59:59Z", true, "2026-05-29T17:00:00Z"}, // a Friday
		{work, "2026-05-29T17:00:00Z", false, "2026-06-01T09:00:00Z"},
		{never, "2026-02-28T00:00:00Z", false, ""},
		{model.Budget{Nodes: "0", Schedule: "* * * * *", DurationSeconds: 120}, "2026-05-28T00:10:30Z", true, "2026-05-28T00:11:00Z"},
		{model.Budget{Nodes: "0"}, "2026-05-28T00:10:30Z", true, ""},
	} {
		active, change, err := window(&c.budget, at(c.now))
		want := int64(0)
		if c.change != "" {
			want = at(c.change)
		}
		if err != nil || active != c.active || change != want {
			t.Errorf("%+v at %s: %v until %s, %v", c.budget, c.now, active, clock(change), err)
		}
	}
	w := newWorld().pool("general", budgets(daily)).node("n", "general")
	w.in.NowUnix = at("2026-05-28T00:05:00Z")
	if plan := Plan(w.in); len(plan.Commands) != 0 || !plan.Constrained || plan.ReplanUnix != at("2026-05-28T00:10:00Z") {
		t.Errorf("within it: %+v", plan)
	}
	w.in.NowUnix = at("2026-05-28T00:10:00Z")
	if plan := Plan(w.in); len(plan.Commands) != 1 || plan.ReplanUnix != at("2026-05-29T00:00:00Z") {
		t.Errorf("after it: %+v", plan)
	}
}

// S30: schedules are in UTC whatever the process's time zone, and a percentage is of the nodes that are initialized.
func TestS30SchedulesAreUTCAndPercentagesOfInitializedNodes(t *testing.T) {
	here := time.Local
	defer func() { time.Local = here }()
	moment := time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC).Unix() // clocks change in Europe
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Chatham"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		time.Local = location
		for hour := range 24 {
			b := model.Budget{Nodes: "0", Schedule: fmt.Sprintf("0 %d * * *", hour), DurationSeconds: 3600}
			if active, _, err := window(&b, moment); err != nil || active != (hour == 1) {
				t.Errorf("%s: %s at 01:30 UTC: %v, %v", zone, b.Schedule, active, err)
			}
		}
	}
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

// B3: whatever the commands of one plan and their reasons, together with what is busy they never take more than any budget of
// their reason leaves.
func TestB3CommandsOfOnePlanShareTheBudgets(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := drawWorld(r)
		in := w.in
		plan := Plan(in)
		v := newPlanner(&in, nil)
		busy, limits := map[string]int{}, v.budgets.limits
		for pool, n := range v.budgets.busy {
			busy[pool] = n
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
				node := v.byName[name]
				pool := node.Node.Pool()
				if !v.budgets.counted[name] {
					busy[pool]++
				}
				if busy[pool] > limits[pool][reason] {
					t.Fatalf("seed %d: %s takes node %d of %s, whose limit is %d", seed, command.Reason, busy[pool], pool, limits[pool][reason])
				}
			}
		}
	}
}

func TestBudgetProblemNamesTheFieldThatCannotBeRead(t *testing.T) {
	for field, budgets := range map[string][]model.Budget{
		"":         {{Nodes: "0"}, {Nodes: "100%"}, {Nodes: "3", Schedule: "0 9 * * mon-fri", DurationSeconds: 3600}, {Nodes: "3", Schedule: "@daily", DurationSeconds: 60}},
		"nodes":    {{Nodes: "101%"}, {Nodes: "-1"}, {Nodes: "x"}, {}},
		"schedule": {{Nodes: "1", Schedule: "99 * * * *", DurationSeconds: 60}, {Nodes: "1", Schedule: "@daily"}, {Nodes: "1", DurationSeconds: 60}, {Nodes: "1", Schedule: "* * * *", DurationSeconds: 60}},
	} {
		for _, b := range budgets {
			if got, err := BudgetProblem(b); got != field || (err != nil) != (field != "") {
				t.Errorf("%+v: %q, %v; want %q", b, got, err, field)
			}
		}
	}
}
