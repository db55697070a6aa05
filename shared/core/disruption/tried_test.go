package disruption

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// undoneFor notes a command that did not get a type in either zone, and ended so many seconds ago.
func undoneFor(w *world, id, instanceType string, ago int64) {
	past(w, id, model.CommandUndone, testNow-ago, func(c *model.Command) {
		c.FailureCode = model.ReplacementFailed
		for _, zone := range []string{"a", "b"} {
			c.FailedOfferings = append(c.FailedOfferings, model.UnavailableOffering{OfferingKey: model.OfferingKey{InstanceType: instanceType, Zone: zone, CapacityType: model.OnDemand}})
		}
	})
}

// roomy is a world of nodes that are far too large for the few pods on each.
func roomy(pods int, names ...string) *world {
	w := newWorld().pool("general")
	for _, name := range names {
		w.node(name, "general", sized("m5.4xlarge", model.OnDemand)).running("web-"+name, name, pods)
	}
	return w
}

// cohort is a world of more nodes that are far too large than one command holds, each of one pod apart from those of all others.
func cohort() *world {
	var names []string
	for i := range model.MaxCommandNodes + 1 {
		names = append(names, fmt.Sprintf("n%02d", i))
	}
	w := roomy(1, names...)
	for i := range w.in.Snapshot.Shapes {
		shape := &w.in.Snapshot.Shapes[i]
		shape.Labels["alone"] = "yes"
		shape.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: &model.Selector{MatchLabels: map[string]string{"alone": "yes"}}}}
	}
	return w
}

