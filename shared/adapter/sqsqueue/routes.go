package sqsqueue

import (
	"context"

	"github.com/joiner-sh/joiner/shared/wire"
)

// Routes sends every hint of a watcher to whoever plans, and those of changed pools and classes to whoever resolves classes as well: both
// through the cluster's own plan queue.
type Routes struct {
	Plan *Queue
	Lost func(error) // told of what did not reach whoever resolves classes: its own tick of each minute finds it; nil = nobody
}

// Send puts the hint into the queue. The error is of the hint to plan by: what resolves classes must not hold up pods.
func (r *Routes) Send(ctx context.Context, hint wire.Hint) error {
	if hint.Reason == wire.ReasonConfig {
		config := hint
		config.Pods, config.Omitted = nil, 0
		if err := r.Plan.Forward(ctx, config); err != nil && r.Lost != nil {
			r.Lost(err)
		}
	}
	return r.Plan.Send(ctx, hint)
}

// Forwarded sends hints to be passed on to another function.
type Forwarded struct{ Queue *Queue }

// Send puts the hint into the queue.
func (t Forwarded) Send(ctx context.Context, hint wire.Hint) error { return t.Queue.Forward(ctx, hint) }
