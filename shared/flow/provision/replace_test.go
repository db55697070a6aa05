package provision_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// evaluating is the disruption function, as far as its commands go.
type evaluating struct {
	t     *testing.T
	w     *world.World
	fence model.Fence
	ids   int
}

func evaluate(t *testing.T, w *world.World) *evaluating {
	t.Helper()
	fence, err := w.Ledger.AcquireLease(t.Context(), world.Name, model.LeaseDisrupt, "judge", w.Clock.Now().Unix(), w.Clock.Now().Add(time.Hour).Unix())
	if err != nil {
		t.Fatal(err)
	}
	return &evaluating{t: t, w: w, fence: fence}
}

// commit disrupts a claim's node, with replacements, and brings the command to a state.
func (j *evaluating) commit(state model.CommandState, claim model.Claim, replacements ...model.PlannedClaim) model.Command {
	j.t.Helper()
	j.ids++
	command := model.Command{
		ID: fmt.Sprintf("command-%d", j.ids), Version: 1, State: model.CommandCommitted, Reason: model.ReasonDrifted, Replacements: replacements, SinceUnix: j.w.Clock.Now().Unix(),
		Targets: []model.Target{{Claim: claim.Name, Pool: claim.Pool, Class: claim.Class, Node: claim.NodeName, NodeUID: claim.NodeUID, Price: claim.Price}},
	}
	budgetVersion := model.BudgetVersion{Pool: claim.Pool}
	for _, known := range load(j.t, j.w).BudgetVersions {
		if known.Pool == claim.Pool {
			budgetVersion = known
		}
	}
	if err := j.w.Ledger.Commit(j.t.Context(), j.fence, command, []model.Claim{claim}, []model.BudgetVersion{budgetVersion}); err != nil {
		j.t.Fatal(err)
	}
	return j.step(command, state)
}

func (j *evaluating) step(command model.Command, state model.CommandState) model.Command {
	j.t.Helper()
	if command.State == state {
		return command
	}
	command.State = state
	command, err := j.w.Ledger.AdvanceCommand(j.t.Context(), j.fence, command)
	if err != nil {
		j.t.Fatal(err)
	}
	return command
}

// end ends a command: its claim is to end, or goes on.
func (j *evaluating) end(command model.Command, state model.CommandState) model.Claim {
	j.t.Helper()
	claim := named(j.t, j.w, command.Targets[0].Claim)
	if state == model.CommandDone {
		claim.State, claim.FailureCode, claim.Drain = model.Draining, command.Reason, &model.Drain{SinceUnix: j.w.Clock.Now().Unix()}
	} else {
		claim.Command = ""
	}
	command.State, command.EndedUnix = state, j.w.Clock.Now().Unix()
	if _, err := j.w.Ledger.End(j.t.Context(), j.fence, command, []model.Claim{claim}); err != nil {
		j.t.Fatal(err)
	}
	return named(j.t, j.w, claim.Name)
}

// named returns the ledger's live claim of a name.
func named(t *testing.T, w *world.World, name string) model.Claim {
	t.Helper()
	for _, claim := range load(t, w).Claims {
		if claim.Name == name {
			return claim
		}
	}
	t.Fatalf("no claim %s\n%s", name, claimsText(t, w))
	return model.Claim{}
}

// taint puts the taint of nodes that are disrupted on a claim's node, or takes it off.
func taint(t *testing.T, w *world.World, claim model.Claim, on bool) {
	t.Helper()
	patch := model.NodePatch{Name: claim.NodeName, UID: claim.NodeUID}
	disrupted := []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	if on {
		patch.AddTaints = disrupted
	} else {
		patch.RemoveTaints = disrupted
	}
	if err := w.Cluster.PatchNode(t.Context(), patch); err != nil {
		t.Fatal(err)
	}
}

