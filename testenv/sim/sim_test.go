package sim_test

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/sim"
)

func TestSameSeedSameRun(t *testing.T) {
	for seed := range uint64(6) {
		a, b := sim.Run(sim.Draw(seed)), sim.Run(sim.Draw(seed))
		if a.Hash != b.Hash || a.Steps != b.Steps {
			t.Errorf("seed %d: %d steps %s, and then %d steps %s", seed, a.Steps, a.Hash, b.Steps, b.Hash)
		}
		t.Logf("seed %d: %+v", seed, a.Stats)
		for _, v := range a.Violations {
			t.Errorf("seed %d: %s", seed, v)
		}
	}
}
