package provision_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// resyncFor runs the resync for some minutes and returns how many instances that launched.
func resyncFor(t *testing.T, w *world.World, minutes int) int {
	t.Helper()
	launched := 0
	for range minutes {
		for range 6 {
			w.Tick(10 * time.Second)
		}
		launched += pass(t, w, provision.TriggerResync).Claims
	}
	return launched
}

func provisioning(t *testing.T, w *world.World, name string) model.BufferCondition {
	t.Helper()
	for _, b := range w.Cluster.Buffers() {
		if b.Name == name {
			return b.Status.Provisioning
		}
	}
	t.Fatalf("no buffer %s", name)
	return model.BufferCondition{}
}

// The room of a buffer is launched for once, taken by pods at once, and made up for once; nobody learns of pods that are none.
func TestF090HeadroomIsLaunchedOnceTakenAndMadeUpFor(t *testing.T) {
	w := start(t, world.Options{})
	shape := world.Shape(500, 256<<20)
	w.Cluster.AddBuffer("spare", 5, shape)
	out := pass(t, w, provision.TriggerResync)
	if out.Claims == 0 || out.Pending != 0 || out.Headroom != 5 {
		t.Fatalf("%+v", out)
	}
	if c := provisioning(t, w, "spare"); c.Reason != headroom.RequiresNewCapacity || !strings.Contains(c.Message, "0 of 5 placeholder pods fit on nodes, 5 on in-flight nodes") {
		t.Errorf("%+v", c)
	}
	if n := resyncFor(t, w, 10); n != 0 || !allInitialized(t, w) {
		t.Fatalf("%d machines more for the same room\n%s", n, claimsText(t, w))
	}
	if c := provisioning(t, w, "spare"); c.Status != "True" || c.Reason != headroom.FitsExistingCapacity {
		t.Errorf("%+v", c)
	}
	w.Cluster.AddPods("web", 5, shape)
	w.Tick(time.Second)
	w.Tick(time.Second)
	if waiting := w.Cluster.Waiting(); len(waiting) != 0 {
		t.Fatalf("%v wait though there was room for them", waiting)
	}
	if out := pass(t, w, provision.TriggerHeadroom); out.Claims == 0 {
		t.Errorf("the room was taken and not made up for: %+v", out)
	}
	if n := resyncFor(t, w, 5); n != 0 {
		t.Errorf("%d machines more once it was", n)
	}
	for i := range 5 {
		if events := w.Cluster.Events("Pod", fmt.Sprintf("capacity-buffer-spare-%d", i)); len(events) > 0 {
			t.Errorf("%+v", events)
		}
	}
	if w.Cluster.EventCount("CapacityBuffer", "spare", "Nominated") == 0 {
		t.Error("the buffer was not told of its machines")
	}
	sound(t, w)
}

// Limits bind room as they bind pods, and pods come first.
func TestF090LimitsLeaveRoomOutBeforePods(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pool := world.Pool("default", "default")
	pool.Limits = model.Resources{model.Nodes: 2}
	w.Cluster.AddPool(pool)
	w.Cluster.AddBuffer("spare", 2, world.Shape(1500, 256<<20)) // one on each instance
	pending(w, "web", 1, world.Shape(1500, 256<<20))
	pass(t, w, provision.TriggerBatch)
	if n := resyncFor(t, w, 4); n != 0 || len(w.Cluster.Waiting()) != 0 || len(load(t, w).Claims) != 2 {
		t.Fatalf("%d more, %v wait\n%s", n, w.Cluster.Waiting(), claimsText(t, w))
	}
	c := provisioning(t, w, "spare")
	if c.Reason != headroom.RequiresNewCapacity || !strings.Contains(c.Message, "1 of 2 placeholder pods fit on nodes") || !strings.Contains(c.Message, "the others are unschedulable") {
		t.Errorf("%+v", c)
	}
	sound(t, w)
}

// Of a buffer that is of nothing people learn why, and nothing is launched for it.
func TestF090ABufferOfNothingSaysSo(t *testing.T) {
	w := start(t, world.Options{})
	w.Cluster.AddBuffer("spare", 0, world.Shape(100, 1<<20))
	if out := pass(t, w, provision.TriggerResync); out.Claims != 0 {
		t.Errorf("%+v", out)
	}
	status := w.Cluster.Buffers()[0].Status
	if status.Ready.Status != "False" || status.Ready.Reason != model.PodTemplateNotFound || status.Provisioning.Reason != headroom.NotReadyForProvisioning || status.Sized {
		t.Errorf("%+v", status)
	}
}

// Room that is all there is no reason to plan each minute, as long as snapshot and ledger stay as they are.
func TestF090RoomThatIsThereIsNotPlannedForEachMinute(t *testing.T) {
	w := start(t, world.Options{})
	w.Cluster.AddBuffer("spare", 3, world.Shape(500, 256<<20))
	pass(t, w, provision.TriggerResync)
	resyncFor(t, w, 3)
	publish := func(seq int64) {
		t.Helper()
		if err := w.Publish(t.Context(), 1, seq); err != nil {
			t.Fatal(err)
		}
	}
	publish(1)
	if out := pass(t, w, provision.TriggerResync); out.Rounds == 0 || out.Source != "snapshot" {
		t.Fatalf("%+v", out)
	}
	planned := 0
	for range 10 {
		w.Tick(60 * time.Second)
		if _, err := w.Ledger.Heartbeat(t.Context(), world.Name, 1, w.Clock.Now().Unix()); err != nil {
			t.Fatal(err)
		}
		out := pass(t, w, provision.TriggerResync)
		if out.Source != "snapshot" || out.Headroom != 3 {
			t.Fatalf("%+v", out)
		}
		planned += out.Rounds
	}
	if planned < 1 || planned > 3 {
		t.Errorf("planned %d times in ten minutes in which nothing happened, want once each five", planned)
	}
	w.Cluster.AddPods("web", 3, world.Shape(500, 256<<20))
	w.Tick(time.Second)
	publish(2)
	if out := pass(t, w, provision.TriggerResync); out.Rounds == 0 {
		t.Errorf("not planned for although pods came: %+v", out)
	}
}
