package provision_test

import (
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

func TestPendingPodsGetInstancesAndRun(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "web", 10, world.Shape(900, 2*gib))
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Pending != 10 || outcome.Claims == 0 || outcome.Failed != 0 || outcome.Unschedulable != 0 || outcome.PricePerHour <= 0 {
		t.Fatalf("%+v", outcome)
	}
	if instances := w.Fleet.Instances(); len(instances) != outcome.Claims {
		t.Fatalf("%d machines for %d claims", len(instances), outcome.Claims)
	}
	settle(t, w)
	sound(t, w)
	for _, node := range w.Cluster.Nodes() {
		if !node.Registered() || !node.Initialized() || node.Pool() != "default" || node.Labels[model.LabelCapacityType] == "" {
			t.Errorf("node %s has labels %v", node.Name, node.Labels)
		}
		for _, taint := range node.Taints {
			if taint.Key == model.TaintUnregistered {
				t.Errorf("node %s still carries %s", node.Name, taint.Key)
			}
		}
	}
	if status := w.Cluster.PoolStatus("default"); status.Nodes != int64(outcome.Claims) || status.Resources[model.CPU] == 0 {
		t.Errorf("the pool shows %+v", status)
	}
}

func TestDecisionNamesWhatWasLaunched(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "web", 3, world.Shape(900, 2*gib))
	outcome := pass(t, w, provision.TriggerBatch)
	decision, kept := w.Store.Decision(outcome.Decision)
	if !kept || decision.Pending != 3 || len(decision.Rounds) != 1 || len(decision.Launched) != outcome.Claims {
		t.Fatalf("%+v", decision)
	}
	planned := map[string]model.PlannedClaim{}
	for _, claim := range decision.Rounds[0].Plan.Claims {
		planned[claim.Name] = claim
	}
	for _, claim := range load(t, w).Claims {
		plan, ok := planned[claim.Name]
		found := false
		for _, name := range plan.InstanceTypes {
			found = found || name == claim.InstanceType
		}
		if !ok || !found || claim.Decision != decision.ID {
			t.Errorf("claim %s became %s; the plan allows %v", claim.Name, claim.InstanceType, plan.InstanceTypes)
		}
	}
	events := w.Cluster.Events("Pod", "web-0")
	if len(events) != 1 || events[0].Reason != "Nominated" || events[0].Warning {
		t.Errorf("pod events %+v", events)
	}
}

func TestSameHintFiveTimesLaunchesOnce(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "web", 4, world.Shape(900, 2*gib))
	first := pass(t, w, provision.TriggerBatch)
	for range 4 {
		if again := pass(t, w, provision.TriggerBatch); again.Claims != 0 || again.Nominated != 4 {
			t.Errorf("a repeated hint: %+v", again)
		}
	}
	if n := len(w.Fleet.Instances()); n != first.Claims {
		t.Errorf("%d machines, want %d", n, first.Claims)
	}
	settle(t, w)
	pass(t, w, provision.TriggerBatch) // late
	if n := len(w.Fleet.Instances()); n != first.Claims {
		t.Errorf("a late hint launched: %d machines, want %d", n, first.Claims)
	}
	sound(t, w)
}

func TestClusterThatIsPausedIsOnlyLookedAt(t *testing.T) {
	w := start(t, world.Options{})
	reg := world.Registration()
	reg.Paused = true
	if err := w.Ledger.Register(t.Context(), reg); err != nil {
		t.Fatal(err)
	}
	pending(w, "web", 1, world.Shape(900, 2*gib))
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Skipped == "" || len(w.Fleet.Instances()) != 0 || len(w.Cluster.Events("Pod", "web-0")) != 0 {
		t.Errorf("%+v", outcome)
	}
	sent, err := w.Process(world.Fault{}).Flow().FanOut(t.Context(), "tick")
	if err != nil || sent != 0 || w.Plan.Len() != 0 {
		t.Errorf("%d sweeps of a paused cluster: %v, %v", sent, w.Plan.Peek(), err)
	}
}

func TestFanOutHintsOncePerCluster(t *testing.T) {
	w := start(t, world.Options{})
	other := w.Attach("other")
	sent, err := w.Process(world.Fault{}).Flow().FanOut(t.Context(), "12:00")
	var hints []string
	for _, message := range append(other.Plan.Peek(), w.Plan.Peek()...) {
		hint, err := wire.DecodeHint([]byte(message.Body))
		if err != nil {
			t.Fatal(err)
		}
		hints = append(hints, hint.Cluster+"@"+hint.Tick)
	}
	if err != nil || sent != 2 || !slices.Equal(hints, []string{"other@12:00", "world@12:00"}) {
		t.Errorf("%d sent: %v, %v", sent, hints, err)
	}
}

func TestLimitIsReachedAndNotPassed(t *testing.T) {
	w := start(t, world.Options{})
	pool := world.Pool("default", "default")
	pool.Limits = model.Resources{model.CPU: 16_000, model.Nodes: 4}
	w.Cluster.AddPool(pool)
	pending(w, "big", 30, world.Shape(1900, 4*gib))
	for range 3 {
		pass(t, w, provision.TriggerBatch)
		w.Tick(time.Minute)
	}
	var cpu int64
	nodes := w.Cluster.Nodes()
	for _, node := range nodes {
		cpu += node.Capacity[model.CPU]
	}
	counted, _ := w.Ledger.Held("default")
	if len(nodes) == 0 || len(nodes) > 4 || counted[model.CPU] > 16_000 || counted[model.CPU] < 8_000 {
		t.Errorf("%d nodes, held %v", len(nodes), counted)
	}
	if waiting := w.Cluster.Waiting(); len(waiting) == 0 {
		t.Error("every pod runs within a limit that is too small")
	} else if events := w.Cluster.Events("Pod", waiting[0][len("default/"):]); len(events) == 0 || events[len(events)-1].Message == "" {
		t.Errorf("pod %s is not told why it waits", waiting[0])
	}
	sound(t, w)
}
