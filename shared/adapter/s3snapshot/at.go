package s3snapshot

import (
	"context"
	"sync"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const (
	maxKnown    = 4      // snapshots kept in memory; a function serves few clusters at a time
	maxSegments = 10_000 // after one base; a watcher writes a new base long before
	fetchers    = 8      // segments read at once
)

// known is a snapshot that was decoded before, and the base it grew from. Segments after another base may number pod
// shapes otherwise.
type known struct {
	baseKey  string
	snapshot *model.Snapshot
}

// At returns the cluster's snapshot at the pointer, or a later one of the same base that was read before. It may be kept
// and shared, and must not be written to. NotFound where an object that the pointer names is missing; Invalid for a pointer to anything
// but a base of its own cluster, which a watcher could not read itself.
func (s *Store) At(ctx context.Context, pointer model.Pointer) (*model.Snapshot, error) {
	if want := baseKey(pointer.Cluster, pointer.Epoch, pointer.BaseSeq); pointer.BaseKey != want {
		return nil, fault.New(fault.Invalid, "ForeignBase", "snapshot pointer of cluster %s: its base %d/%d is %s, and it names %.200q",
			pointer.Cluster, pointer.Epoch, pointer.BaseSeq, want, pointer.BaseKey)
	}
	if n := pointer.HeadSeq - pointer.BaseSeq; n < 0 || n > maxSegments {
		return nil, fault.New(fault.Invalid, "Malformed", "snapshot pointer of cluster %s: head %d does not follow base %d by 0 to %d segments",
			pointer.Cluster, pointer.HeadSeq, pointer.BaseSeq, maxSegments)
	}
	if start := s.recall(pointer); start != nil {
		snapshot, err := s.advance(ctx, start, pointer)
		if err == nil || !fault.Is(err, fault.Conflict) {
			return snapshot, err
		}
	}
	start, err := s.base(ctx, pointer)
	if err != nil {
		return nil, err
	}
	return s.advance(ctx, start, pointer)
}

// recall returns what is in memory of the pointer's base; nil where nothing is.
func (s *Store) recall(pointer model.Pointer) *model.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.known {
		if k.baseKey == pointer.BaseKey && k.snapshot.Cluster == pointer.Cluster && k.snapshot.Epoch == pointer.Epoch {
			return k.snapshot
		}
	}
	return nil
}

func (s *Store) remember(pointer model.Pointer, snapshot *model.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := []known{{pointer.BaseKey, snapshot}}
	for _, k := range s.known {
		if k.snapshot.Cluster != pointer.Cluster && len(fresh) < maxKnown {
			fresh = append(fresh, k)
		}
	}
	s.known = fresh
}

func (s *Store) base(ctx context.Context, pointer model.Pointer) (*model.Snapshot, error) {
	data, err := s.get(ctx, pointer.BaseKey, snapshotBytes)
	if err != nil {
		return nil, err
	}
	snapshot, err := wire.DecodeBase(data)
	if err != nil {
		return nil, err
	}
	if snapshot.Cluster != pointer.Cluster || snapshot.Epoch != pointer.Epoch || snapshot.Seq != pointer.BaseSeq {
		return nil, fault.New(fault.Invalid, "Malformed", "%s is of cluster %s %d/%d, the pointer says %s %d/%d", pointer.BaseKey,
			snapshot.Cluster, snapshot.Epoch, snapshot.Seq, pointer.Cluster, pointer.Epoch, pointer.BaseSeq)
	}
	return snapshot, nil
}

// advance brings start up to the pointer's head and remembers the result.
func (s *Store) advance(ctx context.Context, start *model.Snapshot, pointer model.Pointer) (*model.Snapshot, error) {
	deltas, err := s.segments(ctx, pointer, start.Seq+1)
	if err != nil {
		return nil, err
	}
	snapshot, err := wire.Apply(start, deltas...)
	if err != nil {
		return nil, err
	}
	s.remember(pointer, snapshot)
	return snapshot, nil
}

// segments reads those numbered first up to the head, in order; none where first is past it.
func (s *Store) segments(ctx context.Context, pointer model.Pointer, first int64) ([]*wire.Delta, error) {
	n := max(0, pointer.HeadSeq-first+1)
	deltas, errs := make([]*wire.Delta, n), make([]error, n)
	var wg sync.WaitGroup
	free := make(chan struct{}, fetchers)
	for i := range deltas {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			data, err := s.get(ctx, segmentKey(pointer.Cluster, pointer.Epoch, first+int64(i)), snapshotBytes)
			if err == nil {
				deltas[i], err = wire.DecodeSegment(data)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return deltas, nil
}
