package sim_test

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// unborn returns the instances there ever were of which no record says why: which plan they are of, and what it was asked.
func unborn(w *world.World) []string {
	var out []string
	for _, entry := range w.Log.Since(0) {
		fact, is := entry.Fact.(world.LedgerWritten)
		if !is {
			continue
		}
		for _, change := range fact.Claims {
			claim := change.After
			if claim == nil || claim.InstanceID == "" || slices.Contains(out, claim.Name) {
				continue
			}
			d, kept := w.Store.Decision(claim.Decision)
			reported := slices.ContainsFunc(d.Rounds, func(r model.Round) bool {
				return r.Input != nil && slices.ContainsFunc(r.Plan.Claims, func(p model.PlannedClaim) bool { return p.Name == claim.Name && len(p.InstanceTypes) > 0 })
			})
			if !kept || !reported || d.Input == nil {
				out = append(out, claim.Name)
			}
		}
	}
	return out
}

// D4: whatever effect of provisioning a process dies at, or does not hear the end of, each instance resolves to the record of the decision
// that launched it.
func TestD4InstancesOfRunsThatDiedResolveToTheirDecision(t *testing.T) {
	t.Parallel()
	calm := sim.Run(sim.Tiny(2))
	modes := []world.Mode{world.DiesBefore, world.DiesAfter, world.LosesReply}
	if long() {
		modes = sim.EveryMode
	}
	crashes := sim.Crashes(calm, modes, "provision")
	if len(crashes) < 30 {
		t.Fatalf("%d runs: the test shows nothing", len(crashes))
	}
	for _, c := range crashes {
		c.After = func(w *world.World) {
			if names := unborn(w); len(names) > 0 {
				t.Errorf("%s: no record says why there are %v", c.Name(), names)
			}
		}
		sim.Run(c)
	}
	t.Logf("%d runs", len(crashes))
}
