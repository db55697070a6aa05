package provision_test

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// instancesOf has three pods of an instance each run in a world whose pool may have four nodes.
func instancesOf(t *testing.T) *world.World {
	t.Helper()
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pool := world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand))
	pool.Limits = model.Resources{model.Nodes: 4}
	w.Cluster.AddPool(pool)
	pending(w, "web", 3, world.Shape(1500, gib))
	settle(t, w)
	return w
}

func saysOf(out provision.Outcome, parts ...string) bool {
	for _, problem := range out.Problems {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(problem, part)
		}
		if all {
			return true
		}
	}
	return false
}

// F5: two claims are deleted by hand. What they held is taken off usage by the next run, once, so that the limit can be reached again.
func TestF5UsageOfClaimsDeletedByHandIsCountedAnew(t *testing.T) {
	w := instancesOf(t)
	for _, claim := range load(t, w).Claims[:2] {
		world.Skew(w.Ledger, world.Name, claim.Name)
	}
	out := pass(t, w, provision.TriggerResync)
	if len(out.Recounted) != 1 || out.Recounted[0].Counted[model.Nodes] != 3 || out.Recounted[0].Reserved[model.Nodes] != 1 || !saysOf(out, "NodePool default", "nodes 3", "nodes 1") {
		t.Errorf("recounted %+v, problems %v", out.Recounted, out.Problems)
	}
	if counted, claimed := w.Ledger.Held("default"); counted[model.Nodes] != 1 || claimed[model.Nodes] != 1 || counted[model.CPU] != claimed[model.CPU] {
		t.Errorf("counted %v, claims hold %v", counted, claimed)
	}
	if out := pass(t, w, provision.TriggerResync); len(out.Recounted) != 0 {
		t.Errorf("again: %+v", out.Recounted)
	}
	// At most once a minute.
	world.Skew(w.Ledger, world.Name, load(t, w).Claims[0].Name)
	if out := pass(t, w, provision.TriggerResync); len(out.Recounted) != 0 {
		t.Errorf("within the minute: %+v", out.Recounted)
	}
	w.Tick(time.Minute)
	if out := pass(t, w, provision.TriggerResync); len(out.Recounted) != 1 {
		t.Errorf("after a minute: %+v", out.Recounted)
	}
}

// F5, F3: while an item cannot be read usage stays as it is.
func TestF5NothingIsCountedAnewWhileAClaimCannotBeRead(t *testing.T) {
	w := instancesOf(t)
	claims := load(t, w).Claims
	world.Skew(w.Ledger, world.Name, claims[0].Name)
	world.SpoilItem(w.Ledger, world.Name, model.UnreadClaim, claims[1].Name)
	if out := pass(t, w, provision.TriggerResync); len(out.Recounted) != 0 || !saysOf(out, "CLAIM#"+claims[1].Name, "it is spoilt") {
		t.Errorf("recounted %+v, problems %v", out.Recounted, out.Problems)
	}
	if counted, _ := w.Ledger.Held("default"); counted[model.Nodes] != 3 {
		t.Errorf("counted %v", counted)
	}
	world.MendItems(w.Ledger, world.Name)
	if out := pass(t, w, provision.TriggerResync); len(out.Recounted) != 1 {
		t.Errorf("once it can be read: %+v, %v", out.Recounted, out.Problems)
	}
}

// F3: nothing is launched for a pool whose usage cannot be read, everything for another, and the run says why.
func TestF3NothingIsLaunchedForAPoolWhoseUsageCannotBeRead(t *testing.T) {
	w := instancesOf(t)
	world.SpoilItem(w.Ledger, world.Name, model.UnreadUsage, "default")
	pending(w, "more", 1, world.Shape(1500, gib))
	out := pass(t, w, provision.TriggerBatch)
	if out.Claims != 0 || len(load(t, w).Claims) != 3 || out.Unschedulable != 1 || !saysOf(out, "USAGE#default", "nothing is launched for NodePool default") {
		t.Errorf("%d launched, %d cannot be placed, problems %v", out.Claims, out.Unschedulable, out.Problems)
	}
	w.Cluster.AddPool(world.Pool("other", "default", world.Need(model.LabelCapacityType, model.OnDemand)))
	if out = pass(t, w, provision.TriggerResync); out.Claims != 1 || len(out.Bought) != 1 || out.Bought[0].Pool != "other" {
		t.Errorf("bought %+v, problems %v", out.Bought, out.Problems)
	}
	world.MendItems(w.Ledger, world.Name)
	settle(t, w)
	sound(t, w)
}

// F3: a launch whose intent cannot be read is waited for: its pods get no other instance.
func TestF3ALaunchThatCannotBeReadIsWaitedFor(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 1, world.Shape(1500, gib))
	// The process dies after it recorded the launch.
	if _, err := w.Process(world.Fault{At: 1, Effect: provision.EffectRecord, Mode: world.DiesAfter}).Run(t.Context(), provision.TriggerBatch); err == nil {
		t.Fatal("the process lived")
	}
	intents := load(t, w).Intents
	if len(intents) != 1 {
		t.Fatalf("intents %+v", intents)
	}
	world.SpoilItem(w.Ledger, world.Name, model.UnreadIntent, intents[0].ID)
	for range 5 {
		w.Tick(time.Minute)
		if out := pass(t, w, provision.TriggerResync); out.Claims != 0 || !saysOf(out, "INTENT#"+intents[0].ID) {
			t.Errorf("%d launched, problems %v", out.Claims, out.Problems)
		}
	}
	world.MendItems(w.Ledger, world.Name)
	settle(t, w)
	sound(t, w)
	if n := len(load(t, w).Claims); n != 1 {
		t.Errorf("%d claims, want 1", n)
	}
}

// F3: a static pool counts a claim that cannot be read as an instance.
func TestF3AClaimThatCannotBeReadCountsForStaticPools(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pool := world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand))
	two := int64(2)
	pool.Replicas = &two
	w.Cluster.AddPool(pool)
	pass(t, w, provision.TriggerResync)
	claims := load(t, w).Claims
	if len(claims) != 2 {
		t.Fatalf("%d claims", len(claims))
	}
	world.SpoilItem(w.Ledger, world.Name, model.UnreadClaim, claims[0].Name)
	if out := pass(t, w, provision.TriggerResync); out.Claims != 0 {
		t.Errorf("%d more launched", out.Claims)
	}
}
