package disruption

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// sized makes a node another machine of the catalog, on demand or spot.
func sized(instanceType, capacityType string) func(*model.Node, *model.Claim) {
	return func(n *model.Node, c *model.Claim) {
		for _, t := range testCatalog() {
			if t.Name == instanceType {
				n.Capacity, n.Allocatable = t.Capacity, t.Allocatable()
			}
		}
		n.Labels[model.LabelInstanceType], n.Labels[model.LabelCapacityType] = instanceType, capacityType
		c.InstanceType, c.CapacityType = instanceType, capacityType
	}
}

// buying lets a pool have instances of the capacity types.
func buying(capacityTypes ...string) func(*model.Pool) {
	return func(p *model.Pool) { p.Template.Requirements[0].Values = capacityTypes }
}

// F122: a node whose pods fit elsewhere goes, and one that is larger than its pods need makes way for a smaller one.
func TestF122NodesGoAndLargeOnesAreReplaced(t *testing.T) {
	w := newWorld().pool("general").node("a", "general").running("web", "a", 6).node("b", "general").running("api", "b", 1)
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized, "b")
	if c := plan.Commands[0]; len(c.Replacements) != 0 || len(c.Moves) != 1 || c.Moves[0].Node != "a" || c.PodsMoved != 1 || c.Savings != 200_000 {
		t.Errorf("%+v", c)
	}
	w = newWorld().pool("general").node("big", "general", sized("m5.4xlarge", model.OnDemand)).running("web", "big", 2)
	plan = Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized, "big")
	if c := plan.Commands[0]; len(c.Replacements) != 1 || c.Replacements[0].Offering.InstanceType != "m5.xlarge" || c.Savings != 600_000 || plan.PriceAfter != 200_000 {
		t.Errorf("%+v", c)
	}
}

// F123: several nodes make way for one that is cheaper than they are together.
func TestF123SeveralNodesBecomeOne(t *testing.T) {
	w := newWorld().pool("general", buying(model.OnDemand, model.Spot))
	for i := range 3 {
		name := fmt.Sprintf("n%d", i)
		w.node(name, "general").running("web"+name, name, 2)
	}
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized, "n0", "n1", "n2")
	if len(plan.Commands) != 1 || len(plan.Commands[0].Replacements) != 1 || plan.PriceAfter != 80_000 {
		t.Errorf("%+v", plan.Commands)
	}
}

// F124: nothing is replaced by an instance of its own kind that is no cheaper: one of the nodes is kept for the pods.
func TestF124ALikeInstanceIsKeptAndNotBought(t *testing.T) {
	w := newWorld().pool("general")
	for _, name := range []string{"a", "b"} {
		w.node(name, "general").running("web"+name, name, 3)
	}
	plan := Plan(w.in)
	if len(plan.Commands) != 1 || len(plan.Commands[0].Nodes) != 1 || len(plan.Commands[0].Replacements) != 0 || plan.PriceAfter != 200_000 {
		t.Errorf("%+v", plan.Commands)
	}
}

// F125: where both spot and on-demand would do, what takes a node's place is spot or nothing, of types that save at worst.
func TestF125WhatReplacesMayOnlyBeBoughtAsPlanned(t *testing.T) {
	w := newWorld().pool("general", buying(model.OnDemand, model.Spot)).node("a", "general").running("web", "a", 6)
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized, "a")
	claim := plan.Commands[0].Replacements[0]
	if !slices.Equal(claim.CapacityTypes, []string{model.Spot}) || !slices.Equal(claim.InstanceTypes, []string{"m5.xlarge", "m5.2xlarge"}) {
		t.Errorf("bought as %v of %v", claim.CapacityTypes, claim.InstanceTypes)
	}
	for _, r := range claim.Requirements {
		switch r.Key {
		case model.LabelCapacityType:
			if !slices.Equal(r.Values, claim.CapacityTypes) {
				t.Errorf("%+v", r)
			}
		case model.LabelInstanceType:
			if !slices.Equal(r.Values, []string{"m5.2xlarge", "m5.xlarge"}) {
				t.Errorf("%+v", r)
			}
		}
	}
}

