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

// shown returns state and reason of the only NodeClaim object there is.
func shown(t *testing.T, w *world.World) string {
	t.Helper()
	objects := w.Cluster.Claims()
	if len(objects) != 1 {
		t.Fatalf("%d objects", len(objects))
	}
	claim := objects[0].Claim
	return strings.TrimSpace(string(claim.State) + " " + claim.WaitReason)
}

// F096: a claim comes on step by step, and its object says at each what it waits for: nothing else than the ledger says.
func TestF096EachStepOfARegistrationShowsWhatItWaitsFor(t *testing.T) {
	pool := world.Pool("default", "default")
	pool.Template.StartupTaints = []model.Taint{{Key: "agent", Effect: model.NoExecute}}
	shape := world.Shape(900, gib)
	shape.Requests["nvidia.com/gpu"] = 1
	w := joined(t, pool, shape, false)
	step := func(want string) {
		t.Helper()
		pass(t, w, provision.TriggerNode)
		claim := onlyClaim(t, w)
		if got := shown(t, w); got != want || strings.TrimSpace(string(claim.State)+" "+claim.WaitReason) != want {
			t.Fatalf("the object shows %q, the ledger %s %s, want %q", got, claim.State, claim.WaitReason, want)
		}
		pass(t, w, provision.TriggerResync) // tags the instance, once
		version := onlyClaim(t, w).Version
		pass(t, w, provision.TriggerResync)
		if again := onlyClaim(t, w); again.Version != version {
			t.Fatalf("%q is written again and again", want)
		}
	}
	if got := shown(t, w); got != "Launched" {
		t.Fatalf("before its node joins the object shows %q", got)
	}
	step("Registered NodeNotReady")
	node := onlyNode(t, w)
	gpus := node.Allocatable["nvidia.com/gpu"]
	node.Ready = true
	w.Cluster.PutNode(node)
	step("Registered StartupTaintsExist")
	if message := onlyClaim(t, w).WaitMessage; !strings.Contains(message, "agent:NoExecute") || !strings.Contains(message, node.Name) {
		t.Errorf("message %q", message)
	}
	node = onlyNode(t, w)
	node.Taints = []model.Taint{{Key: "readiness.k8s.io/network", Effect: model.NoSchedule}}
	node.Allocatable = model.Resources{model.CPU: 4000, model.Memory: 8 * gib, model.Pods: 20}
	w.Cluster.PutNode(node)
	step("Registered KnownEphemeralTaintsExist")
	node = onlyNode(t, w)
	node.Taints = nil
	w.Cluster.PutNode(node)
	step("Registered ResourceNotRegistered")
	if message := onlyClaim(t, w).WaitMessage; !strings.Contains(message, "nvidia.com/gpu") {
		t.Errorf("message %q", message)
	}
	node = onlyNode(t, w)
	node.Allocatable = model.Resources{model.CPU: 4000, model.Memory: 8 * gib, model.Pods: 20, "nvidia.com/gpu": gpus}
	w.Cluster.PutNode(node)
	step("Initialized")
	if claim := onlyClaim(t, w); claim.LaunchedUnix > claim.RegisteredUnix || claim.RegisteredUnix > claim.InitializedUnix || claim.LaunchedUnix == 0 {
		t.Errorf("launched %d, registered %d, initialised %d", claim.LaunchedUnix, claim.RegisteredUnix, claim.InitializedUnix)
	}
}

// F097: the taint is gone after registration; a node that joined without is reported once, and registered.
func TestF097UnregisteredTaintGoesAndItsAbsenceIsTold(t *testing.T) {
	for _, missing := range []bool{false, true} {
		w := joined(t, world.Pool("default", "default"), world.Shape(900, gib), false)
		if missing {
			node := onlyNode(t, w)
			node.Taints = slices.DeleteFunc(slices.Clone(node.Taints), func(t model.Taint) bool { return t.Key == model.TaintUnregistered })
			w.Cluster.PutNode(node)
		} else if !hasKey(onlyNode(t, w).Taints, model.TaintUnregistered) {
			t.Fatal("the node joined without the taint")
		}
		pass(t, w, provision.TriggerNode)
		node, claim := onlyNode(t, w), onlyClaim(t, w)
		reported := eventOf(w.Cluster.Events("NodeClaim", claim.Name), "UnregisteredTaintMissing")
		if hasKey(node.Taints, model.TaintUnregistered) || !node.Registered() || reported.Warning != missing {
			t.Errorf("missing %v: node %v %v, told %+v", missing, node.Labels, node.Taints, reported)
		}
	}
}

