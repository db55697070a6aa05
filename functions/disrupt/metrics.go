package main

import (
	"cmp"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
)

// measured is what a look at a cluster means as metrics.
func measured(out disrupt.Outcome) []boot.Sample {
	samples := []boot.Sample{
		boot.VoluntaryDisruptionQueueFailures.Of(float64(out.Undone), out.Cluster),
		boot.SavingsPerHour.Of(out.Savings, out.Cluster),
		boot.PricePerHour.Of(out.PriceBefore, out.Cluster), boot.SavingsDelayedPerHour.Of(out.Delayed, out.Cluster),
	}
	for _, d := range out.Decided {
		decision := "delete"
		if d.Replaces {
			decision = "replace"
		}
		samples = append(samples, boot.VoluntaryDisruptionDecisions.Of(float64(d.Commands), out.Cluster, d.Reason, decision))
	}
	for _, m := range out.Moved {
		samples = append(samples,
			boot.PodsDisruptionInitiated.Of(float64(m.Pods), out.Cluster, m.Reason, cmp.Or(m.Policy, "None"), m.Mode))
	}
	for _, w := range out.Waiting {
		samples = append(samples, boot.NodesWaiting.Of(float64(w.Nodes), out.Cluster, w.Reason, w.Blocker))
	}
	return samples
}
