package disruption

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// committed returns a cluster of which a half-empty node is disrupted, with the command for that: its pods go to the other node.
func committed(t *testing.T, changes ...func(*model.Pool)) (*world, *model.Command) {
	t.Helper()
	w := newWorld().pool("general", changes...).node("to", "general").running("db", "to", 4).node("from", "general").running("web", "from", 2)
	plan := model.PlannedCommand{Reason: model.ReasonUnderutilized, Nodes: []string{"from"}, Savings: 200_000, PodsMoved: 2}
	command := commit(&w.in, plan, "c1")
	w.in.NowUnix += 20
	if reasons := Revalidate(w.in, command); len(reasons) != 0 {
		t.Fatalf("it does not hold to begin with: %+v", reasons)
	}
	return w, command
}

// F131: what changed while a command waited to be carried out undoes it: a pod that came, a budget, people, prices, what waits.
func TestF131ACommandIsRevalidated(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		codes  []string
	}{
		"nothing":                             {func(*world) {}, nil},
		"a pod came, which fits too":          {func(w *world) { w.running("late", "from", 1) }, nil},
		"a pod came, which fits nowhere else": {func(w *world) { w.running("late", "from", 1, cpu(1500)) }, []string{Unplaceable}},
		"a pod that must not be disturbed":    {func(w *world) { w.running("job", "from", 1, func(s *model.PodShape) { s.DoNotDisrupt = "true" }) }, []string{PodDoNotDisrupt}},
		"a budget of its pods":                {func(w *world) { w.pdb("web", "web", 0) }, []string{DisruptionBudget}},
		"the node's annotation": {func(w *world) {
			w.in.Snapshot.Nodes[1].Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
		}, []string{NodeDoNotDisrupt}},
		"people stopped it":        {func(w *world) { w.in.Stops = []model.Stop{{Scope: model.StopCluster}} }, []string{Stopped}},
		"the other node is full":   {func(w *world) { w.running("more", "to", 1, cpu(1000)) }, []string{Unplaceable}},
		"the other node not ready": {func(w *world) { w.in.Snapshot.Nodes[0].Ready = false }, []string{Unplaceable}},
		"pods that need its room":  {func(w *world) { w.pending("late", 1, cpu(2000)) }, []string{PodsExpected}},
		"pods that fit elsewhere":  {func(w *world) { w.pending("late", 1, cpu(300)) }, nil},
		"pods that fit nowhere":    {func(w *world) { w.pending("late", 1, cpu(30_000)) }, nil},
		"the node is another": {func(w *world) {
			w.in.Snapshot.Nodes[1].UID = "another"
		}, []string{Changed}},
		"the node is gone":          {func(w *world) { w.in.Snapshot.Nodes = w.in.Snapshot.Nodes[:1] }, []string{Changed}},
		"it ends by itself":         {func(w *world) { w.in.Claims[1].State = model.Draining }, nil},
		"it costs nothing any more": {func(w *world) { price(w, "m5.xlarge", 500) }, []string{NoSavings}},
		"its pods have ended": {func(w *world) {
			for i := range w.in.Snapshot.Pods {
				if w.in.Snapshot.Pods[i].NodeName == "from" {
					w.in.Snapshot.Pods[i].Phase = model.Succeeded
				}
			}
		}, nil},
		"only empty nodes may go":  {func(w *world) { w.in.Snapshot.Pools[0].Disruption.Policy = "WhenEmpty" }, []string{OnlyWhenEmpty}},
		"the budget is closed":     {func(w *world) { budgets(model.Budget{Nodes: "0"})(&w.in.Snapshot.Pools[0]) }, []string{NodeBudget}},
		"the budget has just room": {func(w *world) { budgets(model.Budget{Nodes: "1"})(&w.in.Snapshot.Pools[0]) }, nil},
		"another takes the room": {func(w *world) {
			budgets(model.Budget{Nodes: "1"})(&w.in.Snapshot.Pools[0])
			w.node("gone", "general", func(_ *model.Node, c *model.Claim) { c.State = model.Draining })
		}, []string{NodeBudget}},
	} {
		t.Run(name, func(t *testing.T) {
			w, command := committed(t)
			c.change(w)
			got := Revalidate(w.in, command)
			if codes := slices.Compact(codesOf(got)); !slices.Equal(codes, c.codes) {
				t.Errorf("%+v, want %v", got, c.codes)
			}
		})
	}
	w, command := committed(t, after(30)) // a pod came a moment ago
	w.running("late", "from", 1)
	w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1].StartedUnix = w.in.NowUnix - 5
	if got := codesOf(Revalidate(w.in, command)); !slices.Equal(got, []string{NotQuiet}) {
		t.Errorf("within consolidateAfter: %v", got)
	}
}