// F098: labels, annotations, taints and start-up taints merged by key and effect; the claim's words win, and what others put
// on the node stays.
func TestF098NodeGetsAllOfItsClaim(t *testing.T) {
	pool := world.Pool("default", "default")
	pool.Template.Labels = map[string]string{"team": "a"}
	pool.Template.Annotations = map[string]string{"joiner.sh/note": "n"}
	pool.Template.Taints = []model.Taint{{Key: "dedicated", Value: "a", Effect: model.NoSchedule}, {Key: "dedicated", Effect: model.NoExecute}}
	pool.Template.StartupTaints = []model.Taint{{Key: "agent", Effect: model.NoExecute}}
	shape := world.Shape(900, gib)
	shape.Tolerations = []model.Toleration{{Key: "dedicated", Operator: "Exists"}}
	w := joined(t, pool, shape, false)
	node := onlyNode(t, w)
	node.Labels = withTag(node.Labels, "team", "somebody else's")
	node.Labels = withTag(node.Labels, "theirs", "stays")
	delete(node.Labels, model.LabelDoNotSync) // as with user data of one's own, which puts no taints on
	node.Taints = []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}, {Key: "dedicated", Value: "b", Effect: model.NoSchedule}, {Key: "theirs", Effect: model.NoSchedule}}
	w.Cluster.PutNode(node)
	pass(t, w, provision.TriggerNode)
	node, claim := onlyNode(t, w), onlyClaim(t, w)
	for key, want := range map[string]string{"team": "a", "theirs": "stays", model.LabelNodePool: "default", model.LabelNodeClass: "default", model.LabelRegistered: "true"} {
		if node.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, node.Labels[key], want)
		}
	}
	if node.Annotations["joiner.sh/note"] != "n" {
		t.Errorf("annotations %v", node.Annotations)
	}
	var taints []string
	for _, taint := range node.Taints {
		taints = append(taints, fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect))
	}
	slices.Sort(taints)
	if want := []string{"agent=:NoExecute", "dedicated=:NoExecute", "dedicated=b:NoSchedule", "theirs=:NoSchedule"}; !slices.Equal(taints, want) {
		t.Errorf("taints %v, want %v", taints, want)
	}
	if claim.NodeUID != node.UID || !node.Finalizer {
		t.Errorf("the claim has node %s; our finalizer is on it: %v", claim.NodeUID, node.Finalizer)
	}
}

// Hydration (F098): nodes and objects that came into being before there was a finalizer, or lost it or the label of their
// class, get them; nobody else's node does, and none that is being deleted.
func TestF098WhatALivingClaimLacksIsCompleted(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 2, world.Shape(1500, gib))
	pass(t, w, provision.TriggerBatch)
	settle(t, w)
	nodes := w.Cluster.Nodes()
	for i, node := range nodes {
		node.Finalizer = false
		node.Labels = withTag(node.Labels, model.LabelNodeClass, "of before")
		if i == 1 {
			node.DeletedUnix = w.Clock.Now().Unix()
		}
		w.Cluster.PutNode(node)
	}
	w.Cluster.PutNode(model.Node{Name: "stranger", ProviderID: "aws:///z/i-stranger", Ready: true})
	w.Cluster.HoldClaims(true)
	for _, object := range w.Cluster.Claims() {
		if object.Finalizer {
			t.Fatal("the object has the finalizer already")
		}
	}
	pass(t, w, provision.TriggerResync)
	for _, node := range w.Cluster.Nodes() {
		want := node.Name == nodes[0].Name
		if node.Finalizer != want || (node.Labels[model.LabelNodeClass] == "default") != want {
			t.Errorf("node %s has the finalizer: %v, labels %v", node.Name, node.Finalizer, node.Labels)
		}
	}
	for _, object := range w.Cluster.Claims() {
		if !object.Finalizer {
			t.Errorf("object %s lacks the finalizer", object.Claim.Name)
		}
	}
	before := effectsOf(t, w, provision.TriggerResync)
	if count(before, "node") != 0 || count(before, "show") != 0 {
		t.Errorf("once more: %v", before)
	}
}

