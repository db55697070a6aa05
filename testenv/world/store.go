package world

import (
	"context"
	"fmt"
	"sync"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Store keeps decisions, what the watcher publishes, and hints.
type Store struct {
	mu        sync.Mutex
	decisions map[string]model.Decision
	snapshots map[string]*model.Snapshot // by epoch/head
	hints     []string
}

func newStore() *Store {
	return &Store{decisions: map[string]model.Decision{}, snapshots: map[string]*model.Snapshot{}}
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

// At returns a published snapshot.
func (s *Store) At(_ context.Context, pointer model.Pointer) (*model.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot, ok := s.snapshots[place(pointer)]
	if !ok {
		return nil, fault.New(fault.NotFound, "", "no snapshot at %s", place(pointer))
	}
	return snapshot, nil
}

func place(pointer model.Pointer) string { return fmt.Sprintf("%d/%d", pointer.Epoch, pointer.HeadSeq) }

// Lose deletes what was published, as a lifecycle rule that is too short would.
func (s *Store) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots = map[string]*model.Snapshot{}
}

// Sweep notes the hint of a tick.
func (s *Store) Sweep(_ context.Context, cluster, tick string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hints = append(s.hints, cluster+"@"+tick)
	return nil
}

// Hints returns the sweeps asked for, as cluster@tick.
func (s *Store) Hints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.hints...)
}

// Publish does what a watcher does: the cluster as it stands becomes the snapshot, and the pointer moves to it.
func (w *World) Publish(ctx context.Context, epoch, seq int64) error {
	snapshot, err := w.Cluster.List(ctx)
	if err != nil {
		return err
	}
	snapshot.Epoch, snapshot.Seq = epoch, seq
	now := w.Clock.Now().Unix()
	pointer := model.Pointer{Cluster: Name, Epoch: epoch, BaseKey: "base", BaseSeq: seq, HeadSeq: seq, WrittenUnix: now, HeartbeatAt: now}
	w.Store.mu.Lock()
	w.Store.snapshots[place(pointer)] = snapshot
	w.Store.mu.Unlock()
	return w.Ledger.AdvancePointer(ctx, pointer)
}
