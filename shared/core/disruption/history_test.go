package disruption

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// past notes a command of an earlier plan as it was carried out: its nodes are gone, and inputs are as they are now
// unless said otherwise.
func past(w *world, id string, state model.CommandState, ended int64, changes ...func(*model.Command)) *model.Command {
	c := model.Command{ID: id, State: state, Reason: model.ReasonUnderutilized, SinceUnix: ended - 300, EndedUnix: ended,
		Targets: []model.Target{{Claim: "gone-" + id, Pool: "general", Class: "default", Node: "gone-" + id, InstanceType: "m5.xlarge", Zone: "a", CapacityType: model.OnDemand}}}
	for _, change := range changes {
		change(&c)
	}
	if c.Inputs == "" {
		v := newPlanner(&w.in, nil)
		c.Inputs = v.fork.inputsOf(&c)
	}
	w.in.Commands = append(w.in.Commands, c)
	return &w.in.Commands[len(w.in.Commands)-1]
}

func replacedBy(name, instanceType string) func(*model.Command) {
	return func(c *model.Command) {
		c.Replacements = []model.PlannedClaim{{Name: name, Pool: "general", Class: "default", InstanceTypes: []string{instanceType}, Zones: []string{"a"}, CapacityTypes: []string{model.OnDemand},
			Offering: model.OfferingKey{InstanceType: instanceType, Zone: "a", CapacityType: model.OnDemand}}}
	}
}

// R38: for half an hour nothing that was launched because of a command is disrupted again to save, unless what that was
// decided by has changed: neither its replacements, nor what was bought since for the pods it moved.
func TestR38WhatWasJustDecidedIsNotTurnedRound(t *testing.T) {
	moved := func(c *model.Command) { c.Workloads = []string{"default/ReplicaSet/db", "default/ReplicaSet/web"} }
	build := func(created int64) *world {
		return newWorld().pool("general").node("n", "general", func(_ *model.Node, c *model.Claim) { c.CreatedUnix = created }).running("web", "n", 1)
	}
	for name, c := range map[string]struct {
		build  func() *world
		blocks bool
	}{
		"its replacement": {func() *world {
			w := build(testNow - 400)
			past(w, "c", model.CommandDone, testNow-60, replacedBy("claim-n", "m5.xlarge"))
			return w
		}, true},
		"its replacement, half an hour ago": {func() *world {
			w := build(testNow - 400)
			past(w, "c", model.CommandDone, testNow-1800, replacedBy("claim-n", "m5.xlarge"))
			return w
		}, false},
		"its replacement, and a price has changed": {func() *world {
			w := build(testNow - 400)
			past(w, "c", model.CommandDone, testNow-60, replacedBy("claim-n", "m5.xlarge"))
			for i := range w.in.Catalogs["default"] {
				for j := range w.in.Catalogs["default"][i].Offerings {
					w.in.Catalogs["default"][i].Offerings[j].Price = w.in.Catalogs["default"][i].Offerings[j].Price * 12 / 10
				}
			}
			return w
		}, false},
		"its replacement, and the pool has changed": {func() *world {
			w := build(testNow - 400)
			past(w, "c", model.CommandDone, testNow-60, replacedBy("claim-n", "m5.xlarge"))
			w.in.Snapshot.Pools[0].Disruption.Policy = "WhenEmptyOrUnderutilized "
			return w
		}, false},
		"a replacement that stayed where the command was undone": {func() *world {
			w := build(testNow - 400)
			past(w, "c", model.CommandUndone, testNow-60, replacedBy("claim-n", "m5.xlarge"))
			return w
		}, false},
		"bought since, for the same pods": {func() *world {
			w := build(testNow - 30)
			past(w, "c", model.CommandDone, testNow-60, moved)
			return w
		}, true},
		"bought since, for others": {func() *world {
			w := build(testNow-30).running("other", "n", 1)
			past(w, "c", model.CommandDone, testNow-60, moved)
			return w
		}, false},
		"bought before": {func() *world {
			w := build(testNow - 4000)
			past(w, "c", model.CommandDone, testNow-60, moved)
			return w
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.build()
			if c.blocks {
				wantKept(t, w, "n", RevertsRecent)
				if again := Plan(w.in).ReplanUnix; again != testNow+1740 {
					t.Errorf("again at now%+d", again-testNow)
				}
			} else {
				wantCandidate(t, w, "n", model.ReasonUnderutilized)
			}
		})
	}
	w := build(testNow - 400) // what is empty is empty
	w.in.Snapshot.Pods = nil
	past(w, "c", model.CommandDone, testNow-60, replacedBy("claim-n", "m5.xlarge"))
	wantCandidate(t, w, "n", model.ReasonEmpty)
}