// F126, M102: spot nodes are replaced by spot nodes only where that is switched on and enough types are cheaper, of
// which only so many are asked for.
func TestF126SpotIsReplacedBySpotOnlyWithTypesToFallBackOn(t *testing.T) {
	w := newWorld().pool("general", buying(model.Spot)).node("big", "general", sized("m5.4xlarge", model.Spot)).running("web", "big", 2)
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized)
	if got := kept(plan, "big"); !slices.Contains(got, SpotToSpot) {
		t.Errorf("kept for %v", got)
	}
	w.in.Settings.SpotToSpot = true
	plan = Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized)
	if got := kept(plan, "big"); !slices.Contains(got, SpotToSpot) {
		t.Errorf("kept for %v", got)
	}
	w.in.Settings.SpotTypes = 2
	plan = Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized, "big")
	if got := plan.Commands[0].Replacements[0].InstanceTypes; !slices.Equal(got, []string{"m5.xlarge", "m5.2xlarge"}) {
		t.Errorf("of types %v", got)
	}
}

// F126: without a setting fifteen cheaper types are required, and fifteen are requested where more would do.
func TestF126FifteenTypesAreRequiredAndRequested(t *testing.T) {
	for cheaper, want := range map[int]int{14: 0, 15: 15, 20: 15} {
		w := newWorld().pool("general", buying(model.Spot)).node("big", "general", sized("m5.4xlarge", model.Spot)).
			running("web", "big", 2)
		w.in.Settings.SpotToSpot = true
		catalog := testCatalog() // of which m5.xlarge and m5.2xlarge are cheaper and hold the pods
		for i := range cheaper - 2 {
			another := testCatalog()[slices.IndexFunc(catalog, func(t model.InstanceType) bool {
				return t.Name == "m5.2xlarge"
			})]
			another.Name = fmt.Sprintf("n%02d.2xlarge", i)
			another.Labels = maps.Clone(another.Labels)
			another.Labels[model.LabelInstanceType] = []string{another.Name}
			catalog = append(catalog, another)
		}
		w.in.Catalogs["default"] = catalog
		plan := Plan(w.in)
		if want == 0 {
			wantGiven(t, plan, model.ReasonUnderutilized)
			if got := kept(plan, "big"); !slices.Contains(got, SpotToSpot) {
				t.Errorf("%d cheaper types: kept for %v", cheaper, got)
			}
			continue
		}
		wantGiven(t, plan, model.ReasonUnderutilized, "big")
		if got := plan.Commands[0].Replacements[0].InstanceTypes; len(got) != want || got[0] != "m5.xlarge" {
			t.Errorf("%d cheaper types: requested are %v", cheaper, got)
		}
	}
}

// F128, M40: moved pods do not go to a node that pods came to a moment ago.
func TestF128MovedPodsGoToNoChurningNode(t *testing.T) {
	// moves are where pods are planned to go while node a is changed so long before
	moves := func(ago int64) (out []string) {
		w := newWorld().pool("general", after(300)).node("a", "general").running("web", "a", 6)
		w.node("b", "general").running("api", "b", 6)
		w.in.Snapshot.Nodes[0].PodEventUnix = testNow - ago
		for i := range w.in.Snapshot.Shapes {
			w.in.Snapshot.Shapes[i].Requests[model.CPU] = 100
		}
		for _, c := range Plan(w.in).Commands {
			for _, m := range c.Moves {
				out = append(out, m.Node)
			}
		}
		return out
	}
	if len(moves(3600)) == 0 {
		t.Fatal("nothing moves between quiet nodes: the case shows nothing")
	}
	if got := moves(10); len(got) != 0 {
		t.Errorf("pods move to %v", got)
	}
}

// F149: each node that stays says why.
func TestF149EveryNodeThatStaysSaysWhy(t *testing.T) {
	w := newWorld().pool("general").node("full", "general").running("web", "full", 7)
	w.node("odd", "general").running("odd", "odd", 7, func(s *model.PodShape) { s.NodeSelector = map[string]string{"disk": "fast"} })
	w.in.Snapshot.Nodes[1].Labels["disk"] = "fast"
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized)
	if got := kept(plan, "full"); !slices.Equal(got, []string{NoSavings}) {
		t.Errorf("full is kept for %v", got)
	}
	if got := kept(plan, "odd"); !slices.Equal(got, []string{Unplaceable}) {
		t.Errorf("odd is kept for %v", got)
	}
}

