package main

import (
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
)

// measured is what a look at a cluster means as metrics.
func measured(out disrupt.Outcome) []boot.Sample {
	samples := []boot.Sample{
		boot.VoluntaryDisruptionQueueFailures.Of(float64(out.Undone), out.Cluster),
		boot.SavingsPerHour.Of(out.Savings, out.Cluster),
		boot.PricePerHour.Of(out.PriceBefore, out.Cluster),
	}
	for _, d := range out.Decided {
		decision := "delete"
		if d.Replaces {
			decision = "replace"
		}
		samples = append(samples, boot.VoluntaryDisruptionDecisions.Of(float64(d.Commands), out.Cluster, d.Reason, decision))
	}
	return samples
}