// price sets what a type costs on demand.
func price(w *world, name string, to model.MicroUSD) {
	types := w.in.Catalogs["default"]
	for i := range types {
		types[i].Offerings = slices.Clone(types[i].Offerings)
		for j := range types[i].Offerings {
			if types[i].Name == name && types[i].Offerings[j].CapacityType == model.OnDemand {
				types[i].Offerings[j].Price = to
			}
		}
	}
}

// A command with a replacement holds with it before it is launched and after, while it saves, and while it can be had.
func TestACommandHoldsWithItsReplacements(t *testing.T) {
	build := func() (*world, *model.Command) {
		w := newWorld().pool("general").node("big", "general", func(n *model.Node, c *model.Claim) {
			n.Labels[model.LabelInstanceType], c.InstanceType = "m5.4xlarge", "m5.4xlarge"
			n.Allocatable = model.Resources{model.CPU: 15_900, model.Memory: 60 << 30, model.Pods: 50}
		}).running("web", "big", 4)
		v := newPlanner(&w.in, nil)
		o := v.fork.without([]*poolNode{v.fork.byName["big"]}, v.fork.churning)
		if len(o.claims) != 1 || o.claims[0].Offering.InstanceType != "m5.xlarge" {
			t.Fatalf("%+v", o)
		}
		return w, commit(&w.in, v.fork.command(model.ReasonUnderutilized, []*poolNode{v.fork.byName["big"]}, o), "c1")
	}
	w, command := build()
	if got := Revalidate(w.in, command); len(got) != 0 {
		t.Errorf("before it is launched: %+v", got)
	}
	price(w, "m5.xlarge", 799_500)
	price(w, "m5.2xlarge", 799_500)
	if got := codesOf(Revalidate(w.in, command)); !slices.Equal(got, []string{NoSavings}) {
		t.Errorf("it costs as much: %v", got)
	}
	w, command = build()
	for i := range w.in.Catalogs["default"] {
		for j := range w.in.Catalogs["default"][i].Offerings {
			w.in.Catalogs["default"][i].Offerings[j].Available = false
		}
	}
	if got := codesOf(Revalidate(w.in, command)); !slices.Equal(got, []string{NoReplacement}) {
		t.Errorf("nothing can be had: %v", got)
	}
	w, command = build() // launched, and not joined
	w.in.Claims = append(slices.Clone(w.in.Claims), model.Claim{Name: command.Replacements[0].Name, Pool: "general", Class: "default", State: model.Launched, InstanceType: "m5.xlarge", Zone: "a",
		CapacityType: model.OnDemand, Price: 200_000, Pods: command.Replacements[0].Pods, Allocatable: model.Resources{model.CPU: 3900, model.Memory: 15 << 30, model.Pods: 50}})
	if got := Revalidate(w.in, command); len(got) != 0 {
		t.Errorf("launched: %+v", got)
	}
	w.running("late", "big", 7, cpu(1000)) // more than it holds
	got := Revalidate(w.in, command)
	if !slices.Equal(codesOf(got), []string{Unplaceable}) || !strings.Contains(got[0].Message, "one instance more") {
		t.Errorf("more pods than it holds: %+v", got)
	}
}

