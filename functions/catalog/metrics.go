package main

import (
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
)

// measured is what a pass over a cluster means as metrics.
func measured(out catalog.Outcome) []boot.Sample {
	samples := []boot.Sample{boot.NodeClassesNotReady.Of(float64(len(out.NotReady)), out.Cluster)}
	for reason, n := range out.Drifted {
		samples = append(samples, boot.NodeClaimsDrifted.Of(float64(n), out.Cluster, reason))
	}
	return samples
}
