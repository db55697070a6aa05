package main

import (
	"time"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/provision"
)

// window is how long the watcher collected a batch, in Unix milliseconds of its clock.
type window struct {
	FirstSeen int64 `json:"firstSeenMillis"`
	Closed    int64 `json:"closedMillis"`
	Pods      int   `json:"pods"`
}

// measured is what a run that began at started means as metrics. batches are those of the watcher that it was for.
func measured(out provision.Outcome, batches []window, started time.Time) []boot.Sample {
	samples := []boot.Sample{
		boot.SchedulerQueueDepth.Of(float64(out.Pending), out.Cluster),
		boot.SchedulerUnschedulablePods.Of(float64(out.Unschedulable), out.Cluster),
		boot.LaunchesFailed.Of(float64(out.Failed)),
	}
	if planned, ok := out.Millis["plan1"]; ok {
		samples = append(samples, boot.SchedulingDuration.Of(float64(max(1, planned-out.Millis["catalog"])), out.Cluster))
	}
	if out.Source == "list" {
		samples = append(samples, boot.SilentWatchers.Of(1))
	}
	for _, b := range out.Bought {
		samples = append(samples, boot.NodeClaimsCreated.Of(float64(b.Claims), out.Cluster, b.Pool, b.CapacityType))
	}
	for code, n := range out.Failures {
		samples = append(samples, boot.CloudProviderErrors.Of(float64(n), out.Cluster, code))
	}
	for pool, n := range out.Joined {
		samples = append(samples, boot.NodesCreated.Of(float64(n), out.Cluster, pool))
	}
	if answered, ok := out.Millis["fleet"]; ok && out.Claims > 0 {
		samples = append(samples, boot.MillisToLaunch.Of(float64(max(1, answered))))
		for _, b := range batches {
			if waited := started.UnixMilli() + answered - b.FirstSeen; b.FirstSeen != 0 && waited > 0 {
				samples = append(samples, boot.PodsSchedulingDecisionDuration.Of(float64(waited), out.Cluster))
			}
		}
	}
	return samples
}
