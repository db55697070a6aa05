package sim_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// shrinking is an hour in which three replicas stand in three zones beside a workload that shrinks, so that nodes are disrupted.
func shrinking(change func(shape *model.PodShape)) sim.Config {
	c := small(12, time.Hour)
	c.Scenario.Types, c.Scenario.Choices = []string{"m5.large", "m5.xlarge", "m5.2xlarge"}, true
	c.Scenario.Pools = []model.Pool{thrifty("web", 30, world.Need(model.LabelCapacityType, model.OnDemand))}
	c.Scenario.Workloads[0].Shape = world.Shape(700, 1<<30)
	c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(10 * time.Minute), Replicas: 4}, {At: world.Start.Add(30 * time.Minute), Replicas: 1}}
	shape := world.Shape(300, 1<<30)
	shape.Labels = map[string]string{"app": "three"}
	change(&shape)
	c.Scenario.Workloads = append(c.Scenario.Workloads, world.Workload{Kind: world.Deployment, Name: "three", Shape: shape, Replicas: 3})
	return c
}

// zonesOf returns how many of a workload's pods are bound, and in how many zones.
func zonesOf(w *world.World, app string) (pods, zones int) {
	zone, seen := map[string]string{}, map[string]bool{}
	for _, node := range w.Cluster.Nodes() {
		zone[node.Name] = node.Labels[model.LabelZone]
	}
	for _, pod := range w.Cluster.Pods() {
		if shape := w.Cluster.ShapeOf(&pod); shape.Labels["app"] == app && pod.NodeName != "" && pod.DeletedUnix == 0 {
			pods++
			seen[zone[pod.NodeName]] = true
		}
	}
	return pods, len(seen)
}

// K1: three replicas in three zones stay there through an hour of consolidation, at every second of it and whatever the hour brings. (Without
// minDomains kube-scheduler would put all of them on the first node there is.)
func TestK1ThreeReplicasStayInThreeZonesThroughAnHour(t *testing.T) {
	t.Parallel()
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	commands := 0
	for seed := uint64(1); seed <= seeds; seed++ {
		c := shrinking(func(s *model.PodShape) {
			s.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, MinDomains: 3, Selector: &model.Selector{MatchLabels: s.Labels}}}
		})
		c.Seed = seed
		checks := 0
		c.Scenario.Arrange = func(w *world.World, after func(time.Duration, func())) {
			for second := 8 * 60; second < 60*60; second++ {
				after(time.Duration(second)*time.Second, func() {
					if pods, zones := zonesOf(w, "three"); pods != zones {
						t.Errorf("seed %d, second %d: %d pods are in %d zones", seed, second, pods, zones)
					} else if pods == 3 {
						checks++
					}
				})
			}
		}
		d := play(t, c)
		if pods, zones := zonesOf(d.world, "three"); pods != 3 || zones != 3 {
			t.Errorf("seed %d: at the end %d pods are in %d zones", seed, pods, zones)
		}
		given := len(d.commands())
		if commands += given; given < 1 || checks < 40*60 {
			t.Errorf("seed %d: %d commands, and all three replicas run in %d of 3120 looks: the test shows nothing", seed, given, checks)
		}
	}
	if commands < 2*int(seeds) {
		t.Errorf("%d commands in %d runs: the test shows nothing", commands, seeds)
	}
}