// bought returns the types that a plan's replacements may be bought as.
func bought(plan model.DisruptPlan) []string {
	var out []string
	for _, c := range plan.Commands {
		for _, r := range c.Replacements {
			out = append(out, r.InstanceTypes...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// R39: what a command did not get is not tried again for another node at once, though its marks are forgotten: for half an hour, and
// for twice as long each time; what else there is may be bought meanwhile.
func TestR39FailedOfferingsAreLeftAloneForAllNodes(t *testing.T) {
	for _, c := range []struct {
		name  string
		ago   []int64 // when tries failed, in seconds
		tries bool
	}{
		{"never", nil, true},
		{"a moment ago", []int64{60}, false},
		{"half an hour ago", []int64{1800}, true},
		{"half an hour ago, the second time", []int64{9000, 1801}, false},
		{"an hour ago, the second time", []int64{9000, 3600}, true},
		{"four hours ago, the fifth time", []int64{50000, 40000, 30000, 20000, 14400}, false},
		{"eight hours ago, the fifth time", []int64{80000, 70000, 60000, 50000, 28800}, true},
	} {
		w := roomy(2, "n")
		for i, ago := range c.ago {
			undoneFor(w, string(rune('a'+i)), "m5.xlarge", ago)
		}
		got := bought(Plan(w.in))
		if slices.Contains(got, "m5.xlarge") != c.tries {
			t.Errorf("%s: buys %v", c.name, got)
		}
		if len(got) == 0 {
			t.Errorf("%s: nothing takes the place of what is too large", c.name)
		}
	}
}

// R39: where tries fail one after another, of whatever, the next is two hours later, and there is one at a time.
func TestR39TriesBecomeFewAndOneAtATime(t *testing.T) {
	spent := func(w *world) *world {
		for i, name := range []string{"m5.large", "m5.xlarge", "m5.2xlarge"} {
			undoneFor(w, "old-"+name, name, 40000-int64(i))
		}
		return w
	}
	w := spent(roomy(2, "n"))
	undoneFor(w, "new", "m5.2xlarge", 5000)
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized)
	if plan.ReplanUnix != testNow+2200 {
		t.Errorf("again at now%+d", plan.ReplanUnix-testNow)
	}
	w.in.Claims = append(w.in.Claims, model.Claim{Name: "other", Pool: "general", Class: "default", InstanceType: "m5.xlarge", Zone: "a", CapacityType: model.OnDemand,
		State: model.Launched, CreatedUnix: testNow - 100, LaunchedUnix: testNow - 100}) // somebody got one
	if got := bought(Plan(w.in)); !slices.Equal(got, []string{"m5.xlarge"}) {
		t.Errorf("buys %v once somebody got an m5.xlarge", got)
	}

	w = cohort()
	if both := Plan(w.in); len(both.Commands) < 2 {
		t.Fatalf("%d commands where nothing was tried: the test shows nothing; kept %+v", len(both.Commands), both.Kept)
	}
	plan = Plan(spent(w).in)
	if len(plan.Commands) != 1 {
		t.Errorf("%d commands try what came back dry at once", len(plan.Commands))
	}
	w.command("open", model.ReasonUnderutilized, model.CommandReplacing, plan.Commands[0].Nodes, func(c *model.Command) { c.Replacements = plan.Commands[0].Replacements })
	wantGiven(t, Plan(w.in), model.ReasonUnderutilized)
}

// R39: while tries fail, what nobody got since is tried by one command at a time too, though it was never asked for; once an instance
// of it was launched the others may go.
func TestR39WhileTriesFailUntriedOfferingsAreTriedOneAtATime(t *testing.T) {
	w := cohort()
	both := Plan(w.in)
	if len(both.Commands) < 2 {
		t.Fatalf("%d commands where nothing was tried: the test shows nothing; kept %+v", len(both.Commands), both.Kept)
	}
	undoneFor(w, "old", "m5.4xlarge", 40_000) // which none of them would be
	undoneFor(w, "older", "m5.4xlarge", 50_000)
	plan := Plan(w.in)
	if len(plan.Commands) != 1 {
		t.Fatalf("%d commands try what nobody has got lately", len(plan.Commands))
	}
	first := plan.Commands[0]
	w.command("open", model.ReasonUnderutilized, model.CommandReplacing, first.Nodes, func(c *model.Command) { c.Replacements = first.Replacements })
	plan = Plan(w.in)
	wantGiven(t, plan, model.ReasonUnderutilized)
	i := slices.IndexFunc(both.Commands, func(c model.PlannedCommand) bool { return !slices.Equal(c.Nodes, first.Nodes) })
	if got := kept(plan, both.Commands[i].Nodes[0]); !slices.Contains(got, TriedLately) {
		t.Errorf("it stays for %v", got)
	}
	for _, r := range first.Replacements {
		w.in.Claims = append(w.in.Claims, model.Claim{Name: r.Name, Pool: r.Pool, Class: r.Class, InstanceType: r.Offering.InstanceType, Zone: r.Offering.Zone,
			CapacityType: r.Offering.CapacityType, State: model.Launched, CreatedUnix: testNow - 60, LaunchedUnix: testNow - 60})
	}
	if got := given(Plan(w.in), model.ReasonUnderutilized); len(got) == 0 {
		t.Error("nothing more is given back once the first got what it asked for")
	}
}

// R39: what is remembered is what gave nothing since the command asked for it, of what that may be bought as.
func TestR39FailedIsWhatTheCommandRequested(t *testing.T) {
	c := model.Command{ReplacingUnix: testNow, Replacements: []model.PlannedClaim{{InstanceTypes: []string{"m5.large"}, Zones: []string{"a", "b"}, CapacityTypes: []string{model.Spot}}}}
	mark := func(instanceType, zone, kind string, at int64) model.UnavailableOffering {
		return model.UnavailableOffering{OfferingKey: model.OfferingKey{InstanceType: instanceType, Zone: zone, CapacityType: kind}, AtUnix: at, UntilUnix: at + 180, Failures: 3}
	}
	unavailableOfferings := []model.UnavailableOffering{
		mark("m5.large", "b", model.Spot, testNow+2), mark("m5.large", "a", model.Spot, testNow), mark("m5.large", "c", model.Spot, testNow+2), mark("m5.xlarge", "a", model.Spot, testNow+2),
		mark("m5.large", "a", model.OnDemand, testNow+2), mark("", "", model.Spot, testNow-1), mark("", "", model.Spot, testNow+1), {SubnetID: "subnet-a", AtUnix: testNow + 1},
	}
	want := []model.UnavailableOffering{unavailableOfferings[6].About(), unavailableOfferings[1].About(), unavailableOfferings[0].About()}
	if got := FailedOf(&c, unavailableOfferings, nil, nil, testNow+3); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	w := newWorld().pool("general") // what would be forgotten soon is noted once more; not what was tried since, or what somebody got
	undoneFor(w, "old", "m5.2xlarge", 50_000)
	undoneFor(w, "got", "m5.4xlarge", 50_000)
	undoneFor(w, "new", "m5.xlarge", 40_000)
	w.in.Claims = []model.Claim{{Name: "other", InstanceType: "m5.4xlarge", Zone: "a", CapacityType: model.OnDemand, LaunchedUnix: testNow - 100}}
	want = []model.UnavailableOffering{w.in.Commands[0].FailedOfferings[0], w.in.Commands[0].FailedOfferings[1], w.in.Commands[1].FailedOfferings[1], unavailableOfferings[0].About()}
	if got := FailedOf(&c, unavailableOfferings[:1], w.in.Commands, w.in.Claims, testNow+3); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := FailedOf(&c, nil, w.in.Commands, nil, testNow+3); got != nil {
		t.Errorf("%+v of a command that failed for something else", got)
	}
}

// R39: a node whose replacement was not available as spot is replaced by an on-demand one meanwhile, where that saves too: it does not wait
// for hours until nobody tries spot for it any more. Where instances on demand had no capacity as well it waits.
func TestR39WhatIsNotToBeHadAsSpotIsReplacedOnDemand(t *testing.T) {
	for _, c := range []struct {
		name   string
		failed []string // capacity types that had no capacity ten minutes ago, of every type and zone
		types  []string // of these only; nil = all
		other  string   // why another command for the node was undone a moment ago; empty = none was
		want   []string // capacity types of the replacement
	}{
		{"nothing was tried", nil, nil, "", []string{model.Spot}},
		{"spot is dry", []string{model.Spot}, nil, "", []string{model.OnDemand}},
		{"one type of spot is dry", []string{model.Spot}, []string{"m5.large"}, "", nil}, // in half an hour it is another
		{"all is dry", []string{model.Spot, model.OnDemand}, nil, "", nil},
		{"spot is dry, and something else is in the way", []string{model.Spot}, nil, "DisruptionBudget", nil},
	} {
		w := newWorld().pool("general", func(p *model.Pool) { p.Template.Requirements[0].Values = []string{model.OnDemand, model.Spot} })
		w.node("n", "general", sized("m5.4xlarge", model.OnDemand)).running("web", "n", 2)
		if c.failed != nil {
			failed := failedFor("c", testNow-720, "n")
			failed.Reason = model.ReasonUnderutilized
			for _, kind := range c.failed {
				for _, size := range testSizes {
					if c.types != nil && !slices.Contains(c.types, size.name) {
						continue
					}
					for _, zone := range []string{"a", "b"} {
						failed.FailedOfferings = append(failed.FailedOfferings, model.UnavailableOffering{OfferingKey: model.OfferingKey{InstanceType: size.name, Zone: zone, CapacityType: kind}})
					}
				}
			}
			w.in.Commands = append(w.in.Commands, failed)
		}
		if c.other != "" {
			w.in.Commands = append(w.in.Commands, model.Command{ID: "d", State: model.CommandUndone, FailureCode: c.other, EndedUnix: testNow - 30, Targets: []model.Target{{Claim: "claim-n"}}})
		}
		plan := Plan(w.in)
		var got []string
		for _, command := range plan.Commands {
			for _, r := range command.Replacements {
				got = append(got, r.CapacityTypes...)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: it is replaced by %v, want %v", c.name, got, c.want)
		}
		if reasons := kept(plan, "n"); len(c.want) == 0 && !slices.Contains(reasons, TriedLately) {
			t.Errorf("%s: it stays for %v", c.name, reasons)
		}
	}
}
