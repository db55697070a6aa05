package disruption

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// Nodes without pods go first, then those that drifted first, each in a command of its own, as many as the budget leaves.
func TestDriftGoesByAgeWithinTheBudget(t *testing.T) {
	w := newWorld().pool("general", never, budgets(model.Budget{Nodes: "3", Reasons: []string{model.ReasonDrifted}}))
	for i, since := range []int64{50, 400, 300, 200, 10} {
		w.node(fmt.Sprintf("n%d", i), "general", drifted(testNow-since))
		if i < 4 {
			w.running(fmt.Sprintf("app%d", i), fmt.Sprintf("n%d", i), 6)
		}
	}
	plan := Plan(w.in)
	var order []string
	for _, c := range plan.Commands {
		if len(c.Nodes) != 1 || c.Reason != model.ReasonDrifted {
			t.Errorf("%+v", c)
		}
		order = append(order, c.Nodes[0])
	}
	if !slices.Equal(order, []string{"n4", "n1", "n2"}) || !plan.Constrained || !slices.Contains(kept(plan, "n0"), NodeBudget) {
		t.Errorf("%v, %v", order, kept(plan, "n0"))
	}
	if c := plan.Commands[1]; len(c.Replacements) != 1 || c.Replacements[0].Pool != "general" || len(c.Replacements[0].Pods) != 6 || c.PodsMoved != 6 {
		t.Errorf("%+v", c)
	}
	if len(plan.Commands[0].Replacements) != 0 {
		t.Errorf("for no pod: %+v", plan.Commands[0])
	}
}

// What one command moves pods onto is not free for the next, nor disrupted by it. Pods do not go to what is to be renewed itself,
// unless nothing else takes them.
func TestCommandsOfOnePlanAreOfOneCluster(t *testing.T) {
	build := func() *world {
		return newWorld().pool("general", never).
			node("a", "general", drifted(testNow-300)).running("a", "a", 4).
			node("b", "general", drifted(testNow-200)).running("b", "b", 4).
			node("c", "general", drifted(testNow-100)).running("c", "c", 3).
			node("new", "general").running("d", "new", 2) // there is room for five more
	}
	check := func(plan model.DisruptPlan) (moved int) {
		taken, gone, names := map[string]int{}, map[string]bool{}, map[string]bool{}
		for _, c := range plan.Commands {
			for _, m := range c.Moves {
				taken[m.Node] += len(m.Pods)
				moved += len(m.Pods)
			}
			for _, r := range c.Replacements {
				if names[r.Name] {
					t.Errorf("two replacements are named %s", r.Name)
				}
				names[r.Name] = true
			}
			for _, n := range c.Nodes {
				gone[n] = true
			}
		}
		for node, n := range taken {
			if gone[node] {
				t.Errorf("%s takes %d pods and is given back", node, n)
			}
			if reasons := kept(plan, node); !slices.Contains(reasons, PodsExpected) && node != "new" {
				t.Errorf("%s, which takes pods, is kept for %v", node, reasons)
			}
		}
		return moved
	}
	plan := Plan(build().in)
	wantGiven(t, plan, model.ReasonDrifted, "a", "b", "c")
	if moved := check(plan); moved != 5 {
		t.Errorf("%d pods go to the new node", moved)
	}
	w := build() // no instance more may be launched
	w.in.Snapshot.Pools[0].Limits = model.Resources{model.Nodes: 4}
	w.in.Usage = map[string]model.Resources{"general": {model.Nodes: 4}}
	plan = Plan(w.in)
	if moved := check(plan); moved == 0 || len(plan.Commands) == 0 {
		t.Errorf("at the limit: %+v", plan)
	}
}

// A plan that drift has filled says of every node that might be consolidated that it has to wait, expensive or not; of one that a budget keeps it
// says that.
func TestWhatDriftLeavesNoCommandForHasToWait(t *testing.T) {
	build := func(options ...func(*model.Pool)) *world {
		w := newWorld().pool("general", append(options, buying(model.OnDemand, model.Spot))...).pool("kept", never).node("a", "kept", sized("m5.4xlarge", model.OnDemand)) // where what is moved goes
		w.node("old", "general", drifted(testNow-10)).running("web", "old", 7)
		for _, name := range []string{"dear1", "dear2"} {
			w.node(name, "general", sized("m5.4xlarge", model.OnDemand)).running(name, name, 1)
		}
		w.node("full", "general").running("full", "full", 3, cpu(1200))
		w.in.Settings.MaxCommands = 1
		return w
	}
	plan := Plan(build().in)
	wantGiven(t, plan, model.ReasonDrifted, "old")
	for _, name := range []string{"dear1", "dear2", "full"} {
		if got := kept(plan, name); !slices.Equal(got, []string{TooManyCommands}) {
			t.Errorf("%s is kept for %v", name, got)
		}
	}
	plan = Plan(build(budgets(model.Budget{Nodes: "2"})).in)
	wantGiven(t, plan, model.ReasonDrifted, "old")
	counted := make(map[string]int)
	for _, name := range []string{"dear1", "dear2"} {
		counted[strings.Join(kept(plan, name), " ")]++
	}
	if counted[TooManyCommands] != 1 || counted[NodeBudget] != 1 {
		t.Errorf("of two dear nodes, of which one may go: %v", counted)
	}
}