// R39: what cannot be had never makes anything worth changing.
func TestR39AStockOutOfTheCheaperTypeChangesNothing(t *testing.T) {
	w := newWorld().pool("general").node("big", "general", sized("m5.4xlarge", model.OnDemand)).running("web", "big", 2)
	for i := range w.in.Catalogs["default"] {
		if t := &w.in.Catalogs["default"][i]; t.Name != "m5.4xlarge" {
			for j := range t.Offerings {
				t.Offerings[j].Available = false
			}
		}
	}
	if plan := Plan(w.in); len(plan.Commands) != 0 || plan.PriceAfter != plan.PriceBefore {
		t.Errorf("%+v", plan.Commands)
	}
}

// R40: only offerings that the pods can use save anything.
func TestR40OnlyOfferingsThePodsCanUseCount(t *testing.T) {
	w := newWorld().pool("general", buying(model.OnDemand, model.Spot)).node("a", "general").running("web", "a", 7, func(s *model.PodShape) {
		s.NodeSelector = map[string]string{model.LabelCapacityType: model.OnDemand}
	})
	if plan := Plan(w.in); len(plan.Commands) != 0 {
		t.Errorf("%+v", plan.Commands)
	}
}

// A node that pods move to is not disrupted by the same plan.
func TestNodesThatTakePodsStay(t *testing.T) {
	w := newWorld().pool("general")
	for i := range 12 {
		name := fmt.Sprintf("n%02d", i)
		w.node(name, "general").running("web"+name, name, 1+i%4)
	}
	plan := Plan(w.in)
	gone := given(plan, model.ReasonUnderutilized)
	if len(gone) < 5 {
		t.Errorf("only %v go; kept %+v", gone, plan.Kept)
	}
	for _, c := range plan.Commands {
		for _, m := range c.Moves {
			if slices.Contains(gone, m.Node) {
				t.Errorf("pods move to %s, which is given back", m.Node)
			}
		}
	}
}

// What does not depend on each other goes by commands of its own, so that one replacement that cannot be had undoes no other; where a
// plan may have fewer commands neighbors share one. Nodes whose pods go to the same others share their room, and a command.
func TestNodesThatDoNotDependOnEachOtherAreCommandsOfTheirOwn(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for most, want := range map[int]int{100: 5, 5: 5, 4: 4, 2: 2, 1: 1} {
		w := newWorld().pool("general")
		for _, name := range names {
			w.node(name, "general", sized("m5.4xlarge", model.OnDemand)).running("web-"+name, name, 1, cpu(2500))
			w.in.Snapshot.Shapes[len(w.in.Snapshot.Shapes)-1].NodeSelector = map[string]string{"for": name}
		}
		w = apart(w, names)
		w.in.Settings.MaxCommands = most
		plan := Plan(w.in)
		if len(plan.Commands) != want {
			t.Errorf("at most %d: %d commands, want %d; kept %+v", most, len(plan.Commands), want, plan.Kept)
		}
		wantGiven(t, plan, model.ReasonUnderutilized, names...)
		for _, c := range plan.Commands {
			if len(c.Replacements) != len(c.Nodes) {
				t.Errorf("at most %d: %d nodes for %d", most, len(c.Replacements), len(c.Nodes))
			}
		}
	}
	w := newWorld().pool("general")
	for _, name := range names {
		w.node(name, "general").running("web-"+name, name, 1, cpu(300))
	}
	if plan := Plan(w.in); len(plan.Commands) != 1 || len(plan.Commands[0].Nodes) != 4 {
		t.Errorf("whose pods share the room of one: %+v", plan.Commands)
	}
}

