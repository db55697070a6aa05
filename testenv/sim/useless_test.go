package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// asked is a pod that somebody creates so long after the run began.
type asked struct {
	after time.Duration
	shape model.PodShape
}

// uselessInstances are pods of many kinds: what is bought without effect for one of them is bought without effect for each.
func uselessInstances() map[string][]asked {
	shape := func(cpu int64, change func(s *model.PodShape)) model.PodShape {
		s := world.Shape(cpu, 256<<20)
		s.Labels = map[string]string{"cpu": fmt.Sprint(cpu)}
		if change != nil {
			change(&s)
		}
		return s
	}
	in := func(zone string) func(s *model.PodShape) {
		return func(s *model.PodShape) { s.NodeSelector = map[string]string{model.LabelZone: zone} }
	}
	alone := func(s *model.PodShape) {
		s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: &model.Selector{MatchLabels: s.Labels}}}
	}
	spread := func(s *model.PodShape) {
		s.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: &model.Selector{MatchLabels: s.Labels}}}
	}
	elsewhere := func(s *model.PodShape) { s.Namespace, s.Priority = "elsewhere", 1000 }
	zones := catalog.Zones()
	return map[string][]asked{
		"one pod":                        {{0, shape(1500, nil)}},
		"shapes that share a machine":    {{0, shape(100, nil)}, {0, shape(250, alone)}, {0, shape(300, elsewhere)}, {0, shape(170, spread)}},
		"another shape every so often":   {{0, shape(100, nil)}, {6 * time.Minute, shape(1100, alone)}, {13 * time.Minute, shape(1200, nil)}, {31 * time.Minute, shape(1300, elsewhere)}, {50 * time.Minute, shape(400, spread)}},
		"another zone every so often":    {{0, shape(1500, in(zones[0].Name))}, {8 * time.Minute, shape(1500, in(zones[1].Name))}, {20 * time.Minute, shape(1500, in(zones[2].Name))}},
		"the same shape again and again": {{0, shape(1500, nil)}, {7 * time.Minute, shape(1500, nil)}, {14 * time.Minute, shape(1500, nil)}, {21 * time.Minute, shape(1500, nil)}, {28 * time.Minute, shape(1500, nil)}},
	}
}

// R12, B11, M1, M23: with a taint on every new node that nobody declared, and everything on, nodes that are disrupted
// once they stand empty included, two instances are bought in the first hour, whatever the pods' shapes and whenever
// they come. People are told on the NodePool and on each pod, and a minute after the taint is declared the pods run,
// where instances join within 35 s.
func TestScenarioUselessInstancesAreBoughtOnceMore(t *testing.T) {
	seeds := uint64(2)
	if long() {
		seeds = 12
	}
	for name, pods := range uselessInstances() {
		for seed := uint64(1); seed <= seeds; seed++ {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				t.Parallel()
				boughtUseless(t, seed, pods)
			})
		}
	}
}

func boughtUseless(t *testing.T, seed uint64, pods []asked) {
	const declared = 62 * time.Minute
	thriftyPool := func() model.Pool { return thrifty("web", 30, world.Need(model.LabelCapacityType, model.OnDemand)) }
	taint := model.Taint{Key: "late", Effect: model.NoSchedule}
	waiting := -1
	c := small(0, declared+8*time.Minute)
	c.Seed, c.Scenario.Workloads, c.Scenario.Boot = seed, nil, world.Span{Min: 20 * time.Second, Max: 35 * time.Second}
	c.Scenario.Choices, c.Scenario.Pools = true, []model.Pool{thriftyPool()}
	c.Scenario.Arrange = func(w *world.World, after func(time.Duration, func())) {
		w.Kubelets.Spoil(world.Spoil{Taint: &taint})
		for i, p := range pods {
			after(p.after, func() { w.Cluster.CreatePod(fmt.Sprintf("pod-%d", i), p.shape) })
		}
		after(declared, func() {
			w.Kubelets.Spoil(world.Spoil{Taint: &taint, For: 5 * time.Second}) // whoever it is for takes it off
			pool := thriftyPool()
			pool.Template.StartupTaints = []model.Taint{taint}
			w.Cluster.AddPool(pool)
		})
		after(declared+time.Minute, func() { waiting = len(w.Cluster.Waiting()) })
	}
	d := play(t, c)
	var launched []time.Duration
	bound := map[string]time.Duration{}
	for _, e := range d.entries {
		switch fact := e.Fact.(type) {
		case world.InstanceStarted:
			launched = append(launched, e.At.Sub(world.Start).Round(time.Second))
		case world.ObjectWritten:
			if fact.Kind == world.KindPod && fact.Pod != nil && fact.Pod.NodeName != "" && bound[fact.Name] == 0 {
				bound[fact.Name] = e.At.Sub(world.Start)
			}
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(launched), func(at time.Duration) bool { return at > declared })); n > 2 || n == 0 {
		t.Errorf("%d machines before the taint was declared: %v", n, launched)
	}
	if waiting != 0 || len(bound) != len(pods) {
		t.Errorf("%d of %d pods wait a minute after the taint was declared; bound: %v; machines: %v", waiting, len(pods), bound, launched)
	}
	for name, at := range bound {
		if at < declared {
			t.Errorf("%s was bound after %s, before the taint was declared", name, at)
		}
	}
	reported := func(kind, name, reason string) bool {
		return slices.ContainsFunc(d.world.Cluster.Events(kind, name), func(event model.Event) bool {
			return event.Reason == reason && event.Warning && strings.Contains(event.Message, "late:NoSchedule")
		})
	}
	if !reported("NodePool", "web", "NodesDoNotTakePods") {
		t.Errorf("the NodePool is told %+v", d.world.Cluster.Events("NodePool", "web"))
	}
	for i := range pods {
		if name := fmt.Sprintf("pod-%d", i); !reported("Pod", name, "FailedScheduling") {
			t.Errorf("pod %s is told %+v", name, d.world.Cluster.Events("Pod", name))
		}
	}
}

// F1: instances launched while nothing can join are one failure of their class, which is not held for it.
func TestScenarioInstancesOfOneIncidentAreOneFailure(t *testing.T) {
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
