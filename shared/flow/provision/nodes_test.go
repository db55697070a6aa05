package provision_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// joined returns a world whose one pod of shape has an instance that has just joined, and is not ready where ready is false.
func joined(t *testing.T, pool model.Pool, shape model.PodShape, ready bool) *world.World {
	t.Helper()
	w := world.New(world.Options{Boot: 20 * time.Second, Ready: time.Minute})
	w.Cluster.AddClass(world.Class("default"))
	w.Cluster.AddPool(pool)
	pending(w, "web", 1, shape)
	if outcome := pass(t, w, provision.TriggerBatch); outcome.Claims != 1 {
		t.Fatalf("%+v", outcome)
	}
	w.Tick(30 * time.Second)
	if ready {
		w.Tick(time.Minute)
	}
	if nodes := w.Cluster.Nodes(); len(nodes) != 1 || nodes[0].Ready != ready {
		t.Fatalf("nodes %+v", nodes)
	}
	return w
}

func onlyNode(t *testing.T, w *world.World) model.Node {
	t.Helper()
	nodes := w.Cluster.Nodes()
	if len(nodes) != 1 {
		t.Fatalf("%d nodes, want 1", len(nodes))
	}
	return nodes[0]
}

func onlyClaim(t *testing.T, w *world.World) model.Claim {
	t.Helper()
	claims := load(t, w).Claims
	if len(claims) != 1 {
		t.Fatalf("%d claims, want 1", len(claims))
	}
	return claims[0]
}

func hasKey(taints []model.Taint, key string) bool {
	for _, taint := range taints {
		if taint.Key == key {
			return true
		}
	}
	return false
}

