package main

import (
	"context"

	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/wire"
)

// resyncs sends the hint of each minute through the plan queue of its cluster.
type resyncs struct {
	queue *sqsqueue.PlanQueues
}

// Resync sends one; the queue takes the same tick of the same cluster once.
func (s resyncs) Resync(ctx context.Context, cluster, tick string) error {
	return s.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: tick})
}

// disruptions asks the disruption function through a standard queue.
type disruptions struct{ queue *sqsqueue.DelayQueue }

// RequestDisruption sends a disruption hint.
func (j disruptions) RequestDisruption(ctx context.Context, cluster, key string) error {
	return j.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDisrupt, Tick: key}, 0)
}
