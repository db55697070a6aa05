package sqsqueue

import (
	"context"

	"github.com/joiner-sh/joiner/shared/wire"
)

// Routes sends every hint to whoever plans, and those of changed pools and classes to whoever resolves classes as well.
type Routes struct {
	Plan    *Queue
	Catalog *Queue      // nil = nobody resolves classes but who plans
	Lost    func(error) // told of what did not reach Catalog: its own tick of each minute finds it; nil = nobody
}

// Send puts the hint into its queues. The error is the plan queue's: what resolves classes must not hold up pods.
func (r *Routes) Send(ctx context.Context, hint wire.Hint) error {
	if hint.Reason == wire.ReasonConfig && r.Catalog != nil {
		config := hint
		config.Pods, config.Omitted = nil, 0
		if err := r.Catalog.Send(ctx, config); err != nil && r.Lost != nil {
			r.Lost(err)
		}
	}
	return r.Plan.Send(ctx, hint)
}