func TestNodeIsRegisteredBeforeItIsReadyAndInitializedAfter(t *testing.T) {
	pool := world.Pool("default", "default")
	pool.Template.Labels = map[string]string{"team": "a", "app.kubernetes.io/tier": "web"}
	pool.Template.Annotations = map[string]string{"joiner.sh/note": "n"}
	w := joined(t, pool, world.Shape(900, gib), false)
	outcome := pass(t, w, provision.TriggerNode)
	if outcome.Registered != 1 || outcome.Initialized != 0 {
		t.Fatalf("%+v", outcome)
	}
	node, claim := onlyNode(t, w), onlyClaim(t, w)
	if claim.State != model.Registered || claim.NodeName != node.Name || claim.NodeUID != node.UID || hasKey(node.Taints, model.TaintUnregistered) {
		t.Errorf("claim %+v of node %+v", claim, node)
	}
	for key, want := range map[string]string{
		"team": "a", "app.kubernetes.io/tier": "web", model.LabelNodePool: "", model.LabelRegistered: "true",
		model.LabelCapacityType: claim.CapacityType, model.LabelZoneID: claim.ZoneID, model.LabelInitialized: "",
	} {
		if got := node.Labels[key]; want != "" && got != want || key == model.LabelInitialized && got != "" {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	if node.Annotations["joiner.sh/note"] != "n" {
		t.Errorf("annotations %v", node.Annotations)
	}
	w.Tick(2 * time.Minute)
	if outcome := pass(t, w, provision.TriggerNode); outcome.Initialized != 1 || onlyNode(t, w).Labels[model.LabelInitialized] != "true" {
		t.Fatalf("%+v", outcome)
	}
	if again := pass(t, w, provision.TriggerNode); again.Registered+again.Initialized != 0 {
		t.Errorf("once more: %+v", again)
	}
	sound(t, w)
}

// TestU43ANodeClaimTellsHowFarItHasCome: that its instance is launched, its node registered and initialized, once each.
func TestU43ANodeClaimTellsHowFarItHasCome(t *testing.T) {
	w := joined(t, world.Pool("default", "default"), world.Shape(900, gib), false)
	hasEvents := func(want ...string) {
		t.Helper()
		claim := onlyClaim(t, w)
		events := w.Cluster.Events("NodeClaim", claim.Name)
		var got []string
		for _, e := range events {
			if e.Warning || e.UID != claim.ObjectUID {
				t.Errorf("%+v", e)
			}
			got = append(got, e.Reason+": "+e.Message)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("told are %q, not %q", got, want)
		}
	}
	claim := onlyClaim(t, w)
	launched := fmt.Sprintf("Launched: instance %s is launched (%s in %s, %s, $%.4f per hour)", claim.InstanceID,
		claim.InstanceType, claim.Zone, claim.CapacityType, claim.Price.USD())
	hasEvents(launched)
	pass(t, w, provision.TriggerNode)
	claim = onlyClaim(t, w)
	since := func(unix int64) time.Duration { return time.Duration(unix-claim.LaunchedUnix) * time.Second }
	registered := fmt.Sprintf("Registered: node %s is registered, %s after the launch of its instance",
		claim.NodeName, since(claim.RegisteredUnix))
	hasEvents(launched, registered)
	w.Tick(2 * time.Minute)
	pass(t, w, provision.TriggerNode)
	claim = onlyClaim(t, w)
	initialized := fmt.Sprintf("Initialized: node %s is initialized, %s after the launch of its instance",
		claim.NodeName, since(claim.InitializedUnix))
	hasEvents(initialized, launched, registered)
	pass(t, w, provision.TriggerNode)
	hasEvents(initialized, launched, registered)
}

func TestPoolTaintsStayAndStartupTaintsHoldInitialisationBack(t *testing.T) {
	pool := world.Pool("default", "default")
	pool.Template.Taints = []model.Taint{{Key: "dedicated", Value: "a", Effect: model.NoSchedule}}
	pool.Template.StartupTaints = []model.Taint{{Key: "agent", Effect: model.NoExecute}}
	shape := world.Shape(900, gib)
	shape.Tolerations = []model.Toleration{{Key: "dedicated", Operator: "Exists"}}
	w := joined(t, pool, shape, true)
	if outcome := pass(t, w, provision.TriggerNode); outcome.Registered != 1 || outcome.Initialized != 0 {
		t.Fatalf("%+v", outcome)
	}
	w.Tick(time.Second)
	if outcome := pass(t, w, provision.TriggerNode); outcome.Initialized != 0 {
		t.Fatalf("initialised under its startup taint: %+v", outcome)
	}
	node := onlyNode(t, w)
	if !hasKey(node.Taints, "dedicated") || !hasKey(node.Taints, "agent") {
		t.Fatalf("taints %+v", node.Taints)
	}
	node.Taints = []model.Taint{node.Taints[0]} // the agent takes its own off
	if node.Taints[0].Key != "dedicated" {
		t.Fatalf("taints %+v", node.Taints)
	}
	w.Cluster.PutNode(node)
	w.Tick(time.Second)
	if outcome := pass(t, w, provision.TriggerNode); outcome.Initialized != 1 || len(w.Cluster.Waiting()) != 0 {
		t.Fatalf("%+v", outcome)
	}
	if instances := w.Fleet.Instances(); len(instances) != 1 {
		t.Errorf("%d machines for one pod", len(instances))
	}
}

// An instance of a Custom class joins with what its own user data says: taints of the pool are put on at registration.
func TestTaintsAreSyncedToANodeThatDidNotBringThem(t *testing.T) {
	w := world.New(world.Options{})
	class := world.Class("default")
	class.Family, class.UserData = "Custom", "#!/bin/sh\njoin"
	w.Cluster.AddClass(class)
	pool := world.Pool("default", "default")
	pool.Template.Taints = []model.Taint{{Key: "dedicated", Effect: model.NoSchedule}}
	w.Cluster.AddPool(pool)
	shape := world.Shape(900, gib)
	shape.Tolerations = []model.Toleration{{Key: "dedicated", Operator: "Exists"}}
	pending(w, "web", 1, shape)
	pass(t, w, provision.TriggerBatch)
	w.Tick(30 * time.Second)
	pass(t, w, provision.TriggerNode)
	if node := onlyNode(t, w); !hasKey(node.Taints, "dedicated") {
		t.Errorf("taints %+v", node.Taints)
	}
	reported := eventOf(w.Cluster.Events("NodeClaim", onlyClaim(t, w).Name), "UnregisteredTaintMissing")
	if !reported.Warning || !strings.Contains(reported.Message, model.TaintUnregistered) {
		t.Errorf("the claim is told %+v", reported)
	}
}

func TestNodeWaitsForTheDeviceItWasBoughtFor(t *testing.T) {
	shape := world.Shape(900, gib)
	shape.Requests["nvidia.com/gpu"] = 1
	w := joined(t, world.Pool("default", "default"), shape, true)
	node := onlyNode(t, w)
	gpus := node.Allocatable["nvidia.com/gpu"]
	delete(node.Allocatable, "nvidia.com/gpu")
	w.Cluster.PutNode(node)
	for range 2 {
		if outcome := pass(t, w, provision.TriggerNode); outcome.Initialized != 0 || outcome.Claims != 0 {
			t.Fatalf("%+v", outcome)
		}
	}
	node = onlyNode(t, w)
	node.Allocatable["nvidia.com/gpu"] = gpus // the device plugin has come up
	w.Cluster.PutNode(node)
	if outcome := pass(t, w, provision.TriggerNode); gpus < 1 || outcome.Initialized != 1 {
		t.Fatalf("%d GPUs: %+v", gpus, outcome)
	}
}

func TestTwoNodesOfOneProviderIDAreToldAndNeitherIsTouched(t *testing.T) {
	w := joined(t, world.Pool("default", "default"), world.Shape(900, gib), true)
	twin := onlyNode(t, w)
	twin.Name, twin.UID = "twin", ""
	w.Cluster.PutNode(twin)
	outcome := pass(t, w, provision.TriggerNode)
	if outcome.Registered != 0 || onlyClaim(t, w).State != model.Launched {
		t.Errorf("%+v", outcome)
	}
	for _, node := range w.Cluster.Nodes() {
		if node.Registered() {
			t.Errorf("node %s was registered", node.Name)
		}
	}
	if reported := eventOf(w.Cluster.Events("NodeClaim", onlyClaim(t, w).Name), "MultipleNodesFound"); !reported.Warning {
		t.Error("nobody is told")
	}
}

func TestNodesWithoutProviderIDAreNobodys(t *testing.T) {
	w := joined(t, world.Pool("default", "default"), world.Shape(900, gib), true)
	for _, name := range []string{"stray-1", "stray-2"} {
		w.Cluster.PutNode(model.Node{Name: name, Ready: true})
	}
	if outcome := pass(t, w, provision.TriggerNode); outcome.Registered != 1 || len(outcome.Problems) != 0 {
		t.Errorf("%+v", outcome)
	}
	for _, node := range w.Cluster.Nodes() {
		if strings.HasPrefix(node.Name, "stray") && len(node.Labels) != 0 {
			t.Errorf("node %s was patched: %v", node.Name, node.Labels)
		}
	}
}

func TestNodeThatWasDeletedAndJoinedAgainIsRegisteredAgain(t *testing.T) {
	w := joined(t, world.Pool("default", "default"), world.Shape(900, gib), false)
	fresh := onlyNode(t, w)
	pass(t, w, provision.TriggerNode)
	first := onlyClaim(t, w)
	fresh.UID = ""
	w.Cluster.PutNode(fresh) // the same machine registers anew, taint and all
	if outcome := pass(t, w, provision.TriggerNode); len(outcome.Problems) != 0 {
		t.Fatalf("%+v", outcome)
	}
	node, claim := onlyNode(t, w), onlyClaim(t, w)
	if claim.NodeUID != node.UID || claim.NodeUID == first.NodeUID || hasKey(node.Taints, model.TaintUnregistered) {
		t.Errorf("claim of node %s, taints %+v", claim.NodeUID, node.Taints)
	}
	if claim.RegisteredUnix != first.RegisteredUnix {
		t.Errorf("registered at %d, and then at %d", first.RegisteredUnix, claim.RegisteredUnix)
	}
	settle(t, w)
	sound(t, w)
}

// The same once the claim was initialized: nothing else would ever take the taint off the new node.
func TestNodeOfAnInitializedClaimThatJoinedAgainIsRegisteredAgain(t *testing.T) {
	w := joined(t, world.Pool("default", "default"), world.Shape(900, gib), false)
	fresh := onlyNode(t, w)
	settle(t, w)
	first := onlyClaim(t, w)
	fresh.UID, fresh.Ready = "", false
	w.Cluster.PutNode(fresh)
	pass(t, w, provision.TriggerNode)
	node, claim := onlyNode(t, w), onlyClaim(t, w)
	if claim.State != model.Initialized || claim.NodeUID != node.UID || hasKey(node.Taints, model.TaintUnregistered) || node.Initialized() {
		t.Errorf("claim %s of node %s, node %s initialised %v with %+v", claim.State, claim.NodeUID, node.UID, node.Initialized(), node.Taints)
	}
	node.Ready, node.Taints = true, nil
	w.Cluster.PutNode(node)
	pass(t, w, provision.TriggerNode)
	if node := onlyNode(t, w); !node.Initialized() {
		t.Errorf("the node is ready and has the labels %v", node.Labels)
	}
	if again := onlyClaim(t, w); again.InitializedUnix != first.InitializedUnix {
		t.Errorf("initialised at %d, and then at %d", first.InitializedUnix, again.InitializedUnix)
	}
}

func TestClaimWithoutObjectIsShownByTheNextRun(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "web", 1, world.Shape(900, gib))
	outcome, err := w.Process(world.Fault{At: 1, Effect: "show", Mode: world.Fails}).Run(t.Context(), provision.TriggerBatch)
	if err != nil || outcome.Claims != 1 || len(w.Cluster.Claims()) != 0 || len(outcome.Problems) == 0 {
		t.Fatalf("%+v, %v", outcome, err)
	}
	pass(t, w, provision.TriggerResync)
	objects := w.Cluster.Claims()
	if len(objects) != 1 || objects[0].UID != onlyClaim(t, w).ObjectUID {
		t.Errorf("objects %+v", objects)
	}
}

// A NodeClaim people delete is the interruption flow's; registration goes on.
func TestNodeIsRegisteredAlthoughItsObjectWasDeleted(t *testing.T) {
	w := joined(t, world.Pool("default", "default"), world.Shape(900, gib), true)
	w.Cluster.DeleteClaim(onlyClaim(t, w).Name)
	if outcome := pass(t, w, provision.TriggerNode); outcome.Registered != 1 || len(outcome.Problems) != 0 {
		t.Errorf("%+v", outcome)
	}
	if objects := w.Cluster.Claims(); len(objects) != 0 {
		t.Errorf("the object was made again: %+v", objects)
	}
}

func TestInstanceThatNeverJoinsStopsBeingCapacity(t *testing.T) {
	w := world.New(world.Options{Boot: 24 * time.Hour})
	w.Cluster.AddClass(world.Class("default"))
	w.Cluster.AddPool(world.Pool("default", "default"))
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	w.Tick(14 * time.Minute)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 || outcome.Nominated != 1 {
		t.Fatalf("within the time to join: %+v", outcome)
	}
	w.Tick(2 * time.Minute)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 1 {
		t.Fatalf("after it: %+v", outcome)
	}
	w.Tick(16 * time.Minute)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 || outcome.Nominated != 0 || outcome.Unschedulable != 1 {
		t.Fatalf("while the class is held: %+v", outcome)
	}
	w.Tick(6 * time.Minute)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 1 {
		t.Fatalf("after the hold: %+v", outcome)
	}
}