// What drifted or has expired holds without saving anything, what is empty while it is, what is too many while there are too many.
func TestCommandsHoldForTheirReason(t *testing.T) {
	w := newWorld().pool("general", never).node("n", "general", drifted(testNow-60)).running("web", "n", 6)
	command := commit(&w.in, Plan(w.in).Commands[0], "c1")
	if got := Revalidate(w.in, command); len(got) != 0 || command.Reason != model.ReasonDrifted {
		t.Errorf("drifted: %+v", got)
	}
	w.in.Claims[0].Drift = ""
	if got := codesOf(Revalidate(w.in, command)); !slices.Equal(got, []string{Changed}) {
		t.Errorf("as new: %v", got)
	}
	w = newWorld().pool("general").node("n", "general")
	command = commit(&w.in, Plan(w.in).Commands[0], "c1")
	if got := Revalidate(w.in, command); len(got) != 0 || command.Reason != model.ReasonEmpty {
		t.Errorf("empty: %+v", got)
	}
	w.running("web", "n", 1)
	if got := codesOf(Revalidate(w.in, command)); !slices.Equal(got, []string{Changed}) {
		t.Errorf("not empty: %v", got)
	}
	w = newWorld().pool("fixed", replicas(1)).node("a", "fixed").node("b", "fixed").node("c", "fixed")
	command = commit(&w.in, Plan(w.in).Commands[0], "c1")
	if got := Revalidate(w.in, command); len(got) != 0 || command.Reason != model.ReasonReplicas || len(command.Targets) != 2 {
		t.Errorf("too many: %+v", got)
	}
	replicas(2)(&w.in.Snapshot.Pools[0])
	if got := codesOf(Revalidate(w.in, command)); !slices.Equal(got, []string{Changed}) {
		t.Errorf("one too many only: %v", got)
	}
}

// commitAll records all commands of a plan as committed together, and returns them as they are a little later.
func commitAll(in *Input, plan model.DisruptPlan) []*model.Command {
	first := len(in.Commands)
	for i := range plan.Commands {
		commit(in, plan.Commands[i], fmt.Sprintf("c%02d", i))
	}
	in.NowUnix += 20
	var out []*model.Command
	for i := range plan.Commands {
		out = append(out, &in.Commands[first+i])
	}
	return out
}

// Pods that wait for an instance nobody has asked for yet, such as those of a node that people delete, do not take the room of what
// a command launches from the pods it launches it for.
func TestReplacementsAreForThePodsOfTheirCommand(t *testing.T) {
	w := newWorld().pool("general").node("big", "general", func(n *model.Node, c *model.Claim) {
		n.Labels[model.LabelInstanceType], c.InstanceType = "m5.4xlarge", "m5.4xlarge"
		n.Labels["rack"] = "1"
		n.Allocatable = model.Resources{model.CPU: 15_900, model.Memory: 60 << 30, model.Pods: 50}
	}).running("web", "big", 4).node("going", "general", func(n *model.Node, _ *model.Claim) { n.DeletedUnix = testNow + 60 })
	w.running("old", "going", 4, func(s *model.PodShape) { // no node there is has what they ask for
		s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: []model.Requirement{{Key: "rack", Operator: model.DoesNotExist}}}}
	})
	plan := Plan(w.in)
	if len(plan.Commands) != 1 || len(plan.Commands[0].Replacements) != 1 || !slices.Equal(plan.Commands[0].Nodes, []string{"big"}) {
		t.Fatalf("%+v", plan)
	}
	for _, command := range commitAll(&w.in, plan) {
		if reasons := Revalidate(w.in, command); len(reasons) > 0 {
			t.Errorf("%v: %+v", command.Targets[0].Node, reasons)
		}
	}
}

