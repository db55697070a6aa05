package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// held returns a world with a node and its NodeClaim, both with our finalizer.
func held(t *testing.T) (*world.World, model.Object, model.Object) {
	t.Helper()
	w := world.New(world.Options{Finalizers: true})
	w.Cluster.AddPool(world.Pool("web", "default"))
	snapshot, err := w.Cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	claim := model.Object{Name: "web-1"}
	if claim.UID, err = w.Cluster.PutClaim(t.Context(), model.Claim{Name: "web-1", Pool: "web", PoolUID: snapshot.Pools[0].UID}); err != nil {
		t.Fatal(err)
	}
	w.Cluster.PutNode(model.Node{Name: "a", UID: "a-1", Ready: true})
	node := model.Object{Name: "a", UID: "a-1"}
	if err := w.Cluster.PatchNode(t.Context(), model.NodePatch{Name: "a", UID: "a-1", Finalizer: true, Owner: &claim}); err != nil {
		t.Fatal(err)
	}
	return w, node, claim
}

func TestFinalizerHoldsADeletedObjectUntilItIsFreed(t *testing.T) {
	w, node, claim := held(t)
	for kind, object := range map[string]model.Object{world.KindNode: node, world.KindNodeClaim: claim} {
		other := object
		other.UID = "another"
		if _, err := w.Cluster.Free(t.Context(), kind, other); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s freed by another UID: %v", kind, err)
		}
		for range 2 { // once more changes nothing
			if err := w.Cluster.Remove(t.Context(), kind, object); err != nil {
				t.Fatal(err)
			}
		}
	}
	live, err := w.Cluster.ReadLive(t.Context())
	if err != nil || len(live.Nodes) != 1 || len(live.Objects) != 1 {
		t.Fatalf("%+v, %v", live, err)
	}
	now := w.Clock.Now().Unix()
	if n, o := live.Nodes[0], live.Objects[0]; n.DeletedUnix != now || !n.Finalizer || o.DeletedUnix != now || !o.Finalizer {
		t.Errorf("%+v %+v", n, o)
	}
	if err := w.Cluster.PatchNode(t.Context(), model.NodePatch{Name: "a", UID: "a-1", Finalizer: true}); err != nil {
		t.Fatal(err)
	}
	for kind, object := range map[string]model.Object{world.KindNode: node, world.KindNodeClaim: claim} {
		if _, err := w.Cluster.Free(t.Context(), kind, object); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Cluster.Free(t.Context(), kind, object); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s is there yet: %v", kind, err)
		}
	}
}

func TestDeletedPoolTakesItsClaimsAndTheyTheirNodes(t *testing.T) {
	w, node, claim := held(t)
	w.Cluster.Delete(world.KindPool, "web")
	w.Tick(2 * time.Second)
	if claims := w.Cluster.Claims(); len(claims) != 1 || claims[0].DeletedUnix == 0 {
		t.Fatalf("%+v", claims)
	}
	if nodes := w.Cluster.Nodes(); nodes[0].DeletedUnix != 0 {
		t.Fatal("the node goes with its NodeClaim, not before it")
	}
	if _, err := w.Cluster.Free(t.Context(), world.KindNodeClaim, claim); err != nil {
		t.Fatal(err)
	}
	w.Tick(2 * time.Second)
	if nodes := w.Cluster.Nodes(); nodes[0].DeletedUnix == 0 {
		t.Fatal("the node stayed")
	}
	if _, err := w.Cluster.Free(t.Context(), world.KindNode, node); err != nil {
		t.Fatal(err)
	}
	if nodes := w.Cluster.Nodes(); len(nodes) != 0 {
		t.Fatalf("%+v", nodes)
	}
}

