package sim_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// evil is in all that the hostile watcher makes up.
const evil = "evil"

// lied is a world whose pods come in bursts and want more than the NodePool's limit lets them have, and whose watcher publishes, all the
// time, that the NodePool has neither limits nor requirements, that there is another, which goes first, and that the class has user data,
// tags and subnets of the liar's. EC2 and the API server fail now and then.
func lied(seed uint64) sim.Config {
	c := small(0, 30*time.Minute)
	c.Seed = seed
	c.Scenario.Types = []string{"m5.large", "m5.4xlarge", "c5.large"}
	pool := world.Pool("web", "default", world.Need(model.LabelInstanceType, "m5.large"), world.Need(model.LabelCapacityType, model.OnDemand))
	pool.Limits = model.Resources{model.Nodes: 4}
	c.Scenario.Pools = []model.Pool{pool}
	for i, n := range []int{2, 6, 1, 5} {
		c.Scenario.Workloads[0].Steps = append(c.Scenario.Workloads[0].Steps, world.Step{At: world.Start.Add(time.Duration(1+5*i) * time.Minute), Replicas: n})
	}
	c.Plan = []sim.Source{{Kind: sim.KindError, Rate: 0.05, Until: 20 * time.Minute}, {Kind: sim.KindLost, Rate: 0.05, Until: 20 * time.Minute}}
	c.Scenario.Arrange = func(w *world.World, _ func(time.Duration, func())) {
		w.Lie(func(s *model.Snapshot) {
			for i := range s.Pools {
				s.Pools[i].Limits, s.Pools[i].Template.Requirements = nil, nil
			}
			if len(s.Pools) > 0 {
				made := s.Pools[0]
				made.Name, made.UID, made.Weight = evil, evil, 100
				s.Pools = append([]model.Pool{made}, s.Pools...)
			}
			for i := range s.Classes {
				class := &s.Classes[i]
				class.UserData, class.Tags = "#!/bin/sh\necho "+evil, map[string]string{evil: evil}
				class.Status.ObservedGeneration, class.Status.ResolvedUnix = class.Generation, s.AtUnix+3600
				class.Status.Subnets = []model.Subnet{{ID: "subnet-" + evil, Zone: "us-west-2a", FreeAddresses: 1000}}
			}
		})
	}
	return c
}

// W6: whatever a hostile watcher publishes of NodePools and EC2NodeClasses, no instance is launched by it, and what people have applied is
// launched as ever, within its limits, while operations fail.
func TestScenarioWatcherLiesOfNodePools(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 5; seed++ {
		d := play(t, lied(seed))
		launched := 0
		for _, e := range d.entries {
			fact, is := e.Fact.(world.InstanceStarted)
			if !is {
				continue
			}
			launched++
			m := fact.Instance
			said := strings.Join([]string{m.SubnetID, m.Tags["karpenter.sh/nodepool"]}, " ")
			for key := range maps.Keys(m.Tags) {
				said += " " + key
			}
			if m.Type != "m5.large" || strings.Contains(said, evil) || bytes.Contains(fact.UserData, []byte(evil)) {
				t.Errorf("seed %d: at %s a %s was launched: %s\n%s", seed, e.At.Sub(world.Start), m.Type, said, fact.UserData)
			}
		}
		if launched < 4 || len(d.world.Cluster.Waiting()) != 1 || d.running() != 4 {
			t.Errorf("seed %d: %d machines were launched, %d run, and %d pods wait; want 4 that run and one pod that waits for the limit", seed, launched, d.running(), len(d.world.Cluster.Waiting()))
		}
	}
}