// F099: whoever boots the node has its taints in hand.
func TestF099LabeledNodeKeepsItsOwnTaints(t *testing.T) {
	pool := world.Pool("default", "default")
	pool.Template.StartupTaints = []model.Taint{{Key: "agent", Effect: model.NoExecute}}
	w := joined(t, pool, world.Shape(900, gib), true)
	node := onlyNode(t, w)
	node.Labels = withTag(node.Labels, model.LabelDoNotSync, "true")
	node.Taints = []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}, {Key: "own", Effect: model.NoSchedule}}
	w.Cluster.PutNode(node)
	outcome := pass(t, w, provision.TriggerNode)
	node = onlyNode(t, w)
	if !node.Registered() || hasKey(node.Taints, "agent") || !hasKey(node.Taints, "own") || hasKey(node.Taints, model.TaintUnregistered) {
		t.Errorf("node %v %v", node.Labels, node.Taints)
	}
	if outcome.Initialized != 1 {
		t.Errorf("%+v: nothing is to be waited for", outcome)
	}
}

// F100, CT-09: a hook that has not finished is named, holds the taint, and all else of the registration is there already.
func TestF100_CT09PendingHookHoldsRegistrationAndIsNamed(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	recorded(t, w, "default", func(s *model.ClassStatus) {
		s.PlacementGroup = &model.PlacementGroup{ID: "pg-1", Strategy: "partition", Partitions: 3}
	})
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	claim := load(t, w).Claims[0]
	claim.Labels = withTag(claim.Labels, model.LabelPartition, "")
	if _, err := w.Ledger.Advance(t.Context(), world.Name, claim); err != nil {
		t.Fatal(err)
	}
	w.Fleet.Throttle("DescribeInstances", 0, 0.5)
	for range 6 {
		w.Tick(10 * time.Second)
		_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
	}
	node := onlyNode(t, w)
	if node.Registered() || !hasKey(node.Taints, model.TaintUnregistered) {
		t.Errorf("registered: %v %v", node.Labels, node.Taints)
	}
	if node.Labels[model.LabelNodeClass] != "default" {
		t.Errorf("the rest of the registration is not there: %v", node.Labels)
	}
	if got := shown(t, w); got != "Launched RegistrationHookPending" || !strings.Contains(onlyClaim(t, w).WaitMessage, "placement-group-partition") {
		t.Errorf("the object shows %q, %q", got, onlyClaim(t, w).WaitMessage)
	}
	w.Fleet.Throttle("DescribeInstances", 0, 0)
	settle(t, w)
	if got := shown(t, w); got != "Initialized" || hasKey(onlyNode(t, w).Taints, model.TaintUnregistered) {
		t.Errorf("in the end %q", got)
	}
}

// F096: two nodes of one provider id are shown, and told, and come right when one goes.
func TestF096TwoNodesOfOneInstanceAreShownAndComeRight(t *testing.T) {
	w := joined(t, world.Pool("default", "default"), world.Shape(900, gib), true)
	twin := onlyNode(t, w)
	twin.Name, twin.UID = "twin", ""
	w.Cluster.PutNode(twin)
	for range 2 {
		pass(t, w, provision.TriggerNode)
	}
	if got := shown(t, w); got != "Launched MultipleNodesFound" || !strings.Contains(onlyClaim(t, w).WaitMessage, "twin") {
		t.Errorf("the object shows %q, %q", got, onlyClaim(t, w).WaitMessage)
	}
	w.Cluster.DeleteNode("twin")
	pass(t, w, provision.TriggerNode)
	if got := shown(t, w); got != "Initialized" {
		t.Errorf("in the end %q", got)
	}
}
