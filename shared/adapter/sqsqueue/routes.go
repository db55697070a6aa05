package sqsqueue

import (
	"context"

	"github.com/joiner-sh/joiner/shared/wire"
)

// Router sends every hint of a watcher to whoever plans, and those of changed pools and classes to whoever resolves
// classes as well: both through the cluster's own plan queue.
type Router struct {
	Plan *Queue
	// notified of what did not reach whoever resolves classes: its own tick of each minute finds it; nil = nobody
	Lost func(error)
}

// Send puts the hint into the queue. The error is of the hint to plan by: what resolves classes must not hold up pods.
func (r *Router) Send(ctx context.Context, hint wire.Hint) error {
	if hint.Reason == wire.ReasonConfig {
		config := hint
		config.Pods, config.Omitted = nil, 0
		if err := r.Plan.Forward(ctx, config); err != nil && r.Lost != nil {
			r.Lost(err)
		}
	}
	return r.Plan.Send(ctx, hint)
}

// Forwarder sends hints to be passed on to another function.
type Forwarder struct{ Queue *Queue }

// Send puts the hint into the queue.
func (t Forwarder) Send(ctx context.Context, hint wire.Hint) error { return t.Queue.Forward(ctx, hint) }
