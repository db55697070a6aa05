package world

import (
	"context"
	"maps"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// UsageRecounts is a ledger in memory as whoever corrects usage sees it.
type UsageRecounts struct{ Ledger *Ledger }

// Recount replaces a pool's usage on condition of its version.
func (t UsageRecounts) Recount(_ context.Context, fence model.Fence, usage model.Usage) error {
	l := t.Ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.commit(fence.Cluster, "recount", &fence)
	if !l.holds(fence) {
		return lostLease(fence)
	}
	b := l.items(fence.Cluster)
	if stored := b.usage[usage.Pool]; stored.Version != usage.Version || b.spoilt[spoiltItem{model.UnreadUsage, usage.Pool}] {
		return fault.New(fault.Conflict, "UsageChanged", "the usage of nodepool %s is at version %d, not %d", usage.Pool, stored.Version, usage.Version)
	}
	delta := model.Resources{}
	for name, amount := range b.usage[usage.Pool].Reserved {
		delta[name] -= amount
	}
	for name, amount := range usage.Reserved {
		delta[name] += amount
	}
	b.use(usage.Pool, delta)
	return nil
}

// Skew deletes a claim as somebody would by hand: what it holds goes on being counted.
func Skew(l *Ledger, cluster, claim string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	if before, there := b.claims[claim]; there {
		delete(b.claims, claim)
		l.note(LedgerMeddled{Cluster: cluster, Claim: &before})
	}
}

// Miscount adds to a pool's usage as somebody would by hand: no claim holds that. Nothing happens where the pool has none.
func Miscount(l *Ledger, cluster, pool string, more model.Resources) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	usage, there := b.usage[pool]
	if !there {
		return
	}
	usage.Reserved = maps.Clone(usage.Reserved)
	for name, amount := range more {
		usage.Reserved[name] += amount
	}
	b.usage[pool] = usage
	l.note(LedgerMeddled{Cluster: cluster, Usage: &usage})
}

// recountPort passes the process's gate.
type recountPort struct{ *Ports }

func (p recountPort) Recount(ctx context.Context, fence model.Fence, usage model.Usage) error {
	return do(ctx, p.Ports, "ledger.recount", func() error { return UsageRecounts{p.world.Ledger}.Recount(ctx, fence, usage) })
}
