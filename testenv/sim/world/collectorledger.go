package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// PutCollectorState replaces the collector's state on condition of its version.
func (l *Ledger) PutCollectorState(_ context.Context, fence model.Fence, collector model.CollectorState) (model.CollectorState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.holds(fence) {
		return collector, lostLease(fence)
	}
	b := l.items(fence.Cluster)
	if b.collector.Version != collector.Version {
		return collector, fault.New(fault.Conflict, "CasebookChanged", "the casebook is at version %d, not %d", b.collector.Version, collector.Version)
	}
	collector.Version++
	b.collector, b.seen = collector, max(b.seen, collector.SeenVersion)
	l.note(LedgerWritten{Cluster: fence.Cluster, Op: "note", Fence: &fence})
	return collector, nil
}

// CloseClaim moves a claim to Gone and gives back what it holds.
func (l *Ledger) CloseClaim(_ context.Context, fence model.Fence, claim model.Claim, atUnix int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.commit(fence.Cluster, "close", &fence)
	if !l.holds(fence) {
		return lostLease(fence)
	}
	b := l.items(fence.Cluster)
	stored, ok := b.claims[claim.Name]
	switch {
	case ok && !stored.Live():
		return nil
	case !ok || stored.Version != claim.Version:
		return fault.New(fault.Conflict, "ClaimChanged", "claim %s is not at version %d", claim.Name, claim.Version)
	}
	if err := b.countable(stored.Pool); err != nil {
		return err
	}
	delta := model.Resources{}
	for name, amount := range stored.Reserved {
		delta[name] -= amount
	}
	b.use(stored.Pool, delta)
	claim.State, claim.GoneUnix, claim.Reserved = model.Gone, atUnix, nil
	b.put(claim)
	return nil
}

// Adopt writes a claim nobody recorded.
func (l *Ledger) Adopt(_ context.Context, fence model.Fence, claim model.Claim) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.commit(fence.Cluster, "adopt", &fence)
	if !l.holds(fence) {
		return lostLease(fence)
	}
	b := l.items(fence.Cluster)
	if stored, ok := b.claims[claim.Name]; ok {
		if stored.Live() && stored.InstanceID == claim.InstanceID {
			return nil
		}
		return fault.New(fault.Conflict, "ClaimExists", "claim %s is recorded already, and differs", claim.Name)
	}
	if err := b.countable(claim.Pool); err != nil {
		return err
	}
	claim.Version = 0
	b.put(claim)
	b.use(claim.Pool, claim.Reserved)
	return nil
}

// Lose forgets everything about a cluster but its registration, as a table restored from nothing would.
func (l *Ledger) Lose(cluster string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.clusters, cluster)
	for key := range l.leases {
		if key[0] == cluster {
			delete(l.leases, key)
		}
	}
}

// Forget loses one claim and what it holds.
func (l *Ledger) Forget(cluster, claim string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	delta := model.Resources{}
	for name, amount := range b.claims[claim].Reserved {
		delta[name] -= amount
	}
	b.use(b.claims[claim].Pool, delta)
	delete(b.claims, claim)
}

// seenVersion is the newest version of a cluster's API server that a look has noted.
func (l *Ledger) seenVersion(cluster string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items(cluster).seen
}
