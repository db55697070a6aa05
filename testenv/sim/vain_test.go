package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/world"
)

// spoiltNodes is a world with everything on, nodes that are given back once they stand empty included, in which every node comes up with a
// taint that nobody declared, until the NodePool declares it after the given time.
func spoiltNodes(declared, length time.Duration) sim.Config {
	c := small(1, length)
	c.Scenario.Choices, c.Scenario.Pools = true, []model.Pool{thrifty("web", 30, world.Need(model.LabelCapacityType, model.OnDemand))}
	c.Scenario.Arrange = func(w *world.World, after func(time.Duration, func())) {
		taint := model.Taint{Key: "late", Effect: model.NoSchedule}
		w.Kubelets.Spoil(world.Spoil{Taint: &taint})
		after(declared, func() {
			w.Kubelets.Spoil(world.Spoil{Taint: &taint, For: 5 * time.Second}) // whoever it is for takes it off
			pool := thrifty("web", 30, world.Need(model.LabelCapacityType, model.OnDemand))
			pool.Template.StartupTaints = []model.Taint{taint}
			w.Cluster.AddPool(pool)
		})
	}
	return c
}

// R12, B11: with a taint on every new node that nobody declared two machines are bought in the first hour, people are told on the NodePool
// and the pod, and a minute after the taint is declared the pod runs.
func TestScenarioMachinesInVainAreBoughtOnceMore(t *testing.T) {
	t.Parallel()
	const declared = 62 * time.Minute
	d := play(t, spoiltNodes(declared, 70*time.Minute))
	var launched []time.Duration
	bound := time.Duration(0)
	for _, e := range d.entries {
		switch fact := e.Fact.(type) {
		case world.InstanceStarted:
			launched = append(launched, e.At.Sub(world.Start))
		case world.ObjectWritten:
			if fact.Kind == world.KindPod && fact.Pod != nil && fact.Pod.NodeName != "" && bound == 0 {
				bound = e.At.Sub(world.Start)
			}
		}
	}
	if first := slices.IndexFunc(launched, func(at time.Duration) bool { return at > time.Hour }); first > 2 || first < 0 && len(launched) > 2 {
		t.Errorf("machines launched at %v", launched)
	}
	if bound < declared || bound > declared+time.Minute {
		t.Errorf("the pod was bound after %s, and the taint declared after %s; machines launched at %v", bound, declared, launched)
	}
	told := func(kind, name, reason string) bool {
		return slices.ContainsFunc(d.world.Cluster.Events(kind, name), func(event model.Event) bool {
			return event.Reason == reason && event.Warning && strings.Contains(event.Message, "late:NoSchedule")
		})
	}
	if !told("NodePool", "web", "NodesDoNotTakePods") {
		t.Errorf("the NodePool is told %+v", d.world.Cluster.Events("NodePool", "web"))
	}
	pods := d.world.Cluster.Pods()
	if len(pods) != 1 || !told("Pod", pods[0].Name, "FailedScheduling") {
		t.Errorf("pods %+v are not told", pods)
	}
}

// F1: machines launched while nothing can join are one failure of their class, which is not held for it.
func TestScenarioMachinesOfOneIncidentAreOneFailure(t *testing.T) {
	t.Parallel()
	c := small(2, 40*time.Minute)
	for i := 1; i < 6; i++ {
		c.Scenario.Workloads[0].Steps = append(c.Scenario.Workloads[0].Steps, world.Step{At: world.Start.Add(time.Duration(i) * 20 * time.Second), Replicas: 2 + i})
	}
	c.Plan = []sim.Source{{Kind: sim.KindBurst, Rate: 1, From: 0, Until: 3 * time.Minute}}
	d := play(t, c)
	d.alone(t, 7)
	last := time.Duration(0)
	for _, e := range d.entries {
		if fact, ok := e.Fact.(world.ObjectWritten); ok && fact.Kind == world.KindPod && fact.Pod != nil && fact.Pod.NodeName != "" {
			last = e.At.Sub(world.Start)
		}
	}
	if last > 22*time.Minute {
		t.Errorf("the last pod was bound after %s", last)
	}
}