// B5: as long as a command is on its way its replacement is not disrupted, though nothing runs there yet, whatever has
// changed; one that stays where the command is undone is.
func TestB5ReplacementOfAnOpenCommandIsKept(t *testing.T) {
	for state, kept := range map[model.CommandState]bool{model.CommandReplacing: true, model.CommandUndoing: false, model.CommandUndone: false} {
		w := newWorld().pool("general").node("n", "general")
		w.in.Commands = []model.Command{{ID: "c", State: state, Reason: model.ReasonDrifted, SinceUnix: testNow - 60, Inputs: "others", Replacements: []model.PlannedClaim{{Name: "claim-n"}}}}
		if kept {
			wantKept(t, w, "n", InCommand)
		} else {
			wantCandidate(t, w, "n", model.ReasonEmpty)
		}
	}
}

// S28: what was disrupted is not bought again for the pods that were moved away from it, while nothing has changed.
func TestS28NothingIsBoughtAgainThatWasJustGivenBack(t *testing.T) {
	w := newWorld().pool("general")
	past(w, "c", model.CommandDone, testNow-60, func(c *model.Command) { c.Workloads = []string{"default/ReplicaSet/web"} })
	v := newPlanner(&w.in, nil)
	build := func(instanceType, owner string) *model.PlannedCommand {
		return &model.PlannedCommand{Reason: model.ReasonUnderutilized, Workloads: []string{"default/ReplicaSet/other", "default/ReplicaSet/" + owner},
			Replacements: []model.PlannedClaim{{Pool: "general", Class: "default", Offering: model.OfferingKey{InstanceType: instanceType, Zone: "a", CapacityType: model.OnDemand}}}}
	}
	if reason, _ := v.history.reverts(build("m5.xlarge", "web")); reason == nil || reason.Code != RevertsRecent {
		t.Errorf("the same again: %+v", reason)
	}
	for _, c := range []*model.PlannedCommand{build("m5.large", "web"), build("m5.xlarge", "db")} {
		if reason, _ := v.history.reverts(c); reason != nil {
			t.Errorf("%+v: %+v", c, reason)
		}
	}
	w.in.NowUnix += 1800
	v = newPlanner(&w.in, nil)
	if reason, _ := v.history.reverts(build("m5.xlarge", "web")); reason != nil {
		t.Errorf("later: %+v", reason)
	}
}

// R39: a node whose replacement did not come is not replaced for half an hour, then for twice as long each time: where
// a type is out of stock for good there are few tries in a day and, as none comes to anything, no change.
func TestR39WhatFailedIsTriedAgainEverMoreSeldom(t *testing.T) {
	w := newWorld().pool("general").node("n", "general", sized("m5.4xlarge", model.OnDemand)).running("web", "n", 1)
	tries, now := 0, int64(testNow)
	for now < testNow+86_400 {
		w.in.NowUnix = now
		plan := Plan(w.in)
		if len(plan.Commands) > 0 {
			if len(plan.Commands[0].Replacements) != 1 {
				t.Fatalf("%+v", plan.Commands)
			}
			tries++
			w.in.Commands = append(w.in.Commands, failedFor(fmt.Sprintf("c%d", tries), now, "n"))
			now += 120
			continue
		}
		wantPlanKeeps(t, &plan, "n", TriedLately)
		if plan.ReplanUnix <= now {
			t.Fatalf("again at %d, now %d", plan.ReplanUnix, now)
		}
		now = plan.ReplanUnix
	}
	if tries < 2 || tries > 8 {
		t.Errorf("%d tries in a day", tries)
	}
	w.in.NowUnix, w.in.Commands = testNow, []model.Command{{ID: "c", State: model.CommandUndone, FailureCode: "DisruptionBudget", EndedUnix: testNow - 59, Targets: []model.Target{{Claim: "claim-n"}}}}
	wantKept(t, w, "n", TriedLately)
	w.in.NowUnix++
	wantCandidate(t, w, "n", model.ReasonUnderutilized)
}

