package sim_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// thrifty is a pool whose nodes are disrupted so many seconds after pods came or went last.
func thrifty(name string, after int64, needs ...model.Requirement) model.Pool {
	pool := world.Pool(name, "default", needs...)
	pool.Disruption = model.Disruption{Policy: "WhenEmptyOrUnderutilized", ConsolidateAfterSeconds: &after, Budgets: []model.Budget{{Nodes: "100%"}}}
	return pool
}

// Half of the pods go, and with them half of the instances, or more.
func TestChoicesGiveBackWhatIsEmptyOrHalfEmpty(t *testing.T) {
	c := small(12, 40*time.Minute)
	c.Scenario.Types = []string{"m5.large", "m5.xlarge", "m5.2xlarge"}
	c.Scenario.Choices = true
	c.Scenario.Pools = []model.Pool{thrifty("web", 30, world.Need(model.LabelCapacityType, model.OnDemand))}
	c.Scenario.Workloads[0].Shape = world.Shape(700, 1<<30)
	c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(10 * time.Minute), Replicas: 4}}
	d := play(t, c)
	d.alone(t, 1)

}