// deployed is a world whose replicas run on one instance, with that instance's claim and the plan it was launched by.
func deployed(t *testing.T, replicas int, shape model.PodShape, types ...string) (*world.World, model.Claim, model.PlannedClaim) {
	t.Helper()
	w := start(t, world.Options{Types: append([]string{"m5.large"}, types...)})
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "web", Shape: shape, Replicas: replicas})
	w.Tick(5 * time.Second)
	outcome := pass(t, w, provision.TriggerBatch)
	settle(t, w)
	decision, kept := w.Store.Decision(outcome.Decision)
	if !kept || len(decision.Rounds) != 1 || len(decision.Rounds[0].Plan.Claims) != 1 {
		t.Fatalf("decision %+v", decision)
	}
	planned := decision.Rounds[0].Plan.Claims[0]
	planned.Pods = nil
	for _, pod := range pods(t, w) {
		planned.Pods = append(planned.Pods, model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID})
	}
	return w, onlyClaim(t, w), planned
}

func called(planned model.PlannedClaim, name string) model.PlannedClaim {
	planned.Name = name
	return planned
}

// B5, S28: the pods of a node that an open command has ask for nothing: neither before its taint is seen nor after it, whatever the
// command's state, nor while it is undone and the taint is there still.
func TestB5PodsOfACommandsNodeAskForNothing(t *testing.T) {
	for _, tainted := range []bool{false, true} {
		for _, state := range []model.CommandState{model.CommandCommitted, model.CommandReplacing, model.CommandUndoing, model.CommandUndone} {
			w, claim, _ := deployed(t, 2, world.Shape(800, gib))
			j := evaluate(t, w)
			if state == model.CommandUndone {
				j.end(j.commit(model.CommandUndoing, claim), state)
			} else {
				j.commit(state, claim)
			}
			taint(t, w, claim, tainted)
			for range 3 {
				if outcome := pass(t, w, provision.TriggerResync); outcome.Pending != 0 || outcome.Claims != 0 {
					t.Errorf("tainted %v, command %s: %+v", tainted, state, outcome)
				}
				w.Tick(20 * time.Second)
			}
			if node := onlyNode(t, w); hasKey(node.Taints, model.TaintDisrupted) != tainted {
				t.Errorf("tainted %v, command %s: the node itself was changed: %v", tainted, state, node.Taints)
			}
		}
	}
}

// B5: nothing is planned onto a node that a command has, seen tainted or not; once it is undone and the taint is off it is capacity
// again.
func TestB5CommandsNodeTakesNoPodsAndIsCapacityAgainOnceUndone(t *testing.T) {
	for _, state := range []model.CommandState{model.CommandCommitted, model.CommandReplacing, model.CommandUndoing, model.CommandUndone} {
		w, claim, _ := deployed(t, 1, world.Shape(500, gib))
		j := evaluate(t, w)
		if state == model.CommandUndone {
			j.end(j.commit(model.CommandUndoing, claim), state)
		} else {
			j.commit(state, claim)
		}
		w.Cluster.AddPods("more", 1, world.Shape(600, gib)) // it would fit beside the other
		snapshot, err := w.Cluster.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range snapshot.Pods { // kube-scheduler looked before the room was there
			snapshot.Pods[i].Unschedulable = snapshot.Pods[i].NodeName == ""
		}
		check := func() provision.Outcome {
			flow := w.Process(world.Fault{}).Flow()
			flow.Connector = oldSnapshot{flow.Connector, snapshot}
			outcome, err := flow.Run(t.Context(), provision.Request{Cluster: world.Name, Owner: "a", Trigger: provision.TriggerBatch, Deadline: w.Clock.Now().Add(30 * time.Second)})
			if err != nil {
				t.Fatal(err)
			}
			return outcome
		}
		if state == model.CommandUndoing || state == model.CommandUndone {
			if outcome := check(); outcome.Claims != 0 || outcome.Nominated != 1 {
				t.Errorf("%s: %+v, want the new pod beside the other", state, outcome)
			}
			continue
		}
		if outcome := check(); outcome.Claims != 1 || outcome.Nominated != 0 {
			t.Errorf("%s: %+v, want a machine for the new pod", state, outcome)
		}
		snapshot.Nodes[0].Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
		if outcome := check(); outcome.Claims != 0 || outcome.Nominated != 1 {
			t.Errorf("%s, tainted: %+v, want the new pod on the machine that is on its way", state, outcome)
		}
	}
}

