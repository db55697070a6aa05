package main

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/wire"
)

// passes asks for looks and for steps of drains through the function's own queue.
type passes struct {
	queue *sqsqueue.DelayQueue
}

// RequestPass sends a hint that arrives after a while.
func (l passes) RequestPass(ctx context.Context, cluster, key string, after time.Duration) error {
	return l.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: key}, after)
}

// Drain sends a hint that asks for the next step of a cluster's drains after a while.
func (l passes) Drain(ctx context.Context, cluster, key string, after time.Duration) error {
	return l.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDrain, Tick: key}, after)
}

// plans asks provision for a plan through the plan queue.
type plans struct {
	queue *sqsqueue.PlanQueues
}

// Plan sends a hint that pods must leave; the plan queue takes the same key of the same cluster once.
func (p plans) Plan(ctx context.Context, cluster, key string) error {
	return p.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDrain, Tick: key})
}

// disruptions asks for a check of which nodes to disrupt.
type disruptions struct{ queue *sqsqueue.DelayQueue }

// RequestDisruption sends a disruption hint.
func (j disruptions) RequestDisruption(ctx context.Context, cluster, key string) error {
	return j.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDisrupt, Tick: key}, 0)
}
