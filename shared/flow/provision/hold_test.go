package provision_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// deaf returns a world whose instances never join, with n pods of one instance each, launched three seconds apart.
func deaf(t *testing.T, n int) *world.World {
	t.Helper()
	w := start(t, world.Options{Types: []string{"m5.large"}, Boot: 1000 * time.Hour})
	for i := range n {
		w.Cluster.AddPods(fmt.Sprintf("web-%d", i), 1, world.Shape(1500, gib))
		w.Tick(time.Second)
		pass(t, w, provision.TriggerBatch)
		w.Tick(2 * time.Second)
	}
	if got := len(w.Fleet.Instances()); got != n {
		t.Fatalf("%d machines, want %d", got, n)
	}
	return w
}

func TestF1InstancesOfOneIncidentAreOneFailure(t *testing.T) {
	for _, n := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := deaf(t, n)
			w.Tick(16 * time.Minute)
			pass(t, w, provision.TriggerResync)
			suspensions := load(t, w).Notes.ClassSuspensions
			if len(suspensions) != 1 || suspensions[0].Failures != 1 || suspensions[0].UntilUnix > w.Clock.Now().Unix() {
				t.Errorf("%d machines of one moment make holds %+v", n, suspensions)
			}
			if reported := w.Cluster.Events("EC2NodeClass", "default"); len(reported) != 1 {
				t.Errorf("told %d times: %+v", len(reported), reported)
			}
		})
	}
}

// Instances launched while the first of them had time left to join are of its incident, also where they are given up one by one.
func TestF1InstancesOfOneIncidentAreOneFailureHoweverLateTheyAreLookedAt(t *testing.T) {
	w := deaf(t, 1)
	w.Tick(10 * time.Minute)
	pending(w, "later", 1, world.Shape(1500, gib))
	pass(t, w, provision.TriggerBatch)
	for range 16 {
		w.Tick(time.Minute)
		pass(t, w, provision.TriggerResync)
	}
	if suspensions := load(t, w).Notes.ClassSuspensions; len(suspensions) != 1 || suspensions[0].Failures != 1 {
		t.Errorf("holds %+v", suspensions)
	}
}

func TestF1WhatPeopleOrAWSEndedIsNoFailure(t *testing.T) {
	for _, code := range []string{
		model.EndedSpotInterrupted, model.EndedObjectDeleted, model.EndedInstance, model.EndedNodeGone, model.EndedScheduledChange, model.EndedExpired,
	} {
		for _, state := range []model.ClaimState{model.Draining, model.Terminating, model.Gone} {
			w := deaf(t, 2)
			for _, claim := range load(t, w).Claims {
				claim.State, claim.FailureCode = state, code
				if state == model.Gone {
					claim.GoneUnix = w.Clock.Now().Unix() + 16*60
				}
				if _, err := w.Ledger.Advance(t.Context(), world.Name, claim); err != nil {
					t.Fatal(err)
				}
			}
			w.Tick(17 * time.Minute)
			pass(t, w, provision.TriggerResync)
			if suspensions := load(t, w).Notes.ClassSuspensions; len(suspensions) != 0 {
				t.Errorf("%s, %s: holds %+v", code, state, suspensions)
			}
		}
	}
}

// Whoever corrects the class has its instances tried at once, and what was launched before does not count against it.
func TestF1AHoldEndsWhenTheClassIsCorrected(t *testing.T) {
	t.Run("one pod", func(t *testing.T) { correctedClass(t, 1) })
	t.Run("as many machines as pods ask for", func(t *testing.T) { correctedClass(t, 3) })
}

// correctedClass has instances of a class not join for some pods of an instance each until it is held, and corrects it then.
func correctedClass(t *testing.T, pods int) {
	w := deaf(t, pods)
	for minute := 0; minute < 60; minute++ {
		w.Tick(time.Minute)
		pass(t, w, provision.TriggerResync)
		if suspensions := load(t, w).Notes.ClassSuspensions; len(suspensions) == 1 && suspensions[0].Failures == 2 {
			break
		}
	}
	suspensions := load(t, w).Notes.ClassSuspensions
	if len(suspensions) != 1 || suspensions[0].Failures != 2 || suspensions[0].UntilUnix < w.Clock.Now().Unix()+60 {
		t.Fatalf("holds %+v", suspensions)
	}
	before := len(w.Fleet.Instances())
	corrected := w.Cluster.Class("default")
	corrected.Annotations = map[string]string{"role": "corrected"}
	w.Cluster.AddClass(corrected)
	w.Tick(time.Second)
	pass(t, w, provision.TriggerConfig)
	if got := len(w.Fleet.Instances()); got != before+pods {
		t.Errorf("%d machines after the correction, want %d more than %d", got, pods, before)
	}
	if suspensions := load(t, w).Notes.ClassSuspensions; len(suspensions) != 1 || suspensions[0].Failures != 0 || suspensions[0].UntilUnix != 0 {
		t.Errorf("holds %+v", suspensions)
	}
}