// failedFor is a command to replace a node, which was undone two minutes later because its replacement failed.
func failedFor(id string, since int64, node string) model.Command {
	return model.Command{ID: id, State: model.CommandUndone, FailureCode: model.ReplacementFailed, SinceUnix: since, EndedUnix: since + 120, Targets: []model.Target{{Claim: "claim-" + node}}}
}

// wantPlanKeeps fails the test unless a plan keeps the node for exactly these reasons.
func wantPlanKeeps(t *testing.T, plan *model.DisruptPlan, node string, want ...string) {
	t.Helper()
	for _, kept := range plan.Kept {
		if kept.Node != node {
			continue
		}
		var codes []string
		for _, r := range kept.Reasons {
			codes = append(codes, r.Code)
		}
		if !slices.Equal(codes, want) {
			t.Errorf("%s is kept for %v, want %v", node, codes, want)
		}
		return
	}
	t.Errorf("%s is not kept: %+v", node, plan.Commands)
}

// R39: that replacements failed says nothing of whether a node is needed. While no other is tried, it goes where its
// pods fit the room there is, or where it has none left, for whichever reason; a node whose pods fit nowhere stays.
func TestR39NodesWhoseReplacementsFailedGoWithoutAny(t *testing.T) {
	drifted := func(_ *model.Node, c *model.Claim) { c.Drift, c.DriftUnix = "NodePoolDrifted", testNow-60 }
	for name, c := range map[string]struct {
		build  func() *world
		reason string // empty = it stays
	}{
		"no room elsewhere": {func() *world {
			return newWorld().pool("general").node("n", "general", sized("m5.4xlarge", model.OnDemand)).running("web", "n", 1)
		}, ""},
		"room elsewhere": {func() *world {
			return newWorld().pool("general").node("m", "general").running("db", "m", 5).node("n", "general").running("web", "n", 1)
		}, model.ReasonUnderutilized},
		"empty by now": {func() *world { return newWorld().pool("general").node("n", "general") }, model.ReasonEmpty},
		"drifted, room elsewhere": {func() *world {
			return newWorld().pool("general").node("m", "general").running("db", "m", 5).node("n", "general", drifted).running("web", "n", 1)
		}, model.ReasonDrifted},
		"drifted, no room": {func() *world { return newWorld().pool("general").node("n", "general", drifted).running("web", "n", 5) }, ""},
		"drifted, of a fixed size": {func() *world {
			return newWorld().pool("general", func(p *model.Pool) { p.Replicas = new(int64(1)) }).node("n", "general", drifted)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.build()
			w.in.Commands = []model.Command{failedFor("c", testNow-180, "n")}
			plan := Plan(w.in)
			if c.reason == "" {
				if len(plan.Commands) > 0 {
					t.Fatalf("%+v", plan.Commands)
				}
				wantPlanKeeps(t, &plan, "n", TriedLately)
				w.in.NowUnix = plan.ReplanUnix
				plan = Plan(w.in)
				if len(plan.Commands) != 1 || len(plan.Commands[0].Replacements) != 1 {
					t.Errorf("half an hour later: %+v", plan.Commands)
				}
				return
			}
			if len(plan.Commands) != 1 || plan.Commands[0].Reason != c.reason || len(plan.Commands[0].Replacements) > 0 || !slices.Equal(plan.Commands[0].Nodes, []string{"n"}) {
				t.Errorf("%+v, kept %+v", plan.Commands, plan.Kept)
			}
		})
	}
}