// R43, B5: a replacement is launched under exactly its name, once however often somebody looks, and only while its command waits for
// it; what it replaces stays as it is.
func TestR43ReplacementIsLaunchedOnceUnderItsName(t *testing.T) {
	w, old, planned := deployed(t, 2, world.Shape(800, gib))
	j := evaluate(t, w)
	command := j.commit(model.CommandCommitted, old, called(planned, "default-replacement"))
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 {
		t.Fatalf("before the command was looked at again: %+v", outcome)
	}
	command = j.step(command, model.CommandReplacing)
	taint(t, w, old, true)
	if outcome := pass(t, w, provision.TriggerReplace); outcome.Claims != 1 || outcome.Pending != 0 || outcome.Decision == "" {
		t.Fatalf("%+v, want the replacement", outcome)
	}
	for range 6 {
		w.Tick(20 * time.Second)
		if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 {
			t.Fatalf("once more: %+v", outcome)
		}
	}
	replacement := named(t, w, "default-replacement")
	if replacement.State != model.Initialized || replacement.InstanceType != "m5.large" || replacement.ObjectUID == "" || len(replacement.Pods) != 2 {
		t.Errorf("%+v", replacement)
	}
	if claim := named(t, w, old.Name); claim.State != model.Initialized || claim.Command != command.ID {
		t.Errorf("what is replaced: %+v", claim)
	}
	for _, pod := range replacement.Pods {
		for _, event := range w.Cluster.Events("Pod", pod.Key()) {
			if strings.Contains(event.Message, "default-replacement") {
				t.Errorf("a pod that runs was told of a place it does not wait for: %s", event.Message)
			}
		}
	}
	sound(t, w)
}

// R43: whatever effect a process dies at, or fails at, in the end there is exactly one instance of that name, or the replacement has
// failed and is not asked for again; at no time are there two.
func TestR43ReplacementKilledAtEveryEffectIsLaunchedOnce(t *testing.T) {
	for _, mode := range world.Modes {
		for at := 1; ; at++ {
			w, old, planned := deployed(t, 1, world.Shape(1500, gib))
			evaluate(t, w).commit(model.CommandReplacing, old, called(planned, "default-replacement"))
			process := w.Process(world.Fault{At: at, Mode: mode})
			_, _ = process.Run(t.Context(), provision.TriggerReplace)
			if len(process.Effects()) < at {
				break
			}
			for range 10 {
				w.Tick(30 * time.Second)
				_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
				if n := len(w.Fleet.Instances()); n > 2 {
					t.Fatalf("%s at effect %d (%v): %d machines", mode, at, process.Effects(), n)
				}
			}
			if claim := named(t, w, "default-replacement"); claim.State != model.Initialized || len(w.Fleet.Instances()) != 2 {
				t.Errorf("%s at effect %d (%v): it is %s, and there are %d machines", mode, at, process.Effects(), claim.State, len(w.Fleet.Instances()))
			}
			sound(t, w)
		}
	}
}

// F7: a replacement that limits taken by others leave no room for is noted, with why, and the disruption function is asked to look; the note goes with
// what was in the way.
func TestF7ReplacementBeyondLimitsIsHintedToDisruption(t *testing.T) {
	w, old, planned := deployed(t, 1, world.Shape(1500, gib))
	evaluate(t, w).commit(model.CommandReplacing, old, called(planned, "default-replacement"))
	pool := world.Pool("default", "default")
	pool.Limits = model.Resources{model.Nodes: 1} // after the plan, and before the launch
	w.Cluster.AddPool(pool)
	w.Tick(time.Second)
	before := w.DisruptHints.Len()
	pass(t, w, provision.TriggerReplace)
	unfit := load(t, w).Notes.Unfit
	if len(unfit) != 1 || unfit[0].Name != "default-replacement" || !strings.Contains(unfit[0].Why, "spec.limits[nodes]") {
		t.Errorf("noted %+v", unfit)
	}
	if w.DisruptHints.Len() == before {
		t.Error("the judge was not asked to look")
	}
	pool.Limits = nil
	w.Cluster.AddPool(pool)
	w.Tick(time.Second)
	pass(t, w, provision.TriggerReplace)
	if unfit := load(t, w).Notes.Unfit; len(unfit) != 0 || len(w.Fleet.Instances()) != 2 {
		t.Errorf("noted still %+v; %d machines", unfit, len(w.Fleet.Instances()))
	}
}

