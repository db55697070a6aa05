package main

import (
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
)

// checked is what a look at a cluster means as metrics.
func checked(out interruption.Outcome) []boot.Sample {
	return append(ended(out.Cluster, out.Ended),
		boot.ClusterStateNodeCount.Of(float64(out.Nodes), out.Cluster),
		boot.RemovalsPutOff.Of(float64(out.Limited)),
	)
}

// drained is what a drain run means as metrics.
func drained(out interruption.DrainOutcome) []boot.Sample {
	return append(ended(out.Cluster, out.Ended),
		boot.PodsDrained.Of(float64(out.Evicted+out.Deleted), out.Cluster),
		boot.PodsEvictionsRefused.Of(float64(out.Refused), out.Cluster),
	)
}

// noticed is what a batch of notices means as metrics.
func noticed(out interruption.NoticesOutcome) []boot.Sample {
	var samples []boot.Sample
	for kind, n := range out.Kinds {
		samples = append(samples, boot.InterruptionReceivedMessages.Of(float64(n), kind))
	}
	return samples
}

// ended counts claims of a cluster whose instances have ended, by what is reported of them.
func ended(cluster string, claims []interruption.Ended) []boot.Sample {
	var samples []boot.Sample
	bought, reasons := map[[2]string]float64{}, map[string]float64{}
	for _, e := range claims {
		bought[[2]string{e.Pool, e.CapacityType}]++
		reasons[e.Reason]++
		samples = append(samples, boot.NodesTerminationDuration.Of(float64(e.Seconds), cluster))
	}
	for of, n := range bought {
		samples = append(samples, boot.NodeClaimsTerminated.Of(n, cluster, of[0], of[1]))
	}
	for reason, n := range reasons {
		samples = append(samples, boot.NodeClaimsDisrupted.Of(n, cluster, reason))
	}
	return samples
}