// R41: a pool none of whose nodes can be replaced holds up no other, however many and old they are; of each such node it is said
// which pods have no place.
func TestR41OneFailingPoolStarvesNobody(t *testing.T) {
	nowhere := func(s *model.PodShape) { s.NodeSelector = map[string]string{"disk": "old"} }
	w := newWorld().pool("a", never).pool("b", never)
	for i := range maxTries + 50 {
		w.node(fmt.Sprintf("a%03d", i), "a", drifted(testNow-5000), func(n *model.Node, _ *model.Claim) { n.Labels["disk"] = "old" }).
			running(fmt.Sprintf("app%d", i), fmt.Sprintf("a%03d", i), 1, nowhere, cpu(3800))
	}
	for i := range 3 {
		w.node(fmt.Sprintf("b%d", i), "b", drifted(testNow-10)).running(fmt.Sprintf("web%d", i), fmt.Sprintf("b%d", i), 7)
	}
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonDrifted, "b0", "b1", "b2")
	reported := 0
	for _, k := range plan.Kept {
		for _, r := range k.Reasons {
			if r.Code != Unplaceable {
				continue
			}
			if reported++; !strings.Contains(r.Message, "-"+k.Node+"-0 could not be scheduled: ") {
				t.Errorf("%s: %s", k.Node, r.Message)
			}
		}
	}
	if reported != maxTries-3 { // the other pool had its turns
		t.Errorf("of %d nodes it is said which pods have no place", reported)
	}
	if plan.ReplanUnix == 0 || plan.ReplanUnix > testNow+60 {
		t.Errorf("what was not looked at is to be soon, not at now%+d", plan.ReplanUnix-testNow)
	}
	tried := func(plan model.DisruptPlan) map[string]bool {
		out := map[string]bool{}
		for _, k := range plan.Kept {
			if slices.Contains(codesOf(k.Reasons), Unplaceable) {
				out[k.Node] = true
			}
		}
		return out
	}
	all := tried(plan)
	for minute := range 3 {
		w.in.NowUnix = testNow + int64(60*(minute+1))
		for node := range tried(Plan(w.in)) {
			all[node] = true
		}
	}
	if len(all) != maxTries+50 {
		t.Errorf("in four minutes %d nodes were looked at", len(all))
	}
}

// Expiry within budgets, where the NodePool asks for it: with replacements, by the budgets of drift, and not before its time.
func TestExpiryWithinBudgets(t *testing.T) {
	gentle := func(p *model.Pool) { p.Annotations = map[string]string{model.AnnotationGentleExpiry: "true"} }
	old := func(seconds int64) func(*model.Node, *model.Claim) {
		return func(_ *model.Node, c *model.Claim) { c.ExpireSeconds = &seconds }
	}
	build := func(change func(*model.Pool)) *world {
		return newWorld().pool("general", never, change, budgets(model.Budget{Nodes: "1", Reasons: []string{model.ReasonDrifted}})).
			node("a", "general", old(86_400)).running("a", "a", 6).node("b", "general", old(80_000)).running("b", "b", 6).
			node("c", "general", old(86_400+90)).running("c", "c", 6)
	}
	plan := Plan(build(gentle).in)
	if got := given(plan, model.ReasonExpired); len(got) != 1 || got[0] != "a" || len(plan.Commands[0].Replacements) != 1 {
		t.Errorf("%v, %+v", got, plan)
	}
	if !slices.Contains(kept(plan, "b"), NodeBudget) || slices.Contains(kept(plan, "c"), NodeBudget) || plan.ReplanUnix != testNow+90 {
		t.Errorf("b: %v, c: %v, again at now%+d", kept(plan, "b"), kept(plan, "c"), plan.ReplanUnix-testNow)
	}
	if plan := Plan(build(func(*model.Pool) {}).in); len(plan.Commands) != 0 {
		t.Errorf("without the annotation: %+v", plan.Commands)
	}
}

