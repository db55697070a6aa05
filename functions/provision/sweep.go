package main

import (
	"context"

	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/wire"
)

// sweeps sends the hint of each minute through the plan queue of its cluster.
type sweeps struct {
	queue *sqsqueue.Plans
}

// Sweep sends one; the queue takes the same tick of the same cluster once.
func (s sweeps) Sweep(ctx context.Context, cluster, tick string) error {
	return s.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonSweep, Tick: tick})
}

// judges asks who gives nodes back through a standard queue.
type judges struct{ queue *sqsqueue.Delayed }

// Judge sends a judge hint.
func (j judges) Judge(ctx context.Context, cluster, key string) error {
	return j.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonJudge, Tick: key}, 0)
}
