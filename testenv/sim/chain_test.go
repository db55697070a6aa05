package sim_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// F066: pods each of which must be on the host of the one before run together on one instance, whatever the order of their names, as
// Karpenter's spec of dependent affinities has it. Each order is one that a plan may see them in.
func TestScenarioChainsOfOneHostRun(t *testing.T) {
	for _, links := range [][]string{{"a", "b", "c", "d"}, {"d", "c", "b", "a"}, {"b", "d", "a", "c"}} {
		c := small(0, 12*time.Minute)
		c.Scenario.Workloads, c.Scenario.Types = nil, []string{"m5.large", "m5.2xlarge"} // two fit the smaller one, all of them the larger
		for i, name := range links {
			shape := world.Shape(800+int64(i), 128<<20)
			shape.Labels = map[string]string{"app": name}
			if i > 0 {
				shape.PodAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: &model.Selector{MatchLabels: map[string]string{"app": links[i-1]}}}}
			}
			c.Scenario.Workloads = append(c.Scenario.Workloads, world.Workload{Kind: world.Deployment, Name: name, Shape: shape, Replicas: 1})
		}
		d := play(t, c)
		d.alone(t, 1)
		bound := map[string]bool{}
		for _, e := range d.entries {
			if fact, ok := e.Fact.(world.ObjectWritten); ok && fact.Kind == world.KindPod && fact.Pod != nil && fact.Pod.NodeName != "" {
				bound[fact.Name] = true
			}
		}
		if len(bound) != len(links) {
			t.Errorf("%v: %d of %d pods were bound", links, len(bound), len(links))
		}
	}
}
