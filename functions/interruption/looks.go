package main

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/wire"
)

// looks asks for looks and for steps of drains through the function's own queue.
type looks struct {
	queue *sqsqueue.Delayed
}

// Look sends a hint that arrives after a while.
func (l looks) Look(ctx context.Context, cluster, key string, after time.Duration) error {
	return l.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonSweep, Tick: key}, after)
}

// Drain sends a hint that asks for the next step of a cluster's drains after a while.
func (l looks) Drain(ctx context.Context, cluster, key string, after time.Duration) error {
	return l.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDrain, Tick: key}, after)
}

// plans asks provision for a plan through the plan queue.
type plans struct {
	queue *sqsqueue.Plans
}

// Plan sends a hint that pods must leave; the plan queue takes the same key of the same cluster once.
func (p plans) Plan(ctx context.Context, cluster, key string) error {
	return p.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDrain, Tick: key})
}

// judges asks for a look at what to give back.
type judges struct{ queue *sqsqueue.Delayed }

// Judge sends a judge hint.
func (j judges) Judge(ctx context.Context, cluster, key string) error {
	return j.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonJudge, Tick: key}, 0)
}
