package main

import (
	"context"

	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/wire"
)

// hints asks for passes through the function's own queue, and tells who launches through the plan queue.
type hints struct {
	own  *sqsqueue.Delayed
	plan *sqsqueue.Plans
}

// Look sends a sweep to the own queue.
func (h hints) Look(ctx context.Context, cluster, key string) error {
	return h.own.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonSweep, Tick: key}, 0)
}

// Ready sends a config hint to the plan queue.
func (h hints) Ready(ctx context.Context, cluster, key string) error {
	return h.plan.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonConfig, Tick: key})
}

// judges asks who gives nodes back through a standard queue.
type judges struct{ queue *sqsqueue.Delayed }

// Judge sends a judge hint.
func (j judges) Judge(ctx context.Context, cluster, key string) error {
	return j.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonJudge, Tick: key}, 0)
}
