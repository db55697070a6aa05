package world

import (
	"context"
	"sync"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Store keeps decisions and what the watcher publishes.
type Store struct {
	mu        sync.Mutex
	decisions map[string]model.Decision
	objects   map[string][]byte // what watchers publish, by key
	known     *known            // decoded last
}

func newStore() *Store {
	return &Store{decisions: map[string]model.Decision{}, objects: map[string][]byte{}}
}

// Put keeps a decision.
func (s *Store) Put(_ context.Context, decision model.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decisions[decision.ID] = clone(decision)
	return nil
}

// Decision returns a kept decision; false where there is none.
func (s *Store) Decision(id string) (model.Decision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	decision, ok := s.decisions[id]
	return decision, ok
}

// Publish does what a watcher does: the cluster as it stands becomes the snapshot, and the pointer moves to it.
func (w *World) Publish(ctx context.Context, epoch, seq int64) error {
	snapshot, err := w.Cluster.List(ctx)
	if err != nil {
		return err
	}
	published := *snapshot
	published.Epoch, published.Seq = epoch, seq
	data, err := wire.EncodeBase(&published)
	if err != nil {
		return err
	}
	key, err := w.Store.PutBase(ctx, Name, epoch, seq, data)
	if err != nil {
		return err
	}
	now := w.Clock.Now().Unix()
	return w.Ledger.AdvancePointer(ctx, model.Pointer{
		Cluster: Name, Epoch: epoch, BaseKey: key, BaseSeq: seq, HeadSeq: seq, WrittenUnix: now, HeartbeatAt: now,
	})
}