// D14: replacements count against limits as everything does: what limits leave no room for waits, whoever asks for it and however
// many do at once.
func TestD14ReplacementsNeverPassLimits(t *testing.T) {
	w, old, planned := deployed(t, 1, world.Shape(1500, gib))
	pool := world.Pool("default", "default")
	pool.Limits = model.Resources{model.Nodes: 3}
	w.Cluster.AddPool(pool)
	var replacements []model.PlannedClaim
	for i := range 6 {
		replacements = append(replacements, called(planned, fmt.Sprintf("default-r%d", i)))
	}
	evaluate(t, w).commit(model.CommandReplacing, old, replacements...)
	pending(w, "more", 3, world.Shape(1500, gib))
	for range 5 {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() { _, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerReplace) })
		}
		group.Wait()
		w.Tick(30 * time.Second)
		if held, _ := w.Ledger.Held("default"); held[model.Nodes] > 3 {
			t.Fatalf("the pool holds %v", held)
		}
	}
	if n, _ := running(t, w); n != 3 {
		t.Errorf("%d machines, want as many as the limit", n)
	}
	sound(t, w)
}

// R43: a replacement that gave no instance has failed: it is not asked for again under its name, the disruption function is notified at once, and the
// ledger shows it as long as the command is open.
func TestR43FailedReplacementIsNotRequestedAgainAndDisruptionIsHinted(t *testing.T) {
	w, old, planned := deployed(t, 1, world.Shape(1500, gib))
	j := evaluate(t, w)
	command := j.commit(model.CommandReplacing, old, called(planned, "default-replacement"))
	w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity")
	reported := &disruptHints{}
	for range 4 {
		flow := w.Process(world.Fault{}).Flow()
		flow.RequestDisruption = reported.RequestDisruption
		outcome, err := flow.Run(t.Context(), provision.Request{
			Cluster: world.Name, Owner: fmt.Sprintf("a%d", len(reported.keys)), Trigger: provision.TriggerReplace, Deadline: w.Clock.Now().Add(30 * time.Second),
		})
		if err != nil || outcome.Claims != 0 {
			t.Fatalf("%+v %v", outcome, err)
		}
		w.Tick(time.Minute)
	}
	ledger := load(t, w)
	if len(ledger.Spent) != 1 || ledger.Spent[0].Name != "default-replacement" || ledger.Spent[0].FailureCode == "" || len(ledger.Claims) != 1 {
		t.Errorf("spent %+v, live %s", ledger.Spent, claimsText(t, w))
	}
	if len(reported.keys) != 1 {
		t.Errorf("the judge was told %v of command %s, want once", reported.keys, command.ID)
	}
}