// D9: once the replacements of three of a class's latest five commands failed, nothing of it is disrupted for half an
// hour; other classes' nodes are.
func TestD9BreakerOfAClass(t *testing.T) {
	outcomes := func(pattern string) *world { // latest last: x failed, . succeeded, o was undone for another reason, _ had no replacement, u is being undone
		w := newWorld().pool("general").node("n", "general").pool("other", func(p *model.Pool) { p.Template.ClassName = "other" }).
			node("o", "other", func(_ *model.Node, c *model.Claim) { c.Class = "other" })
		w.in.Catalogs["other"] = w.in.Catalogs["default"]
		for i, outcome := range pattern {
			c := model.Command{ID: fmt.Sprintf("c%d", i), State: model.CommandUndone, EndedUnix: testNow - int64(10*(len(pattern)-i)), Targets: []model.Target{{Claim: "gone"}}}
			replacedBy("r", "m5.large")(&c)
			switch outcome {
			case 'x':
				c.FailureCode = model.ReplacementFailed
			case 'o':
				c.FailureCode = "DisruptionBudget"
			case '.':
				c.State = model.CommandDone
			case '_':
				c.State, c.Replacements = model.CommandDone, nil
			case 'u':
				c.State, c.FailureCode, c.EndedUnix = model.CommandUndoing, model.ReplacementFailed, 0
			}
			w.in.Commands = append(w.in.Commands, c)
		}
		return w
	}
	for pattern, open := range map[string]bool{"": false, "xx": false, "xxx": true, "xx.": false, "x.x.x": true, "xxx..": true, "xxx...": false, ".x.x.x": true, "xoxox": true,
		"xx__x": true, "xxx____": true, "xxu": true} {
		w := outcomes(pattern)
		if open {
			wantKept(t, w, "n", Breaker)
		} else {
			wantCandidate(t, w, "n", model.ReasonEmpty)
		}
		wantCandidate(t, w, "o", model.ReasonEmpty)
	}
	w := outcomes("xxx")
	if again := Plan(w.in).ReplanUnix; again != testNow-10+1800 {
		t.Errorf("again at now%+d", again-testNow)
	}
	w.in.NowUnix = testNow - 10 + 1800
	wantCandidate(t, w, "n", model.ReasonEmpty)
}

func TestWorkloadsAndInputsOfACommand(t *testing.T) {
	w := newWorld().pool("general").node("n", "general").running("web", "n", 3).running("db", "n", 1, func(s *model.PodShape) { s.OwnerKind = "StatefulSet" }).
		running("bare", "n", 2, func(s *model.PodShape) { s.OwnerKind, s.OwnerName = "", "" }).running("agent", "n", 1, func(s *model.PodShape) { s.OwnerKind = "DaemonSet" })
	v := newPlanner(&w.in, nil)
	command := v.fork.command(model.ReasonDrifted, []*poolNode{v.fork.byName["n"]}, outcome{})
	if want := []string{"default/Pod/bare-n-0", "default/Pod/bare-n-1", "default/ReplicaSet/web", "default/StatefulSet/db"}; !slices.Equal(command.Workloads, want) {
		t.Errorf("%v", command.Workloads)
	}
	target := model.Target{Pool: "general", Class: "default", InstanceType: "m5.xlarge", Zone: "a", CapacityType: model.OnDemand}
	if got := v.fork.inputsOf(&model.Command{Targets: []model.Target{target}}); got != command.Inputs || got == "" {
		t.Errorf("as a command remembers it %s, as it was planned %s", got, command.Inputs)
	}
	for price, want := range map[model.MicroUSD]model.MicroUSD{0: 0, 7: 7, 99: 99, 100: 100, 129: 120, 199_999: 190_000, 200_000: 200_000} {
		if got := roughly(price); got != want {
			t.Errorf("%d: %d", price, got)
		}
	}
}