// F138: nodes of a static pool that drifted are replaced one for one, within budgets and limits, and not while it has more than its
// size.
func TestF138StaticDriftIsOneForOne(t *testing.T) {
	build := func(changes ...func(*model.Pool)) *world {
		w := newWorld().pool("fixed", append([]func(*model.Pool){replicas(4)}, changes...)...)
		for i := range 4 {
			w.node(fmt.Sprintf("n%d", i), "fixed", drifted(testNow-int64(100*i)))
		}
		return w.running("web", "n3", 2)
	}
	plan := Plan(build(budgets(model.Budget{Nodes: "2"})).in)
	wantGiven(t, plan, model.ReasonDrifted, "n1", "n2") // n3 carries pods, and n0 drifted last
	for _, c := range plan.Commands {
		if len(c.Nodes) != 1 || len(c.Replacements) != 1 || c.Replacements[0].Pool != "fixed" || len(c.Replacements[0].Pods) != 0 {
			t.Errorf("%+v", c)
		}
	}
	w := build(func(p *model.Pool) { p.Limits = model.Resources{model.Nodes: 5} })
	w.in.Usage = map[string]model.Resources{"fixed": {model.Nodes: 4}}
	plan = Plan(w.in)
	wantGiven(t, plan, model.ReasonDrifted, "n2")
	if got := kept(plan, "n1"); !slices.Contains(got, NoReplacement) {
		t.Errorf("n1, for which limits leave no room: %v", got)
	}
	w = build(replicas(3))
	plan = Plan(w.in)
	wantGiven(t, plan, model.ReasonReplicas, "n0")
	wantGiven(t, plan, model.ReasonDrifted, "n1", "n2", "n3")
	if w = build(replicas(0)); len(given(Plan(w.in), model.ReasonReplicas)) != 4 {
		t.Error("replicas: 0")
	}
}

// §2.18: what a static pool has beyond its size goes whatever budgets say: nodes without pods, then those without pods that must not
// be disturbed, those that cost least first.
func TestStaticPoolsShrinkByWhatCostsLeast(t *testing.T) {
	keep := func(s *model.PodShape) { s.DoNotDisrupt = "true" }
	short := int64(90_000) // a day old, it has not long to live
	w := newWorld().pool("fixed", replicas(5), budgets(model.Budget{Nodes: "0"})).
		node("a", "fixed").running("a", "a", 1, keep).
		node("b", "fixed").running("b", "b", 3).
		node("c", "fixed").running("c", "c", 1).
		node("d", "fixed").running("agent", "d", 1, func(s *model.PodShape) { s.OwnerKind = "DaemonSet" }).
		node("e", "fixed", func(_ *model.Node, c *model.Claim) { c.ExpireSeconds = &short }).running("e", "e", 2)
	for _, c := range []struct {
		replicas int64
		want     []string
	}{{5, nil}, {4, []string{"d"}}, {3, []string{"d", "e"}}, {2, []string{"c", "d", "e"}}, {1, []string{"b", "c", "d", "e"}}, {0, []string{"a", "b", "c", "d", "e"}}} {
		replicas(c.replicas)(&w.in.Snapshot.Pools[0])
		wantGiven(t, Plan(w.in), model.ReasonReplicas, c.want...)
	}
	replicas(4)(&w.in.Snapshot.Pools[0]) // what is going already, or has not joined, is none of those that are too many
	w.in.Claims[1].State = model.Draining
	wantGiven(t, Plan(w.in), model.ReasonReplicas)
	w.in.Claims[1].State = model.Registered
	wantGiven(t, Plan(w.in), model.ReasonReplicas)
	w.in.Claims[1].State = model.Initialized
	w.in.Stops = []model.Stop{{Scope: model.StopCluster}}
	wantGiven(t, Plan(w.in), model.ReasonReplicas)
}

// Commands of one plan share what is left of a capacity reservation.
func TestCommandsOfOnePlanShareACapacityReservation(t *testing.T) {
	w := newWorld().pool("general", never, buying(model.OnDemand, model.Reserved)).reserve(1)
	for _, name := range []string{"n1", "n2"} {
		w.node(name, "general", drifted(testNow-60)).running("web-"+name, name, 6)
	}
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonDrifted, "n1", "n2")
	var kinds []string
	for _, c := range plan.Commands {
		for _, r := range c.Replacements {
			kinds = append(kinds, r.Offering.CapacityType)
		}
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []string{model.OnDemand, model.Reserved}) {
		t.Errorf("replaced by %v", kinds)
	}
}