// R39: what an earlier command did not get is asked for first, and so is what was never tried but has in common with all of that what it
// has in common itself. Nothing else is bought for the command where it is not available this time either; where it is, the rest follows
// in the same run.
func TestR39WhatWasNotToBeHadIsAskedForFirst(t *testing.T) {
	xlarge := model.OfferingKey{InstanceType: "m5.xlarge", CapacityType: model.OnDemand}
	spot := func(name string) model.OfferingKey {
		return model.OfferingKey{InstanceType: name, CapacityType: model.Spot}
	}
	for name, c := range map[string]struct {
		insufficient []model.OfferingKey // that an earlier command did not get
		doubtful     model.OfferingKey
		broken       model.OfferingKey
	}{
		"what was tried":       {[]model.OfferingKey{{InstanceType: "m5.xlarge"}}, xlarge, model.OfferingKey{InstanceType: "m5.xlarge"}},
		"of what is all dry":   {[]model.OfferingKey{spot("c5.large"), spot("c5.xlarge")}, spot("m5.xlarge"), model.OfferingKey{CapacityType: model.Spot}},
		"of a zone that is so": {[]model.OfferingKey{{InstanceType: "c5.large", Zone: "us-west-2b"}, {InstanceType: "c5.xlarge", Zone: "us-west-2b"}}, model.OfferingKey{InstanceType: "m5.xlarge", Zone: "us-west-2b", CapacityType: model.OnDemand}, model.OfferingKey{Zone: "us-west-2b"}},
	} {
		for _, insufficient := range []bool{true, false} {
			w, old, planned := deployed(t, 2, world.Shape(800, gib), "m5.xlarge")
			of := func(name string, key model.OfferingKey) model.PlannedClaim {
				key.Zone = cmp.Or(key.Zone, "us-west-2a")
				p := called(planned, name)
				p.InstanceTypes, p.Zones, p.CapacityTypes, p.Offering = []string{key.InstanceType}, []string{key.Zone}, []string{key.CapacityType}, key
				p.Price, p.Requirements = 200_000, slices.Clone(p.Requirements)
				for i := range p.Requirements {
					switch p.Requirements[i].Key {
					case model.LabelInstanceType:
						p.Requirements[i].Values = p.InstanceTypes
					case model.LabelZone:
						p.Requirements[i].Values = p.Zones
					case model.LabelCapacityType:
						p.Requirements[i].Values = p.CapacityTypes
					}
				}
				return p
			}
			j := evaluate(t, w)
			undone := j.commit(model.CommandUndoing, old)
			undone.FailureCode = model.ReplacementFailed
			for _, key := range c.insufficient {
				undone.FailedOfferings = append(undone.FailedOfferings, model.UnavailableOffering{OfferingKey: key})
			}
			old = j.end(undone, model.CommandUndone)
			if insufficient {
				w.Fleet.Break(c.broken, "InsufficientInstanceCapacity")
			}
			j.commit(model.CommandReplacing, old, of("default-sure", model.OfferingKey{InstanceType: "m5.large", CapacityType: model.OnDemand}), of("default-doubtful", c.doubtful))
			bought := 0
			for range 3 {
				bought += pass(t, w, provision.TriggerReplace).Claims
				w.Tick(time.Minute)
			}
			if want := map[bool]int{true: 0, false: 2}[insufficient]; bought != want {
				t.Errorf("%s, not to be had %v: %d machines, want %d", name, insufficient, bought, want)
			}
			sound(t, w)
		}
	}
}

// disruptHints notes what the disruption function is notified, if that is a hint at all.
type disruptHints struct{ keys []string }

func (j *disruptHints) RequestDisruption(_ context.Context, cluster, key string) error {
	if _, err := wire.EncodeHint(wire.Hint{Cluster: cluster, Reason: wire.ReasonDisrupt, Tick: key}); err != nil {
		return err
	}
	j.keys = append(j.keys, key)
	return nil
}

