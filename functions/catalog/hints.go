package main

import (
	"context"

	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
)

// hints asks for passes through the function's own queue, and tells who launches through the plan queue.
type hints struct {
	sqsqueue.PlanRequests
	own sqsqueue.Requests
}

// RequestPass sends a resync to the own queue.
func (h hints) RequestPass(ctx context.Context, cluster, key string) error {
	return h.own.RequestPass(ctx, cluster, key, 0)
}
