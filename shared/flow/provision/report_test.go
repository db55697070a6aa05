package provision_test

import (
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// M9, M84: a NodePool shows which generation of its class it was evaluated with, and an edit of its template at once as
// a node that differs.
func TestM84PoolShowsItsRollout(t *testing.T) {
	w := occupied(t, 2, world.Shape(800, gib))
	w.Tick(time.Minute)
	pass(t, w, provision.TriggerResync)
	status := w.Cluster.PoolStatus("default")
	if status.Rollout.Current != 1 || status.Rollout.Drifted != 0 ||
		status.ClassGeneration != w.Cluster.Class("default").Generation {
		t.Fatalf("the pool shows %+v", status)
	}
	claim := onlyClaim(t, w)
	claim.Drift = "AMIDrift"
	if _, err := w.Ledger.Advance(t.Context(), world.Name, claim); err != nil {
		t.Fatal(err)
	}
	w.Tick(time.Minute)
	pass(t, w, provision.TriggerResync)
	if status = w.Cluster.PoolStatus("default"); status.Rollout.Current != 0 || status.Rollout.Drifted != 1 {
		t.Errorf("after another image was found the pool shows %+v", status)
	}
}

// A NodePool shows within one tick that an instance of it has ended, though nothing else is to be done; and a cluster in which nothing
// changes is notified of nothing.
func TestPoolShowsWithinATickWhatHasEnded(t *testing.T) {
	w := occupied(t, 2, world.Shape(800, gib))
	claim := onlyClaim(t, w)
	if status := w.Cluster.PoolStatus("default"); status.Nodes != 1 {
		t.Fatalf("the pool shows %+v", status)
	}
	w.Workloads.Scale("web", 0)
	w.Tick(time.Minute)
	pass(t, w, provision.TriggerResync)
	if err := w.Publish(t.Context(), 1, 1); err != nil { // and nothing is published after that
		t.Fatal(err)
	}
	fence, err := w.Ledger.AcquireLease(t.Context(), world.Name, model.LeaseCollector, "a", w.Clock.Now().Unix(), w.Clock.Now().Unix()+30)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Ledger.CloseClaim(t.Context(), fence, claim, w.Clock.Now().Unix()); err != nil {
		t.Fatal(err)
	}
	resync := func() []string {
		t.Helper()
		w.Tick(time.Minute)
		if _, err := w.Ledger.Heartbeat(t.Context(), world.Name, 1, w.Clock.Now().Unix()); err != nil {
			t.Fatal(err)
		}
		process := w.Process(world.Fault{})
		if outcome, err := process.Run(t.Context(), provision.TriggerResync); err != nil || outcome.Source != "snapshot" {
			t.Fatal(err, outcome.Source)
		}
		return process.Effects()
	}
	reported := resync()
	if status := w.Cluster.PoolStatus("default"); status.Nodes != 0 || status.Resources[model.CPU] != 0 {
		t.Errorf("a tick after its only machine ended the pool shows %+v", status)
	}
	if !slices.Contains(reported, "tell") {
		t.Errorf("effects %v", reported)
	}
	for range 3 {
		if effects := resync(); slices.Contains(effects, "tell") || slices.Contains(effects, "remember") {
			t.Errorf("nothing has changed, and effects are %v", effects)
		}
	}
}
