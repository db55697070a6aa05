package world

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/publish"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Forward returns the watcher's flow with the world behind its ports. now is the process's own clock, wait where it rests.
// Where disrupts is set there is a disruption function, and it gets hints that nodes have become empty.
func (p *Ports) Forward(
	now func() time.Time, wait func(ctx context.Context, wake <-chan struct{}, d time.Duration), settings publish.Settings, disrupts bool,
) *publish.Publisher {
	port := publishPort{p}
	config := publish.Config{
		Cluster: p.world.name, Owner: p.process, Publisher: port, Manifests: port, Queue: port, Ends: endPort{p}, Now: now, Wait: wait, Settings: settings,
	}
	if disrupts {
		config.EmptyNodes = emptyPort{p}
	}
	return publish.New(config)
}

type publishPort struct{ *Ports }

func (p publishPort) PutSnapshot(ctx context.Context, cluster string, epoch, seq int64, data []byte) (string, error) {
	return write(ctx, p.Ports, "store.base", func() (string, error) { return p.world.Store.PutSnapshot(ctx, cluster, epoch, seq, data) })
}

func (p publishPort) PutDelta(ctx context.Context, cluster string, epoch, seq int64, data []byte) error {
	return do(ctx, p.Ports, "store.segment", func() error { return p.world.Store.PutDelta(ctx, cluster, epoch, seq, data) })
}

func (p publishPort) Kept(ctx context.Context, key string) (bool, error) {
	return read(ctx, p.Ports, "store.kept", func() (bool, error) { return p.world.Store.Kept(ctx, key) })
}

func (p publishPort) NextEpoch(ctx context.Context, cluster, owner string) (int64, error) {
	return write(ctx, p.Ports, "ledger.epoch", func() (int64, error) { return p.world.Ledger.NextEpoch(ctx, cluster, owner) })
}

func (p publishPort) AdvanceManifest(ctx context.Context, manifest model.Manifest) (bool, error) {
	return write(ctx, p.Ports, "ledger.pointer", func() (bool, error) { return p.world.Ledger.AdvanceManifest(ctx, manifest) })
}

func (p publishPort) Heartbeat(ctx context.Context, cluster string, epoch, unix int64) (bool, error) {
	return write(ctx, p.Ports, "ledger.heartbeat", func() (bool, error) { return p.world.Ledger.Heartbeat(ctx, cluster, epoch, unix) })
}

func (p publishPort) Send(ctx context.Context, hint wire.Hint) error {
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
	return do(ctx, p.Ports, "queue.end", func() error { return p.world.Passes.ask(ctx, hint, 0) })
}

// emptyPort is the queue of those who disrupt nodes voluntarily.
type emptyPort struct{ *Ports }

func (p emptyPort) Send(ctx context.Context, hint wire.Hint) error {
	return do(ctx, p.Ports, "queue.empty", func() error { return p.world.DisruptHints.ask(ctx, hint, 0) })
}
