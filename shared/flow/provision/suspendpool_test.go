package provision_test

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

var late = model.Taint{Key: "late", Effect: model.NoSchedule}

// spoilt are the ways in which a node comes up otherwise than anybody could know, each with what people learn of it.
var spoilt = map[string]struct {
	spoil    world.Spoil
	reported string
}{
	"an undeclared taint":         {world.Spoil{Taint: &late}, "late:NoSchedule"},
	"a label that never comes":    {world.Spoil{Label: model.LabelArch}, model.LabelArch},
	"a daemon that eats the room": {world.Spoil{Daemon: daemonShape()}, "too little cpu"},
}

func daemonShape() *model.PodShape {
	shape := world.Shape(1500, gib)
	shape.OwnerKind = "Node"
	return &shape
}

// spoil returns a world whose nodes come up spoilt a second after they joined, and n pods of one instance each.
func spoil(t *testing.T, s world.Spoil, n int) *world.World {
	t.Helper()
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Kubelets.Spoil(s)
	shape := world.Shape(1500, gib)
	shape.NodeSelector = map[string]string{model.LabelArch: "amd64"}
	pending(w, "web", n, shape)
	return w
}

// resyncThrough runs the flow every ten seconds.
func resyncThrough(t *testing.T, w *world.World, length time.Duration) {
	t.Helper()
	for end := w.Clock.Now().Add(length); w.Clock.Now().Before(end); w.Tick(10 * time.Second) {
		pass(t, w, provision.TriggerResync)
	}
}

// R12, M1, M23: an instance whose node takes none of the pods it was bought for is bought once more, and then the
// NodePool is held. Taint and pod are named.
func TestR12AnInstanceThatTakesNoneOfItsPodsIsBoughtOnceMoreAndThenHeld(t *testing.T) {
	for name, c := range spoilt {
		t.Run(name, func(t *testing.T) {
			w := spoil(t, c.spoil, 1)
			resyncThrough(t, w, time.Hour)
			if n := len(w.Fleet.Instances()); n != 2 {
				t.Fatalf("%d machines in the first hour, want 2", n)
			}
			for _, event := range []model.Event{
				eventOf(w.Cluster.Events("NodePool", "default"), "NodesDoNotTakePods"), eventOf(w.Cluster.Events("Pod", "web-0"), "FailedScheduling"),
			} {
				if !event.Warning || !strings.Contains(event.Message, c.reported) || !strings.Contains(event.Message, "default/web-0") {
					t.Errorf("told %+v, want it to name %s and the pod", event, c.reported)
				}
			}
			if got := w.Cluster.PoolCondition("default", "NodesTakePods"); got.Status != "False" || !strings.Contains(got.Message, c.reported) {
				t.Errorf("the pool's condition is %+v", got)
			}
			resyncThrough(t, w, 5*time.Hour)
			if n := len(w.Fleet.Instances()); n > 5 { // one after an hour, two hours, four hours
				t.Errorf("%d machines in six hours", n)
			}
		})
	}
}

// A burst of instances is one incident: one more shows that it lasts.
func TestR12ABurstOfUselessInstancesIsOneIncident(t *testing.T) {
	w := spoil(t, world.Spoil{Taint: &late}, 12)
	resyncThrough(t, w, time.Hour)
	if n := len(w.Fleet.Instances()); n != 13 {
		t.Errorf("%d machines, want the 12 and one more", n)
	}
}

func TestR12AHeldPoolIsUsedAgainOnceTheTaintIsDeclaredOrGone(t *testing.T) {
	mend := map[string]func(w *world.World){
		"startup taint": func(w *world.World) {
			pool := world.Pool("default", "default")
			pool.Template.StartupTaints = []model.Taint{late}
			w.Cluster.AddPool(pool)
			w.Kubelets.Spoil(world.Spoil{Taint: &late, For: 5 * time.Second})
		},
		"gone": func(w *world.World) { w.Kubelets.Unspoil() },
	}
	for name, do := range mend {
		t.Run(name, func(t *testing.T) {
			w := spoil(t, world.Spoil{Taint: &late}, 1)
			resyncThrough(t, w, 20*time.Minute)
			if len(w.Fleet.Instances()) != 2 || len(w.Cluster.Waiting()) != 1 {
				t.Fatalf("%d machines, waiting: %v", len(w.Fleet.Instances()), w.Cluster.Waiting())
			}
			do(w)
			w.Tick(time.Second)
			resyncThrough(t, w, time.Minute)
			if waiting := w.Cluster.Waiting(); len(waiting) != 0 {
				t.Errorf("after a minute there wait %v", waiting)
			}
			if got := w.Cluster.PoolCondition("default", "NodesTakePods"); got.Status != "True" {
				t.Errorf("the pool's condition is %+v", got)
			}
			for _, suspension := range load(t, w).Notes.PoolSuspensions {
				if suspension.Instances != 0 {
					t.Errorf("held still: %+v", suspension)
				}
			}
		})
	}
}

// Pods that can use another pool go there, and those that tolerate what nobody declared run on the nodes there are.
func TestR12AHeldPoolIsInNobodyElsesWay(t *testing.T) {
	w := spoil(t, world.Spoil{Taint: &late}, 1)
	resyncThrough(t, w, 10*time.Minute)
	w.Kubelets.Spoil(world.Spoil{}) // what joins from now on is as it should be
	w.Cluster.AddPool(world.Pool("other", "default"))
	w.Tick(time.Second)
	resyncThrough(t, w, 2*time.Minute)
	if waiting := w.Cluster.Waiting(); len(waiting) != 0 {
		t.Errorf("there wait %v", waiting)
	}
	claims := 0
	for _, claim := range load(t, w).Claims {
		if claim.Pool == "other" {
			claims++
		}
	}
	if claims != 1 {
		t.Errorf("%d machines of the other pool, want 1", claims)
	}
}

// What happens to a node or its pods while it comes up is no instance bought without effect.
func TestR12BenignRacesHoldNoPool(t *testing.T) {
	races := map[string]func(w *world.World){
		"its pod was deleted": func(w *world.World) { w.Cluster.DeletePod("default", "web-0") },
		"its node is cordoned": func(w *world.World) {
			w.Kubelets.Spoil(world.Spoil{Taint: &model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule}})
		},
		"its startup taint is still on": func(w *world.World) {
			pool := world.Pool("default", "default")
			pool.Template.StartupTaints = []model.Taint{late}
			w.Cluster.AddPool(pool)
			w.Kubelets.Spoil(world.Spoil{Taint: &late})
		},
		"its machine was ended by people": func(w *world.World) {
			w.Tick(40 * time.Second)
			for _, instance := range w.Fleet.Instances() {
				w.Fleet.EndByHand(instance.ID)
			}
		},
	}
	for name, race := range races {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{Types: []string{"m5.large"}})
			if name == "its startup taint is still on" {
				race(w)
			}
			pending(w, "web", 1, world.Shape(1500, gib))
			pass(t, w, provision.TriggerBatch)
			race(w)
			resyncThrough(t, w, 3*time.Minute)
			if suspensions := load(t, w).Notes.PoolSuspensions; len(suspensions) != 0 {
				t.Errorf("holds %+v", suspensions)
			}
		})
	}
}
