package provision_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

const healthy = "NodeRegistrationHealthy"

// F103: two of the latest four instances that did not join make a pool unhealthy, instances that join make it healthy again,
// and another spec of pool or class begins anew. Each outcome counts once, whoever dies in between.
func TestF103PoolWhoseInstancesDoNotJoinSaysSo(t *testing.T) {
	w := world.New(world.Options{Types: []string{"m5.large"}, Boot: 24 * time.Hour})
	w.Cluster.AddClass(world.Class("default"))
	w.Cluster.AddPool(world.Pool("default", "default"))
	w.Cluster.AddPool(world.Pool("other", "default", world.Need(model.LabelCapacityType, model.Spot)))
	status := func(want string) {
		t.Helper()
		if got := w.Cluster.PoolCondition("default", healthy); got.Status != want {
			t.Fatalf("the pool says %+v, want %s", got, want)
		}
	}
	pass(t, w, provision.TriggerConfig)
	status("Unknown")
	shape := world.Shape(900, gib)
	shape.NodeSelector = map[string]string{model.LabelNodePool: "default"}
	pending(w, "web", 1, shape)
	var last model.Condition
	failed := 0
	for range 80 {
		_, _ = w.Process(world.Fault{At: failed, Effect: "remember", Mode: world.LosesReply}).Run(t.Context(), provision.TriggerResync)
		pass(t, w, provision.TriggerResync)
		w.Tick(30 * time.Second)
		if health := load(t, w).Notes.Health; len(health) > 0 {
			failed = len(health[0].Outcomes)
		}
		last = w.Cluster.PoolCondition("default", healthy)
		if failed == 1 && last.Status != "True" {
			t.Fatalf("after one failure: %+v", last)
		}
	}
	if failed != 2 || last.Status != "False" || last.Reason != "RegistrationFailed" || !strings.Contains(last.Message, "2 of the latest 2") {
		t.Fatalf("after %d failures: %+v", failed, last)
	}
	if other := w.Cluster.PoolCondition("other", healthy); other.Status == "False" {
		t.Errorf("another pool says %+v", other)
	}
	// Its author mends the class: what was is forgotten, and instances of before do not count any more.
	w.Cluster.AddClass(world.Class("default"))
	pass(t, w, provision.TriggerConfig)
	status("Unknown")
	for range 40 {
		w.Tick(time.Minute)
		pass(t, w, provision.TriggerResync)
		if health := load(t, w).Notes.Health; len(health) > 0 && len(health[0].Outcomes) > 1 {
			break
		}
	}
	w.Cluster.AddPool(world.Pool("default", "default"))
	pass(t, w, provision.TriggerConfig)
	status("Unknown")
}

// F103: only the latest four count.
func TestF103InstancesThatJoinMakeAPoolHealthyAgain(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pass(t, w, provision.TriggerConfig)
	condition := func() string { return w.Cluster.PoolCondition("default", healthy).Status }
	for i := range 2 { // two instances that never joined, and were ended
		failedClaim(t, w, fmt.Sprintf("failed-%d", i), int64(i))
	}
	pass(t, w, provision.TriggerResync)
	if got := condition(); got != "False" {
		t.Fatalf("after two failures %s", got)
	}
	w.Tick(time.Hour)
	for i := range 4 {
		pending(w, fmt.Sprintf("web%d", i), 1, world.Shape(1500, gib))
		pass(t, w, provision.TriggerBatch)
		settle(t, w)
		want := "False"
		if i >= 2 { // of the latest four one failed, or none
			want = "True"
		}
		if got := condition(); got != want {
			t.Errorf("after %d that joined: %s, want %s; %+v", i+1, got, want, load(t, w).Notes.Health)
		}
	}
	if n := len(load(t, w).Notes.Health[0].Outcomes); n != 4 {
		t.Errorf("%d outcomes are remembered", n)
	}
}

// failedClaim writes a claim whose instance never joined and is gone.
func failedClaim(t *testing.T, w *world.World, name string, second int64) {
	t.Helper()
	pools, err := w.Cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := w.Clock.Now().Unix()
	fence, err := w.Ledger.AcquireLease(t.Context(), world.Name, model.LeaseCollector, "a", now, now+30)
	if err != nil {
		t.Fatal(err)
	}
	claim := model.Claim{
		Name: name, Pool: "default", PoolUID: pools.Pools[0].UID, Class: "default", State: model.Launched, Intent: name,
		InstanceID: "i-" + name, ProviderID: "aws:///z/i-" + name, CreatedUnix: now - 1000 + second, LaunchedUnix: now - 1000 + second,
	}
	if err := w.Ledger.Adopt(t.Context(), fence, claim); err != nil {
		t.Fatal(err)
	}
	for _, stored := range load(t, w).Claims {
		if stored.Name == name {
			stored.FailureCode = model.EndedNeverRegistered
			if err := w.Ledger.CloseClaim(t.Context(), fence, stored, now); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// F105: a node with less than nine tenths of what was launched is reported, every ten minutes, and nothing else is done.
func TestF105NodeThatFallsShortIsTold(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	settle(t, w)
	round := func() (events int) {
		t.Helper()
		for range 10 {
			w.Tick(time.Minute)
			before := w.Cluster.EventCount("NodeClaim", onlyClaim(t, w).Name, "FailedConsistencyCheck")
			pass(t, w, provision.TriggerResync)
			events += w.Cluster.EventCount("NodeClaim", onlyClaim(t, w).Name, "FailedConsistencyCheck") - before
		}
		return events
	}
	if n := round(); n != 0 || onlyClaim(t, w).Inconsistent != "" {
		t.Fatalf("%d events of a node that is as it should be: %q", n, onlyClaim(t, w).Inconsistent)
	}
	set := func(percent int64) {
		node, claim := onlyNode(t, w), onlyClaim(t, w)
		node.Capacity = model.Resources{model.CPU: claim.Capacity[model.CPU], model.Pods: claim.Capacity[model.Pods], model.Memory: claim.Capacity[model.Memory] * percent / 100}
		w.Cluster.PutNode(node)
	}
	set(91)
	if n := round(); n != 0 {
		t.Errorf("%d events at 91 %%", n)
	}
	set(89)
	if n := round(); n != 1 {
		t.Errorf("%d events in ten minutes, want 1", n)
	}
	claim := onlyClaim(t, w)
	if !strings.Contains(claim.Inconsistent, "memory") || w.Cluster.Claims()[0].Claim.Inconsistent != claim.Inconsistent || claim.State != model.Initialized {
		t.Errorf("claim %s %q, object %q", claim.State, claim.Inconsistent, w.Cluster.Claims()[0].Claim.Inconsistent)
	}
	set(100)
	round()
	if claim := onlyClaim(t, w); claim.Inconsistent != "" || w.Cluster.Claims()[0].Claim.Inconsistent != "" {
		t.Errorf("still %q", claim.Inconsistent)
	}
}
