package disruption

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func first(value string) func(*model.Pool) {
	return func(p *model.Pool) { p.Annotations = map[string]string{model.AnnotationTerminateFirst: value} }
}

func most(nodes int64) func(*model.Pool) {
	return func(p *model.Pool) { p.Limits = model.Resources{model.Nodes: nodes} }
}

// used notes what the claims of the pool hold of its limits.
func (w *world) used(pool string) *world {
	held := int64(0)
	for i := range w.in.Claims {
		if claim := &w.in.Claims[i]; claim.Pool == pool {
			claim.Reserved = model.Resources{model.Nodes: 1, model.CPU: 4000}
			held++
		}
	}
	w.in.Usage = map[string]model.Resources{pool: {model.Nodes: held, model.CPU: 4000 * held}}
	return w
}

// wantFirst fails the test where the plan is not one command that terminates the nodes, and nothing before them.
func wantFirst(t *testing.T, plan model.DisruptPlan, nodes ...string) {
	t.Helper()
	wantGiven(t, plan, model.ReasonDrifted, nodes...)
	for _, c := range plan.Commands {
		if !c.TerminateFirst || len(c.Replacements) != 0 {
			t.Errorf("%+v", c)
		}
	}
}

// M83: a static pool whose limit leaves no room for one node more terminates a node that drifted first, as many at a
// time as budgets let it lack, and the next once those are replaced. It waits where people say so, and one that may
// have a node more launches that first.
func TestM83StaticPoolsAtTheirLimitTerminateFirst(t *testing.T) {
	one := budgets(model.Budget{Nodes: "1"})
	build := func(changes ...func(*model.Pool)) *world {
		return newWorld().pool("fixed", append([]func(*model.Pool){replicas(3), one}, changes...)...).
			node("a", "fixed", drifted(testNow-300)).node("b", "fixed", drifted(testNow-200)).node("c", "fixed").
			used("fixed")
	}
	w := build(most(3))
	wantFirst(t, Plan(w.in), "a")

	w.command("x", model.ReasonDrifted, model.CommandCommitted, []string{"a"}, func(c *model.Command) {
		c.TerminateFirst = true
	})
	if got := codesOf(Revalidate(w.in, &w.in.Commands[0])); len(got) != 0 {
		t.Errorf("it does not hold: %v", got)
	}

	w = build(most(3)) // one of three is not there yet
	w.in.Snapshot.Nodes, w.in.Claims = w.in.Snapshot.Nodes[:2], w.in.Claims[:2]
	w.used("fixed")
	w.in.Usage["fixed"][model.Nodes] = 3
	plan := Plan(w.in)
	wantFirst(t, plan)
	if got := kept(plan, "a"); !slices.Contains(got, NodeBudget) {
		t.Errorf("kept for %v", got)
	}

	plan = Plan(build(most(3), first("false")).in)
	wantFirst(t, plan)
	if got := kept(plan, "a"); !slices.Contains(got, NoReplacement) {
		t.Errorf("kept for %v", got)
	}
	plan = Plan(build(most(4)).in)
	wantGiven(t, plan, model.ReasonDrifted, "a")
	if c := plan.Commands[0]; c.TerminateFirst || len(c.Replacements) != 1 {
		t.Errorf("with room for one more: %+v", c)
	}
}

// M83: where nothing can be launched even once the node is gone, it stays: no instance type is left to its pool.
func TestM83WhatCannotBeReplacedStays(t *testing.T) {
	w := newWorld().pool("fixed", replicas(1), most(1), func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{
			{Key: model.LabelInstanceType, Operator: model.In, Values: []string{"m9.huge"}}}
	}).node("a", "fixed", drifted(testNow-300)).used("fixed")
	plan := Plan(w.in)
	wantFirst(t, plan)
	if got := kept(plan, "a"); !slices.Contains(got, NoReplacement) {
		t.Errorf("kept for %v", got)
	}
}

