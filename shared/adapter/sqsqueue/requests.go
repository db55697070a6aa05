package sqsqueue

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/wire"
)

// PlanRequests asks provision, through the plan queue of the cluster. The queue takes the same request with the same
// key once.
type PlanRequests struct{ *PlanQueues }

// Resync asks for the full pass of each minute.
func (p PlanRequests) Resync(ctx context.Context, cluster, tick string) error {
	return p.request(ctx, cluster, wire.ReasonResync, tick)
}

// Ready says that a class can be launched from.
func (p PlanRequests) Ready(ctx context.Context, cluster, key string) error {
	return p.request(ctx, cluster, wire.ReasonConfig, key)
}

// Plan says that pods must leave their nodes.
func (p PlanRequests) Plan(ctx context.Context, cluster, key string) error {
	return p.request(ctx, cluster, wire.ReasonLeaving, key)
}

// Replace says that commands wait for instances.
func (p PlanRequests) Replace(ctx context.Context, cluster, key string) error {
	return p.request(ctx, cluster, wire.ReasonReplace, key)
}

func (p PlanRequests) request(ctx context.Context, cluster string, reason wire.HintReason, key string) error {
	return p.Send(ctx, wire.Hint{Cluster: cluster, Reason: reason, Tick: key})
}

// Requests asks a function through its standard queue, to be heard after a while.
type Requests struct{ *DelayQueue }

// RequestPass asks for a pass over a cluster.
func (r Requests) RequestPass(ctx context.Context, cluster, key string, after time.Duration) error {
	return r.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: key}, after)
}

// Drain asks for the next step of a cluster's drains.
func (r Requests) Drain(ctx context.Context, cluster, key string, after time.Duration) error {
	return r.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDrain, Tick: key}, after)
}

// RequestDisruption asks for a check of which nodes to disrupt.
func (r Requests) RequestDisruption(ctx context.Context, cluster, key string, after time.Duration) error {
	return r.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDisrupt, Tick: key}, after)
}

// RequestShift asks the catalog function to ask ARC for the zonal shifts of a cluster.
func (r Requests) RequestShift(ctx context.Context, cluster, key string, after time.Duration) error {
	return r.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonShift, Tick: key}, after)
}

// Disruptions asks the disruption function through its standard queue.
type Disruptions struct{ *DelayQueue }

// RequestDisruption asks for a check of which nodes to disrupt, now.
func (d Disruptions) RequestDisruption(ctx context.Context, cluster, key string) error {
	return Requests(d).RequestDisruption(ctx, cluster, key, 0)
}
