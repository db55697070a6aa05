package provision_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// K9: a static pool that is being deleted, and that somebody's finalizer holds, is not filled.
func TestK9AStaticPoolThatIsBeingDeletedIsNotFilled(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "c5.large"}})
	n := int64(3)
	pool := world.Pool("fixed", "default")
	pool.Replicas, pool.DeletedUnix = &n, w.Clock.Now().Unix()
	w.Cluster.AddPool(pool)
	for range 3 {
		if outcome := pass(t, w, provision.TriggerConfig); outcome.Claims != 0 {
			t.Fatalf("%+v", outcome)
		}
	}
	pool.DeletedUnix = 0
	w.Cluster.AddPool(pool)
	if outcome := pass(t, w, provision.TriggerConfig); outcome.Claims != 3 {
		t.Errorf("the test shows nothing: %+v", outcome)
	}
}

// K10: each of several pools, static or not, says how many nodes it has itself.
func TestK10StatusNodesOfSeveralPools(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	two, none := int64(2), int64(0)
	fixed, empty := world.Pool("fixed", "default"), world.Pool("empty", "default")
	fixed.Replicas, empty.Replicas = &two, &none
	w.Cluster.AddPool(fixed)
	w.Cluster.AddPool(empty)
	shape := world.Shape(1200, gib)
	shape.NodeSelector = map[string]string{model.LabelNodePool: "default"}
	w.Cluster.AddPods("web", 3, shape)
	pass(t, w, provision.TriggerConfig)
	settle(t, w)
	for name, want := range map[string]int64{"default": 3, "fixed": 2, "empty": 0} {
		if status := w.Cluster.PoolStatus(name); status.Nodes != want || status.Resources[model.Nodes] != want {
			t.Errorf("NodePool %s has %d nodes, want %d: %v", name, status.Nodes, want, status.Resources)
		}
	}
}

// K11: a node of another controller's NodeClaim, whose NodePool is none of ours, is not registered, and nothing is launched for it.
func TestK11NodesOfAnotherControllersPoolAreLeftAlone(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	theirs := model.Node{
		Name: "theirs", UID: "n-theirs", ProviderID: "aws:///us-west-2a/i-0123456789abcdef0", Ready: true,
		Labels: map[string]string{model.LabelNodePool: "auto"}, Taints: []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}},
		Capacity: model.Resources{model.CPU: 2000}, Allocatable: model.Resources{model.CPU: 2000},
	}
	w.Cluster.PutNode(theirs)
	w.Tick(time.Second)
	if outcome := pass(t, w, provision.TriggerNode); outcome.Registered+outcome.Initialized+outcome.Claims != 0 {
		t.Errorf("%+v", outcome)
	}
	snapshot, err := w.Cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range snapshot.Nodes {
		if node.Name == "theirs" && (node.Finalizer || node.Registered() || len(node.Taints) != 1 || len(node.Labels) != 1) {
			t.Errorf("%+v", node)
		}
	}
}
