package sim

import (
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Constant is a run in which nothing changes any more from ConstantFrom on: pods, prices and capacity are what they are, some
// offers without any for good. Pods have preferences that cannot all be met, and before that many of them went, so that there is
// something to disrupt. Where something is disrupted and bought again for ever, it is seen here.
func Constant(seed uint64, length time.Duration) Config {
	d := newDraws(seed, "constant")
	s := Scenario{Length: length, Versions: 1, Choices: true, Types: []string{
		"m5.large", "m5.xlarge", "m5.2xlarge", "c5.large", "c5.xlarge", "c5.2xlarge", "r5.large", "r5.xlarge", "t3.medium", "m6g.large", "c6g.2xlarge",
	}[:4+d.IntN(8)]}
	for i := range 1 + d.IntN(2) {
		after := int64(d.between(0, 5*time.Minute) / time.Second)
		pool := world.Pool(fmt.Sprintf("pool-%d", i), "default")
		pool.Hash, pool.Weight = "1", int32(d.IntN(2)*10)
		pool.Disruption = model.Disruption{
			Policy:                  []string{"WhenEmptyOrUnderutilized", "WhenEmptyOrUnderutilized", "Balanced"}[d.IntN(3)],
			ConsolidateAfterSeconds: &after, Budgets: []model.Budget{{Nodes: []string{"100%", "30%", "1"}[d.IntN(3)]}},
		}
		if d.IntN(2) == 0 {
			pool.Template.Requirements = []model.Requirement{world.Need(model.LabelCapacityType, model.OnDemand)}
		}
		s.Pools = append(s.Pools, pool)
	}
	for i := range 3 + d.IntN(4) {
		w := world.Workload{
			Kind: []string{world.Deployment, world.Deployment, world.StatefulSet}[d.IntN(3)], Name: fmt.Sprintf("app-%d", i),
			Shape: world.Shape(50*int64(2+d.IntN(24)), int64(1+d.IntN(10))<<28), Replicas: 2 + d.IntN(10),
		}
		w.Shape.Labels = map[string]string{"app": w.Name}
		prefer(d, &w.Shape)
		w.Steps = []world.Step{{At: world.Start.Add(d.between(10*time.Minute, ConstantFrom)), Replicas: 1 + d.IntN(w.Replicas)}}
		s.Workloads = append(s.Workloads, w)
	}
	zones, dry := catalog.Zones(), world.Shortage{Code: "InsufficientInstanceCapacity", From: world.Start, Until: world.Start.Add(forever)}
	switch d.IntN(4) {
	case 0:
		dry.Offering.CapacityType = model.Spot
	case 1:
		dry.Offering.Zone = zones[d.IntN(len(zones))].Name
	default:
		dry.Offering.InstanceType = s.Types[d.IntN(len(s.Types))]
	}
	s.Arrange = func(w *world.World, _ func(time.Duration, func())) { w.Fleet.Short(dry) }
	return Config{Seed: seed, Scenario: s}
}

// ConstantFrom is from when on nothing changes in a constant run.
const ConstantFrom = 40 * time.Minute

// prefer gives pods preferences, such as cannot be met for all of them.
func prefer(d draws, shape *model.PodShape) {
	self := &model.Selector{MatchLabels: shape.Labels}
	apart := func(key string) model.PodTerm { return model.PodTerm{TopologyKey: key, Selector: self} }
	switch d.IntN(7) {
	case 0:
		shape.PreferredPodAntiAffinity = []model.WeightedPodTerm{{Weight: 100, Term: apart(model.LabelHostname)}}
	case 1:
		shape.PreferredPodAffinity = []model.WeightedPodTerm{{Weight: 50, Term: apart(model.LabelZone)}}
	case 2:
		shape.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Anyway: true, Selector: self}}
	case 3:
		shape.Spread = []model.Spread{{TopologyKey: model.LabelHostname, MaxSkew: 1, Selector: self}}
	case 4:
		shape.PreferredNodeAffinity = []model.WeightedTerm{{Weight: 1, Term: model.NodeTerm{Requirements: []model.Requirement{world.Need(model.LabelZone, catalog.Zones()[0].Name)}}}}
	}
}