// apart has the pods of each of the nodes fit no other instance with room for those of another: each node is of a pool of its own.
func apart(w *world, names []string) *world {
	pools := w.in.Snapshot.Pools
	for i, name := range names {
		pool := pools[0]
		pool.Name, pool.UID = "for-"+name, "uid-for-"+name
		pool.Template.Labels = map[string]string{"for": name}
		w.in.Snapshot.Pools = append(w.in.Snapshot.Pools, pool)
		node := &w.in.Snapshot.Nodes[i]
		node.Labels[model.LabelNodePool], node.Labels["for"] = pool.Name, name
		w.in.Claims[i].Pool = pool.Name
	}
	return w
}

// K2: of the types a spot node may be replaced by as many are kept as minValues asks for, of types or of anything else that types have, where that is
// more than are asked for anyway.
func TestK2SpotToSpotKeepsAsManyTypesAsMinValuesAsksFor(t *testing.T) {
	for _, key := range []string{model.LabelInstanceType, "karpenter.k8s.aws/instance-cpu"} {
		w := newWorld().pool("general", buying(model.Spot), func(p *model.Pool) {
			p.Template.Requirements = append(p.Template.Requirements, model.Requirement{Key: key, Operator: model.Exists, MinValues: 2})
		}).node("big", "general", sized("m5.4xlarge", model.Spot)).running("web", "big", 2)
		w.in.Settings.SpotToSpot, w.in.Settings.SpotTypes = true, 1
		plan := Plan(w.in)
		wantGiven(t, plan, model.ReasonUnderutilized, "big")
		if len(plan.Commands) == 1 {
			if got := plan.Commands[0].Replacements[0].InstanceTypes; len(got) != 2 {
				t.Errorf("minValues of %s: of types %v, want the two cheapest", key, got)
			}
		}
	}
}

// Reserved capacity is paid in any case: pods of spot nodes go there, as far as it holds them, whether or not spot is replaced by spot.
func TestSpotMakesWayForReservedCapacity(t *testing.T) {
	for _, spotToSpot := range []bool{false, true} {
		spot := func(capacity int64) *world {
			w := newWorld().pool("general", buying(model.Spot, model.OnDemand, model.Reserved)).reserve(capacity)
			w.in.Settings.SpotToSpot = spotToSpot
			return w.node("big", "general", sized("m5.4xlarge", model.Spot)).running("web", "big", 5)
		}
		plan := Plan(spot(1).in)
		wantGiven(t, plan, model.ReasonUnderutilized, "big")
		if len(plan.Commands) == 1 {
			c := plan.Commands[0]
			if len(c.Replacements) != 1 || !slices.Equal(c.Replacements[0].CapacityTypes, []string{model.Reserved}) || c.Savings != 320_000 {
				t.Errorf("%+v", c)
			}
		}
		plan = Plan(spot(0).in)
		wantGiven(t, plan, model.ReasonUnderutilized)
		if got := kept(plan, "big"); !slices.Contains(got, SpotToSpot) {
			t.Errorf("kept for %v", got)
		}
	}
	w := newWorld().pool("general", buying(model.Spot, model.OnDemand, model.Reserved)).reserve(1)
	for _, name := range []string{"n1", "n2"} { // one instance holds the pods of one
		w.node(name, "general", sized("m5.xlarge", model.Spot)).running("web-"+name, name, 6)
	}
	plan := Plan(w.in)
	if got := given(plan, model.ReasonUnderutilized); len(got) != 1 || plan.PriceAfter != 80_000 {
		t.Errorf("%v go, and %d is what is left", got, plan.PriceAfter)
	}
}

// Nodes that are expensive whatever is on them and nodes that are half empty go together where their pods fit others: the pods of the former go to
// what is best kept, and not to what could go as well.
func TestPodsOfOverpricedNodesGoToWhatIsBestKept(t *testing.T) {
	w := newWorld().pool("general", buying(model.OnDemand, model.Spot)).
		node("a-dear", "general").running("web", "a-dear", 1).
		node("b-large", "general", sized("m5.4xlarge", model.Spot)).running("api", "b-large", 1).
		node("c-small", "general", sized("m5.xlarge", model.Spot)).running("db", "c-small", 1)
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized, "a-dear", "b-large")
	if plan.PriceAfter != 80_000 {
		t.Errorf("what is left costs %d", plan.PriceAfter)
	}
}