// B4: the disruption function is notified when a replacement is ready, once, and of nobody else's instances.
func TestB4DisruptionIsHintedWhenAReplacementIsReady(t *testing.T) {
	w, old, planned := deployed(t, 1, world.Shape(1500, gib))
	command := evaluate(t, w).commit(model.CommandReplacing, old, called(planned, "default-replacement"))
	pending(w, "more", 1, world.Shape(1500, gib))
	reported := &disruptHints{}
	ready := false
	for i := range 12 {
		flow := w.Process(world.Fault{}).Flow()
		flow.RequestDisruption = reported.RequestDisruption
		before := len(reported.keys)
		if _, err := flow.Run(t.Context(), provision.Request{Cluster: world.Name, Owner: fmt.Sprintf("a%d", i), Trigger: provision.TriggerResync, Deadline: w.Clock.Now().Add(30 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		was := ready
		ready = named(t, w, "default-replacement").State == model.Initialized
		if n := len(reported.keys) - before; (ready && !was) != (n == 1) || n > 1 {
			t.Errorf("run %d: ready %v, before %v, and told %v", i, ready, was, reported.keys)
		}
		w.Tick(15 * time.Second)
	}
	if !allInitialized(t, w) || len(reported.keys) != 1 {
		t.Errorf("told %v of command %s\n%s", reported.keys, command.ID, claimsText(t, w))
	}
}

// S28, B5, B11: from the command to the end of what it disrupts, what it removes is not bought again: its pods find the instance
// that was launched for them, though others came in between and would have fit there.
func TestS28WhatACommandRemovesIsNotBoughtAgain(t *testing.T) {
	w, old, planned := deployed(t, 2, world.Shape(800, gib))
	j := evaluate(t, w)
	command := j.commit(model.CommandReplacing, old, called(planned, "default-replacement"))
	taint(t, w, old, true)
	pass(t, w, provision.TriggerReplace)
	tight := world.Shape(600, gib)
	tight.Labels = map[string]string{"app": "late"}
	w.Cluster.AddPods("late", 1, tight)
	w.Tick(time.Second)
	if outcome := pass(t, w, provision.TriggerBatch); outcome.Claims != 1 || outcome.Nominated != 0 {
		t.Fatalf("a pod that came in between: %+v, want a machine of its own", outcome)
	}
	settle(t, w)
	if n := len(claimNames(t, w)); n != 3 {
		t.Fatalf("%d claims:\n%s", n, claimsText(t, w))
	}
	old = j.end(command, model.CommandDone)
	for _, pod := range pods(t, w) {
		if pod.NodeName != old.NodeName {
			continue
		}
		if outcome := pass(t, w, provision.TriggerDrain); outcome.Claims != 0 {
			t.Fatalf("bought again: %+v", outcome)
		}
		if err := w.Cluster.Evict(t.Context(), model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, nil); err != nil {
			t.Fatal(err)
		}
		w.Tick(5 * time.Second)
	}
	for range 5 {
		if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 {
			t.Fatalf("bought again: %+v", outcome)
		}
		w.Tick(time.Minute)
	}
	for _, pod := range pods(t, w) {
		if pod.NodeName == "" || pod.NodeName == old.NodeName && pod.DeletedUnix == 0 {
			t.Errorf("pod %s is on %q", pod.Name, pod.NodeName)
		}
	}
}

// A replacement is not launched where it would not be what was planned, or where people have stopped that; others are, and the run
// says why it waits.
func TestReplacementWaitsWithAReason(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world.World, *model.PlannedClaim)
		want   string
	}{
		"pool gone":     {func(_ *world.World, p *model.PlannedClaim) { p.Pool = "gone" }, "NodePool gone does not exist"},
		"another class": {func(_ *world.World, p *model.PlannedClaim) { p.Class = "old" }, "uses EC2NodeClass default now, not old"},
		"stopped":       {func(w *world.World, _ *model.PlannedClaim) { stop(t, w, model.Stop{Scope: model.StopCluster}) }, "disruption is stopped in cluster"},
		"its pool stopped": {func(w *world.World, _ *model.PlannedClaim) {
			stop(t, w, model.Stop{Scope: model.StopPool, Pool: "default"})
		}, "disruption is stopped in nodepool default"},
		"region stopped": {func(w *world.World, _ *model.PlannedClaim) { stop(t, w, model.Stop{Scope: model.StopRegion}) }, "disruption is stopped in account"},
		"other pool stoped": {func(w *world.World, _ *model.PlannedClaim) {
			stop(t, w, model.Stop{Scope: model.StopPool, Pool: "other"})
		}, ""},
	} {
		w, old, planned := deployed(t, 1, world.Shape(1500, gib))
		planned.Name = "default-replacement"
		test.change(w, &planned)
		evaluate(t, w).commit(model.CommandReplacing, old, planned)
		outcome := pass(t, w, provision.TriggerReplace)
		said := strings.Contains(strings.Join(outcome.Problems, "\n"), test.want)
		if launched := outcome.Claims == 1; launched != (test.want == "") || !said {
			t.Errorf("%s: %+v, want it to wait because %q", name, outcome, test.want)
		}
	}
}

// D9: what stops disruption stops no launch for pods that are pending.
func TestD9AStopLeavesProvisioningAlone(t *testing.T) {
	for _, scope := range []model.Stop{
		{Scope: model.StopRegion}, {Scope: model.StopCluster}, {Scope: model.StopPool, Pool: "default"},
	} {
		w := start(t, world.Options{Types: []string{"m5.large"}})
		stop(t, w, scope)
		pending(w, "web", 1, world.Shape(900, gib))
		if outcome := pass(t, w, provision.TriggerBatch); outcome.Claims != 1 {
			t.Errorf("%s: %+v", scope.Scope, outcome)
		}
		settle(t, w)
		if waiting := w.Cluster.Waiting(); len(waiting) != 0 {
			t.Errorf("%s: there wait %v", scope.Scope, waiting)
		}
	}
}

func stop(t *testing.T, w *world.World, stop model.Stop) {
	t.Helper()
	if err := w.Ledger.Stop(t.Context(), world.Registration(), stop); err != nil {
		t.Fatal(err)
	}
}

// S31: a pool that is changed after its replacement was planned: the instance is as it was planned, and carries the hash of that, so
// that it drifts.
func TestS31ReplacementCarriesTheHashItWasPlannedBy(t *testing.T) {
	w, old, planned := deployed(t, 1, world.Shape(1500, gib))
	planned.Name, planned.PoolHash = "default-replacement", "before"
	pool := world.Pool("default", "default")
	pool.Hash = "after"
	w.Cluster.AddPool(pool)
	evaluate(t, w).commit(model.CommandReplacing, old, planned)
	pass(t, w, provision.TriggerReplace)
	if hash := named(t, w, "default-replacement").Annotations[model.AnnotationPoolHash]; hash != "before" {
		t.Errorf("hash %q", hash)
	}
}

// A command that is to save money buys nothing that costs as much as what it disrupts, though that is all there is at the moment.
func TestReplacementCostsLessThanWhatItReplaces(t *testing.T) {
	for _, saves := range []bool{true, false} {
		w, old, planned := deployed(t, 1, world.Shape(1500, gib), "m5.xlarge")
		w.Fleet.Break(model.OfferingKey{InstanceType: "m5.large"}, "InsufficientInstanceCapacity")
		planned.Name = "default-replacement"
		planned.InstanceTypes = []string{"m5.large", "m5.xlarge"}
		planned.Reserve = model.Resources{model.Nodes: 1}
		for i := range planned.Requirements {
			if planned.Requirements[i].Key == model.LabelInstanceType {
				planned.Requirements[i].Values = planned.InstanceTypes
			}
		}
		j := evaluate(t, w)
		command := j.commit(model.CommandCommitted, old, planned)
		if saves {
			command.Reason, command.Savings = model.ReasonUnderutilized, planned.Price/2
		}
		j.step(command, model.CommandReplacing)
		if outcome := pass(t, w, provision.TriggerReplace); outcome.Claims != 0 == saves {
			t.Errorf("to save: %v, %+v", saves, outcome)
		}
	}
}

func TestReplaceHintAsksForARun(t *testing.T) {
	var request provision.Request
	request.Take(wire.Hint{Cluster: "c", Reason: wire.ReasonResync})
	request.Take(wire.Hint{Cluster: "c", Reason: wire.ReasonReplace})
	if request.Trigger != provision.TriggerReplace {
		t.Errorf("a replace hint makes a run of %q", request.Trigger)
	}
}

// A static pool's instance that is replaced counts until it ends, and so does what replaces it: the pool is neither filled twice nor
// left short.
func TestStaticPoolWithACommandIsNotFilledTwice(t *testing.T) {
	w := static(t, 2)
	outcome := pass(t, w, provision.TriggerConfig)
	settle(t, w)
	decision, _ := w.Store.Decision(outcome.Decision)
	planned := decision.Rounds[0].Plan.Claims[0]
	j := evaluate(t, w)
	command := j.commit(model.CommandReplacing, load(t, w).Claims[0], called(planned, "fixed-replacement"))
	for range 8 {
		pass(t, w, provision.TriggerResync)
		if n, _ := running(t, w); n > 3 {
			t.Fatalf("%d machines", n)
		}
		w.Tick(20 * time.Second)
	}
	if named(t, w, "fixed-replacement").State != model.Initialized {
		t.Fatalf("the replacement is not ready:\n%s", claimsText(t, w))
	}
	j.end(command, model.CommandDone)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 {
		t.Errorf("filled again: %+v", outcome)
	}
}

// hidden is a ledger that has not heard yet that a replacement failed.
type hidden struct{ provision.Claims }

func (h hidden) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	ledger, err := h.Claims.Load(ctx, reg)
	ledger.Spent = nil
	return ledger, err
}

