package main

import (
	"context"

	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/wire"
)

// hints asks for passes through the function's own queue, and tells who launches through the plan queue.
type hints struct {
	own  *sqsqueue.DelayQueue
	plan *sqsqueue.PlanQueues
}

// RequestPass sends a resync to the own queue.
func (h hints) RequestPass(ctx context.Context, cluster, key string) error {
	return h.own.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: key}, 0)
}

// Ready sends a config hint to the plan queue.
func (h hints) Ready(ctx context.Context, cluster, key string) error {
	return h.plan.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonConfig, Tick: key})
}

// disruptions asks the disruption function through a standard queue.
type disruptions struct{ queue *sqsqueue.DelayQueue }

// RequestDisruption sends a disruption hint.
func (j disruptions) RequestDisruption(ctx context.Context, cluster, key string) error {
	return j.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDisrupt, Tick: key}, 0)
}
