package main

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/wire"
)

// looks asks for looks through the function's own queue.
type looks struct {
	queue *sqsqueue.Delayed
}

// Look sends a hint that arrives after a while.
func (l looks) Look(ctx context.Context, cluster, key string, after time.Duration) error {
	return l.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonSweep, Tick: key}, after)
}
