package sim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// F095: the rules hold where pods claim devices that drivers publish late, twice or after the node is ready; make sim
// with -devices runs many more.
func TestF095RulesHoldWherePodsClaimDevices(t *testing.T) {
	t.Parallel()
	runs := uint64(12)
	if long() {
		runs = 300
	}
	allocated, slices := 0, 0
	draw := func(seed uint64) sim.Config {
		c := sim.DrawDevices(seed)
		c.Checkers = func() []audit.Checker {
			return append(audit.For(c.Scenario.DisruptRuns), rule{func(e world.Entry) bool {
				fact, ok := e.Fact.(world.ObjectWritten)
				if ok && fact.ResourceClaim != nil && strings.Contains(fact.ResourceClaim.Allocation, "device") {
					allocated++
				}
				if ok && fact.ResourceSlice != nil {
					slices++
				}
				return false
			}})
		}
		return c
	}
	alone := func(c sim.Config) bool { return c.Scenario.Neighbors == 0 } // their checkers are chosen by the engine
	stats, failed := sim.Campaign{First: 1, Runs: runs, Cores: 1, Draw: draw, Only: alone, Stop: 5, Now: time.Now}.Run()
	for _, r := range failed {
		t.Error(report(r))
	}
	t.Log(stats.String())
	if allocated < 50 || slices < 50 {
		t.Errorf("%d claims were allocated and %d slices published: too little to show anything", allocated, slices)
	}
}
