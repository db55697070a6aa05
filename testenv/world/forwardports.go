package world

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/forward"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Forward returns the watcher's flow with the world behind its ports. now is the process's own clock, wait where it rests.
func (p *Ports) Forward(
	now func() time.Time, wait func(ctx context.Context, wake <-chan struct{}, d time.Duration), settings forward.Settings,
) *forward.Forwarder {
	port := forwardPort{p}
	return forward.New(forward.Config{
		Cluster: p.world.name, Owner: p.process, Publisher: port, Pointer: port, Queue: port, Ends: endPort{p}, Now: now, Wait: wait, Settings: settings,
	})
}

type forwardPort struct{ *Ports }

func (p forwardPort) PutBase(ctx context.Context, cluster string, epoch, seq int64, data []byte) (string, error) {
	return write(ctx, p.Ports, "store.base", func() (string, error) { return p.world.Store.PutBase(ctx, cluster, epoch, seq, data) })
}

func (p forwardPort) PutSegment(ctx context.Context, cluster string, epoch, seq int64, data []byte) error {
	return do(ctx, p.Ports, "store.segment", func() error { return p.world.Store.PutSegment(ctx, cluster, epoch, seq, data) })
}

func (p forwardPort) Kept(ctx context.Context, key string) (bool, error) {
	return read(ctx, p.Ports, "store.kept", func() (bool, error) { return p.world.Store.Kept(ctx, key) })
}

func (p forwardPort) NextEpoch(ctx context.Context, cluster, owner string) (int64, error) {
	return write(ctx, p.Ports, "ledger.epoch", func() (int64, error) { return p.world.Ledger.NextEpoch(ctx, cluster, owner) })
}

func (p forwardPort) AdvancePointer(ctx context.Context, pointer model.Pointer) (bool, error) {
	return write(ctx, p.Ports, "ledger.pointer", func() (bool, error) { return p.world.Ledger.AdvancePointer(ctx, pointer) })
}

func (p forwardPort) Heartbeat(ctx context.Context, cluster string, epoch, unix int64) (bool, error) {
	return write(ctx, p.Ports, "ledger.heartbeat", func() (bool, error) { return p.world.Ledger.Heartbeat(ctx, cluster, epoch, unix) })
}

func (p forwardPort) Send(ctx context.Context, hint wire.Hint) error {
	return do(ctx, p.Ports, "queue.send", func() error {
		if hint.Reason == wire.ReasonConfig {
			config := hint
			config.Pods, config.Omitted = nil, 0
			if err := p.world.Configs.Send(ctx, config); err != nil {
				return err
			}
		}
		return p.world.plan(ctx, hint)
	})
}

// endPort is the queue of those who empty nodes.
type endPort struct{ *Ports }

func (p endPort) Send(ctx context.Context, hint wire.Hint) error {
	return do(ctx, p.Ports, "queue.end", func() error { return p.world.Looks.ask(ctx, hint, 0) })
}
