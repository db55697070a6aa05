package sim_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// IN-07, M35: every spot instance of a cluster is interrupted in the same minute, with twenty pods on each. Half an
// hour later there are as many nodes as before, and all pods run.
func TestM35TwoHundredNodesOfTwentyPodsAreReplaced(t *testing.T) {
	nodes := 200
	if testing.Short() {
		nodes = 20
	}
	const perNode, warned, replaced = 20, 20 * time.Minute, 50 * time.Minute
	c := small(nodes*perNode, replaced+5*time.Minute)
	c.Scenario.Pools[0].Template.Requirements = nil
	c.Scenario.Workloads[0].Shape = world.Shape(1900/perNode, 64<<20)
	before, old, after, waiting := 0, 0, 0, -1
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		at(warned, func() {
			for _, id := range running(w) {
				if instance, _ := w.Fleet.Instance(id); instance.CapacityType == model.Spot {
					w.Fleet.Interrupt(id, 2*time.Minute)
					before++
				} else {
					old++
				}
			}
		})
		at(replaced, func() { after, waiting = len(running(w)), len(w.Cluster.Waiting()) })
	}
	play(t, c)
	if before+old != nodes || before < nodes*9/10 {
		t.Fatalf("%d spot instances were interrupted beside %d others, want %d in all", before, old, nodes)
	}
	if after != nodes || waiting != 0 {
		t.Errorf("half an hour later %d instances run, want %d, and %d pods wait", after, nodes, waiting)
	}
}

// running returns the ids of the instances of a world that have not ended.
func running(w *world.World) []string {
	var out []string
	for _, instance := range w.Fleet.Instances() {
		if !instance.Terminated {
			out = append(out, instance.ID)
		}
	}
	return out
}