// M83: with the annotation a pool at its limit, or in a reservation that is full, terminates a node first, one at a
// time, if its pods fit what can be launched then; without it the node stays.
func TestM83PoolsWithTheAnnotationTerminateFirst(t *testing.T) {
	reserved := func(n *model.Node, c *model.Claim) {
		n.Labels[model.LabelCapacityType], c.CapacityType, c.Reservation = model.Reserved, model.Reserved, "cr-1"
	}
	inReservation := func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{
			{Key: model.LabelCapacityType, Operator: model.In, Values: []string{model.Reserved}}}
	}
	for name, build := range map[string]func(...func(*model.Pool)) *world{
		"a limit": func(changes ...func(*model.Pool)) *world {
			return newWorld().pool("general", append(changes, never, most(2))...).
				node("a", "general", drifted(testNow-300)).running("a", "a", 3, cpu(1000)).
				node("b", "general", drifted(testNow-200)).running("b", "b", 3, cpu(1000)).used("general")
		},
		"a reservation": func(changes ...func(*model.Pool)) *world {
			return newWorld().reserve(0).pool("general", append(changes, never, inReservation)...).
				node("a", "general", drifted(testNow-300), reserved).running("a", "a", 3, cpu(1000)).
				node("b", "general", drifted(testNow-200), reserved).running("b", "b", 3, cpu(1000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Plan(build().in)
			wantFirst(t, plan)
			if got := kept(plan, "a"); !slices.Contains(got, Unplaceable) {
				t.Errorf("without it: kept for %v", got)
			}
			w := build(first("true"))
			plan = Plan(w.in)
			wantFirst(t, plan, "a")
			if got := kept(plan, "b"); !slices.Contains(got, TerminatedFirst) {
				t.Errorf("the next is kept for %v", got)
			}
			w.command("x", model.ReasonDrifted, model.CommandCommitted, []string{"a"}, func(c *model.Command) {
				c.TerminateFirst = true
			})
			if got := codesOf(Revalidate(w.in, &w.in.Commands[0])); len(got) != 0 {
				t.Errorf("it does not hold: %v", got)
			}
			if got := kept(Plan(w.in), "b"); !slices.Contains(got, TerminatedFirst) {
				t.Errorf("while it is carried out the next is kept for %v", got)
			}
		})
	}
}

// M83: the next node goes once the pods of the one before have a place: not while they wait, nor while an instance for
// them is on its way.
func TestM83TheNextNodeWaitsForTheReplacement(t *testing.T) {
	build := func() *world {
		w := newWorld().pool("general", never, most(2), first("true")).
			node("gone", "general").node("b", "general", drifted(testNow-200)).running("b", "b", 3, cpu(1000)).
			command("x", model.ReasonDrifted, model.CommandDone, []string{"gone"}, func(c *model.Command) {
				c.TerminateFirst, c.SinceUnix, c.EndedUnix = true, testNow-900, testNow-600
			}).node("new", "general").running("a", "new", 3, cpu(1000))
		w.in.Snapshot.Nodes, w.in.Claims = w.in.Snapshot.Nodes[1:], w.in.Claims[1:]
		return w.used("general")
	}
	wantFirst(t, Plan(build().in), "b")
	for name, change := range map[string]func(*world){
		"its instance is there still": func(w *world) { w.node("gone", "general", ending) },
		"it has just begun to drain":  func(w *world) { w.in.Commands[0].EndedUnix = testNow - 60 },
		"its pods wait":               func(w *world) { w.pending("a", 3, cpu(1000)) },
		"an instance is on its way":   func(w *world) { w.in.Claims[1].State = model.Launched },
	} {
		w := build()
		change(w)
		plan := Plan(w.in)
		if got := kept(plan, "b"); len(plan.Commands) != 0 || !slices.Contains(got, TerminatedFirst) {
			t.Errorf("%s: kept for %v, %+v", name, got, plan.Commands)
		}
	}
	w := build() // what waited before anything was terminated, or after an hour, has nothing to do with it
	w.pending("old", 1, cpu(3000))
	for i := range w.in.Snapshot.Pods {
		w.in.Snapshot.Pods[i].CreatedUnix = testNow - 7200
	}
	wantFirst(t, Plan(w.in), "b")
}

func ending(_ *model.Node, c *model.Claim) { c.State = model.Draining }
