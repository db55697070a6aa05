package probes

import (
	"slices"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

// All returns every probe, those that make nothing first, and instances last.
func All() []proof.Probe {
	var out []proof.Probe
	for _, kind := range []proof.Kind{proof.KindDryRuns, proof.KindSmall, proof.KindInstances} {
		for _, list := range [][]proof.Probe{
			front(), identity(), policies(), queues(), fifo(), objects(), tables(), transactions(), describing(), dryRuns(), templates(), keys(),
			refusals(), parameters(), limits(), clusters(), instances(), fleets(), reservations(), events(), // what ends the instance that others look at is last
		} {
			for _, p := range list {
				if p.Kind == kind {
					// A root user may assume no role.
					p.Needs.NamedCaller = slices.Contains(p.Rights, "sts:AssumeRole")
					out = append(out, p)
				}
			}
		}
	}
	return out
}
