package main

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/wire"
)

// disruptions asks for looks through the function's own queue.
type disruptions struct{ queue *sqsqueue.DelayQueue }

// RequestDisruption sends a hint that arrives after a while.
func (j disruptions) RequestDisruption(ctx context.Context, cluster, key string, after time.Duration) error {
	return j.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDisrupt, Tick: key}, after)
}

// drains asks for steps of drains through the queue of who empties nodes.
type drains struct{ queue *sqsqueue.DelayQueue }

// Drain sends a hint that asks for the next step of a cluster's drains after a while.
func (d drains) Drain(ctx context.Context, cluster, key string, after time.Duration) error {
	return d.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDrain, Tick: key}, after)
}

// plans asks provision through the plan queue.
type plans struct{ queue *sqsqueue.PlanQueues }

// Replace sends a hint that commands wait for instances; the plan queue takes the same key of the same cluster once.
func (p plans) Replace(ctx context.Context, cluster, key string) error {
	return p.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonReplace, Tick: key})
}
