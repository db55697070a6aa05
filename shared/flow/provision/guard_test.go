package provision_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// defective plans like pack.Plan and panics over a pool of the name, and over pods of the owner.
func defective(pool, owner string, plans *int) func(pack.Input) model.Plan {
	return func(in pack.Input) model.Plan {
		*plans++
		if slices.ContainsFunc(in.Snapshot.Pools, func(p model.Pool) bool { return p.Name == pool }) {
			panic("a pool nobody can bear")
		}
		pods := in.Pending
		if pods == nil {
			pods = pack.Pending(in.Snapshot)
		}
		for _, i := range pods {
			if in.Snapshot.ShapeOf(&in.Snapshot.Pods[i]).OwnerName == owner {
				panic("pods nobody can bear")
			}
		}
		return pack.Plan(in)
	}
}

// Scenario 17, C7, R58, S25: a pool and pods that planning panics over are left out in the same run, and remembered from
// the third time on; an event says so once.
func TestScenario17R58S25WhatPlanningPanicsOverIsLeftOutAndTheRestPlanned(t *testing.T) {
	for name, culprit := range map[string]struct{ pool, owner, what string }{
		"a pool":          {"bad", "", "NodePool/bad"},
		"pods":            {"", "poison", "Pods/default/ReplicaSet/poison"},
		"a pool and pods": {"bad", "poison", "NodePool/bad"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{Types: []string{"m5.large"}})
			bad := world.Pool("bad", "default")
			bad.Weight = 50
			w.Cluster.AddPool(bad)
			w.Cluster.AddPool(world.Pool("zebra", "default"))
			poison := world.Shape(900, gib)
			poison.OwnerName = "poison"
			poison.NodeSelector = map[string]string{"place": "nowhere"}
			w.Cluster.AddPods("a-poison", 3, poison) // first in every batch
			pending(w, "web", 9, world.Shape(900, gib))
			plans := 0
			again := func() provision.Outcome {
				flow := w.Process(world.Fault{}).Flow()
				flow.Plan = defective(culprit.pool, culprit.owner, &plans)
				outcome, err := flow.Run(t.Context(), provision.Request{
					Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: w.Clock.Now().String(), Deadline: w.Clock.Now().Add(world.InvocationTimeout),
				})
				if err != nil {
					t.Fatal(err)
				}
				return outcome
			}
			if outcome := again(); outcome.Claims == 0 {
				t.Fatalf("nothing was launched: %+v", outcome)
			}
			if plans > 60 {
				t.Errorf("it took %d plans to find out", plans)
			}
			var last provision.Outcome
			for range 3 {
				w.Tick(time.Minute)
				last = again()
			}
			for _, pod := range w.Cluster.Waiting() {
				if !strings.Contains(pod, "poison") {
					t.Errorf("pod %s waits: %+v", pod, last)
				}
			}
			listed := slices.ContainsFunc(load(t, w).Notes.Quarantine, func(q model.Quarantine) bool { return q.What == culprit.what && q.Count >= 3 })
			if culprit.owner != "" && !listed { // only what comes back each time is found three times
				t.Errorf("notes %+v", load(t, w).Notes.Quarantine)
			}
			if culprit.owner != "" {
				before := plans
				w.Tick(time.Minute)
				again()
				if plans-before > 2 {
					t.Errorf("%d plans although it is known", plans-before)
				}
				reported := append(w.Cluster.Events("NodePool", "bad"), w.Cluster.Events("Pod", "a-poison-0")...)
				n := 0
				for _, event := range reported {
					if event.Reason == "Quarantined" {
						n++
					}
				}
				if n == 0 || n > 2 {
					t.Errorf("people are told %+v", reported)
				}
			}
		})
	}
}

// A panic anywhere else is an error of that run; the lease is released.
func TestPanicOfARunIsItsError(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "web", 1, world.Shape(900, gib))
	flow := w.Process(world.Fault{}).Flow()
	flow.NewID = func() string { panic("no ids") }
	_, err := flow.Run(t.Context(), provision.Request{
		Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: "one", Deadline: w.Clock.Now().Add(world.InvocationTimeout),
	})
	if err == nil || !strings.Contains(err.Error(), "no ids") {
		t.Fatalf("%v", err)
	}
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 1 {
		t.Errorf("%+v", outcome)
	}
}

// R65: a pod that was bound or is gone since the snapshot was taken gets no instance.
func TestR65PodIsLookedAtAgainBeforeItsInstanceIsLaunched(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 3, world.Shape(1500, gib))
	old, err := w.Cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.Cluster.DeletePod("default", "web-1")
	w.Tick(10 * time.Second)
	flow := w.Process(world.Fault{}).Flow()
	flow.Connector = oldSnapshot{flow.Connector, old}
	outcome, err := flow.Run(t.Context(), provision.Request{
		Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: "late", Deadline: w.Clock.Now().Add(world.InvocationTimeout),
	})
	if err != nil || outcome.Claims != 2 {
		t.Errorf("%+v %v, want two machines", outcome, err)
	}
	settle(t, w)
	sound(t, w)
}

// S27: what changes while a run is at work is seen by the next.
func TestS27ChangeDuringARunIsNotMasked(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 1, world.Shape(1500, gib))
	flow := w.Process(world.Fault{}).Flow()
	flow.Plan = func(in pack.Input) model.Plan {
		pending(w, "late", 1, world.Shape(1500, gib))
		flow.Plan = nil
		return pack.Plan(in)
	}
	if _, err := flow.Run(t.Context(), provision.Request{
		Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: "one", Deadline: w.Clock.Now().Add(world.InvocationTimeout),
	}); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	if n, _ := running(t, w); n != 2 {
		t.Errorf("%d machines, want 2", n)
	}
	sound(t, w)
}
