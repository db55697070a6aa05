package sim_test

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/sim"
)

// M87: alarms go on and off while a workload grows and shrinks, and CloudWatch does not answer now and then. The
// auditor sees no command while one is on, and nothing is left waiting once it is off.
func TestM87AlarmsComeAndGo(t *testing.T) {
	t.Parallel()
	done := int64(0)
	for seed := range uint64(4) {
		r := sim.Run(busy(seed, sim.KindAlarms, 1))
		if len(r.Violations) > 0 {
			t.Errorf("seed %d: %s", seed, report(r))
		}
		done += r.Stats.Faults[sim.KindAlarms]
	}
	if done < 4 {
		t.Errorf("alarms came about %d times", done)
	}
}