func TestOccupiedHasPodsWithTheirGraceAndVolumesUntilTheyAreDetached(t *testing.T) {
	w := world.New(world.Options{Detach: world.Span{Min: 7 * time.Second}})
	w.Cluster.PutNode(model.Node{Name: "a", UID: "a-1", Ready: true, Allocatable: model.Resources{model.CPU: 4000, model.Memory: 8 << 30, model.Pods: 10}})
	w.Workloads.Add(world.Workload{Kind: world.StatefulSet, Name: "db", Shape: world.Shape(100, 1<<20), Replicas: 1, Stores: true})
	w.Tick(5 * time.Second)
	node := model.Object{Name: "a", UID: "a-1"}
	on, err := w.Cluster.Occupied(t.Context(), node)
	if err != nil || len(on.Pods) != 1 || len(on.Volumes) != 1 || !on.Volumes[0].Attached || on.Pods[0].Volumes[0] != on.Volumes[0].Volume {
		t.Fatalf("%+v, %v", on, err)
	}
	if p := on.Pods[0]; p.GraceSeconds != 30 || p.OwnerKind != world.StatefulSet || p.Phase != model.Running {
		t.Errorf("%+v", p)
	}
	if _, err := w.Cluster.Occupied(t.Context(), model.Object{Name: "a", UID: "a-2"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("another node: %v", err)
	}
	w.Workloads.Scale("db", 0)
	w.Tick(3 * time.Second) // its kubelet ends it after a second
	on, _ = w.Cluster.Occupied(t.Context(), node)
	if len(on.Pods) != 0 || len(on.Volumes) != 1 || on.Volumes[0].DeletedUnix == 0 {
		t.Fatalf("%+v", on)
	}
	w.Tick(10 * time.Second)
	if on, _ = w.Cluster.Occupied(t.Context(), node); len(on.Volumes) != 0 {
		t.Fatalf("%+v", on)
	}
}

func TestLeavingPodsAreDeletedWithAGrace(t *testing.T) {
	w := world.New(world.Options{})
	w.Cluster.PutNode(model.Node{Name: "a", UID: "a-1", Ready: true})
	w.Cluster.CreatePodOn("x", "a", world.Shape(100, 1<<20))
	ref := func() model.PodRef {
		p := w.Cluster.Pods()[0]
		return model.PodRef{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	}
	leaving := world.Leaving{Cluster: w.Cluster}
	if err := leaving.Delete(t.Context(), ref(), 0); !fault.Is(err, fault.Invalid) {
		t.Errorf("no grace: %v", err)
	}
	for _, name := range []string{"one", "two"} {
		w.Cluster.AddBudget(model.PDB{Namespace: "default", Name: name, Selector: &model.Selector{}})
	}
	if err := leaving.Evict(t.Context(), ref()); !fault.Is(err, fault.Invalid) || fault.CodeOf(err) != "TooManyBudgets" {
		t.Errorf("two budgets: %v", err)
	}
	if err := leaving.Delete(t.Context(), ref(), 5); err != nil || w.Cluster.Pods()[0].DeletedUnix != w.Clock.Now().Unix()+5 {
		t.Errorf("%v: %+v", err, w.Cluster.Pods())
	}
	if err := leaving.Delete(t.Context(), ref(), 60); err != nil || w.Cluster.Pods()[0].DeletedUnix != w.Clock.Now().Unix()+5 {
		t.Errorf("a later deletion: %v: %+v", err, w.Cluster.Pods())
	}
}

// An unready pod does not count for a budget that has enough without it.
func TestUnreadyPodMayGoWhereTheOthersAreEnough(t *testing.T) {
	w := world.New(world.Options{})
	w.Cluster.PutNode(model.Node{Name: "a", UID: "a-1", Ready: true, Allocatable: model.Resources{model.CPU: 4000, model.Memory: 8 << 30, model.Pods: 10}})
	w.Cluster.AddPods("ready", 2, world.Shape(100, 1<<20))
	w.Tick(time.Second)
	w.Cluster.CreatePodOn("sick", "a", world.Shape(100, 1<<20))
	w.Cluster.AddBudget(model.PDB{Namespace: "default", Name: "two", Selector: &model.Selector{}, MinAvailable: "2"})
	evict := func(name string) error {
		for _, p := range w.Cluster.Pods() {
			if p.Name == name {
				return world.Leaving{Cluster: w.Cluster}.Evict(context.Background(), model.PodRef{Namespace: p.Namespace, Name: p.Name, UID: p.UID})
			}
		}
		return nil
	}
	if err := evict("ready-0"); !fault.Is(err, fault.Throttled) {
		t.Errorf("a ready one: %v", err)
	}
	if err := evict("sick"); err != nil {
		t.Errorf("one that is not ready: %v", err)
	}
}