// A name that turns out to be in use, though the ledger as it was read did not know it, is not tried over and over, and what else is
// asked for in the same run is launched.
func TestReplacementWhoseNameIsInUseIsLeft(t *testing.T) {
	w, old, planned := deployed(t, 1, world.Shape(1500, gib))
	evaluate(t, w).commit(model.CommandReplacing, old, called(planned, "default-replacement"))
	w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity")
	pass(t, w, provision.TriggerReplace)
	w.Fleet.Break(model.OfferingKey{}, "")
	w.Tick(time.Hour)
	pending(w, "more", 1, world.Shape(1500, gib))
	flow := w.Process(world.Fault{}).Flow()
	flow.Claims = hidden{flow.Claims}
	outcome, err := flow.Run(t.Context(), provision.Request{Cluster: world.Name, Owner: "a", Trigger: provision.TriggerBatch, Deadline: w.Clock.Now().Add(30 * time.Second)})
	if err != nil || outcome.Claims != 1 || outcome.Rounds > 3 {
		t.Errorf("%+v %v, want the pod's machine alone, in a few rounds", outcome, err)
	}
}

// A replacement was launched, and somebody deleted its record. Its NodeClaim exists, and the instance is adopted by it. Another instance of that
// name could never be registered, since the name is in use. Seed 24457992326132 of the simulator's other readings.
func TestAReplacementWhoseNodeClaimExistsIsNotLaunchedAgain(t *testing.T) {
	w, old, planned := deployed(t, 1, world.Shape(1500, gib))
	evaluate(t, w).commit(model.CommandReplacing, old, called(planned, "default-replacement"))
	if outcome := pass(t, w, provision.TriggerReplace); outcome.Claims != 1 {
		t.Fatalf("%+v, want the replacement", outcome)
	}
	world.Skew(w.Ledger, world.Name, "default-replacement")
	w.Tick(40 * time.Second)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 {
		t.Errorf("%+v, want nothing: the NodeClaim shows an instance of this name", outcome)
	}
}

// F17, X10: of a command one of whose replacements failed nothing more is bought: it will be undone.
func TestF17NothingMoreIsBoughtForACommandThatLacksAReplacement(t *testing.T) {
	for _, failed := range []bool{true, false} {
		w, old, planned := deployed(t, 1, world.Shape(1500, gib))
		j := evaluate(t, w)
		first := "default-first"
		if failed {
			command := j.commit(model.CommandReplacing, old, called(planned, first))
			w.Fleet.Break(model.OfferingKey{}, "InsufficientInstanceCapacity")
			pass(t, w, provision.TriggerReplace)
			w.Fleet.Break(model.OfferingKey{}, "")
			w.Tick(2 * time.Hour) // what was not available is forgotten
			old = j.end(j.step(command, model.CommandUndoing), model.CommandUndone)
		}
		j.commit(model.CommandReplacing, old, called(planned, first), called(planned, "default-second"))
		bought := pass(t, w, provision.TriggerReplace).Claims
		if want := map[bool]int{true: 0, false: 2}[failed]; bought != want {
			t.Errorf("the first had failed %v: %d machines, want %d", failed, bought, want)
		}
	}
}