// A node whose taint is left over from a command that ended is what pods that wait will have once it is off: it is not disrupted.
func TestPodsThatWaitHaveNodesWhoseTaintIsLeftOver(t *testing.T) {
	left := func(n *model.Node, _ *model.Claim) { n.Taints = []model.Taint{disruptedTaint} }
	w := newWorld().pool("general").node("full", "general").running("db", "full", 7).node("left", "general", left).pending("late", 1, cpu(2000))
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonEmpty)
	if got := kept(plan, "left"); !slices.Contains(got, PodsExpected) {
		t.Errorf("it is kept for %v", got)
	}
	w.in.Snapshot.Pods = w.in.Snapshot.Pods[:7] // nobody waits
	wantGiven(t, Plan(w.in), model.ReasonEmpty, "left")
	w = newWorld().pool("general").node("left", "general", left).node("small", "general").running("web", "small", 1)
	for _, move := range Plan(w.in).Commands { // what runs well is not moved there
		for _, to := range move.Moves {
			t.Errorf("pods go to %s", to.Node)
		}
	}
}

// A pod that comes and goes, and fits nothing but nodes that are disrupted, undoes one command: the last that has a place for it.
func TestAPodThatWaitsUndoesOneCommand(t *testing.T) {
	w := newWorld()
	for i := range 4 {
		name := string(rune('a' + i))
		w.pool(name).node("n"+name, name)
	}
	commands := commitAll(&w.in, Plan(w.in))
	if len(commands) != 4 {
		t.Fatalf("%d commands", len(commands))
	}
	check := func(what string, want ...bool) {
		t.Helper()
		for i, command := range commands {
			if reasons := Revalidate(w.in, command); (len(reasons) == 0) != want[i] {
				t.Errorf("%s: command %d: %+v, want it to hold: %v", what, i, reasons, want[i])
			}
		}
	}
	check("nothing has changed", true, true, true, true)
	w.pending("late", 1, cpu(3000))
	check("one waits", true, true, true, false)
	commands[3].State = model.CommandUndoing
	for i := range w.in.Snapshot.Nodes {
		w.in.Snapshot.Nodes[i].Taints = slices.DeleteFunc(slices.Clone(w.in.Snapshot.Nodes[i].Taints), func(model.Taint) bool { return w.in.Snapshot.Nodes[i].Name == "nd" })
	}
	for i, command := range commands[:3] {
		if reasons := Revalidate(w.in, command); len(reasons) > 0 {
			t.Errorf("with the last undone: command %d: %+v", i, reasons)
		}
	}
}

// Of two commands that only one has room for any more, the former holds; so does one that was found to hold before.
func TestOfTwoCommandsTheFormerHolds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world, commands []*model.Command)
		want   []bool
	}{
		"room for both":  {func(*world, []*model.Command) {}, []bool{true, true}},
		"a pod came":     {func(w *world, _ []*model.Command) { w.running("late", "to", 1, cpu(600)) }, []bool{true, false}},
		"a small budget": {func(w *world, _ []*model.Command) { budgets(model.Budget{Nodes: "1"})(&w.in.Snapshot.Pools[0]) }, []bool{true, false}},
		"the latter is sure": {func(w *world, commands []*model.Command) {
			w.running("late", "to", 1, cpu(600))
			commands[1].State = model.CommandReplacing
		}, []bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld().pool("general").node("to", "general").running("db", "to", 5).node("x", "general").running("web", "x", 1).node("y", "general").running("app", "y", 1)
			plan := model.DisruptPlan{}
			for _, node := range []string{"x", "y"} {
				plan.Commands = append(plan.Commands, model.PlannedCommand{Reason: model.ReasonUnderutilized, Nodes: []string{node}, Savings: 200_000, PodsMoved: 1})
			}
			commands := commitAll(&w.in, plan)
			c.change(w, commands)
			for i, command := range commands {
				if reasons := Revalidate(w.in, command); (len(reasons) == 0) != c.want[i] {
					t.Errorf("command %d: %+v, want it to hold: %v", i, reasons, c.want[i])
				}
			}
		})
	}
}
