package sim

import (
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/world"
)

// Scenario is the world of a run and what people do in it.
type Scenario struct {
	Length time.Duration // until everything is healed
	Types  []string      // instance types on sale; nil = all
	Pools  int
	Pods   int // that are wanted over the run, in batches
	Batch  int // pods of one batch
}

// ConvergeWithin is how long after the last fault everything must have come right.
const ConvergeWithin = 5 * time.Minute

// drawScenario draws a small world.
func drawScenario(seed uint64) Scenario {
	d := newDraws(seed, "scenario")
	return Scenario{
		Length: d.between(10*time.Minute, 90*time.Minute), Pools: 1 + d.IntN(3), Pods: 1 + d.IntN(60), Batch: 1 + d.IntN(12),
		Types: []string{"m5.large", "m6g.large", "c5.xlarge", "m5.2xlarge"},
	}
}

// Draw returns the run of a seed.
func Draw(seed uint64) Config {
	c := Config{Seed: seed, Scenario: drawScenario(seed)}
	c.Plan = drawPlan(seed, c.Scenario.Length)
	return c
}

// world makes the scenario's world, with its classes and pools.
func (s Scenario) world(seed uint64) *world.World {
	d := newDraws(seed, "world")
	w := world.New(world.Options{Types: s.Types, Visibility: d.skewed(0, 4*time.Minute)})
	w.Cluster.AddClass(world.Class("default"))
	for i := range s.Pools {
		pool := world.Pool(fmt.Sprintf("pool-%d", i), "default")
		pool.Weight = int32(d.IntN(3) * 10)
		if d.IntN(3) == 0 {
			pool.Limits = model.Resources{model.Nodes: int64(1 + d.IntN(20))}
		}
		w.Cluster.AddPool(pool)
	}
	return w
}

// begin puts on the agenda what happens without a cause: people and schedules.
func (e *engine) begin() {
	s := e.config.Scenario
	people := newDraws(e.config.Seed, "people")
	for made := 0; made < s.Pods; made += s.Batch {
		first, n := made, min(s.Batch, s.Pods-made)
		at := people.between(0, s.Length*3/4)
		shape := world.Shape(100*int64(1+people.IntN(15)), int64(1+people.IntN(4))<<29)
		e.agenda.add(world.Start.Add(at), func() {
			e.world.Cluster.AddPods(fmt.Sprintf("batch-%d", first), n, shape)
			e.look()
		})
	}
	e.schedule(0)
}
