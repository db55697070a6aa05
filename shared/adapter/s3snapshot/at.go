package s3snapshot

import (
	"context"
	"slices"
	"sync"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const (
	maxKnown  = 4      // snapshots kept in memory; a function serves few clusters at a time
	maxDeltas = 10_000 // after one full snapshot; a watcher writes a new full snapshot long before
	fetchers  = 8      // deltas read at once
)

// SnapshotAt returns the cluster's snapshot at the manifest, or a later one of the same full snapshot that was read
// before. It may be kept and shared, and must not be written to. NotFound where an object that the manifest names is
// missing; Invalid for a manifest to anything but a full snapshot of its own cluster, which a watcher could not read
// itself.
func (s *Snapshots) SnapshotAt(ctx context.Context, manifest model.Manifest) (*model.Snapshot, error) {
	if want := snapshotKey(manifest.Cluster, manifest.Epoch, manifest.SnapshotSeq); manifest.SnapshotKey != want {
		return nil, fault.New(fault.Invalid, "ForeignBase",
			"manifest of cluster %s: its full snapshot %d/%d is %s, and it names %.200q",
			manifest.Cluster, manifest.Epoch, manifest.SnapshotSeq, want, manifest.SnapshotKey)
	}
	if n := manifest.HeadSeq - manifest.SnapshotSeq; n < 0 || n > maxDeltas {
		return nil, fault.New(fault.Invalid, "Malformed",
			"manifest of cluster %s: head %d does not follow full snapshot %d by 0 to %d deltas",
			manifest.Cluster, manifest.HeadSeq, manifest.SnapshotSeq, maxDeltas)
	}
	if start := s.recall(manifest); start != nil {
		snapshot, err := s.advance(ctx, start, manifest)
		if err == nil || !fault.Is(err, fault.Conflict) {
			return snapshot, err
		}
	}
	start, err := s.full(ctx, manifest)
	if err != nil {
		return nil, err
	}
	return s.advance(ctx, start, manifest)
}

// recall returns what is in memory of the manifest's full snapshot; nil where nothing is.
func (s *Snapshots) recall(manifest model.Manifest) *model.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.known {
		same := k.snapshot.Cluster == manifest.Cluster && k.snapshot.Epoch == manifest.Epoch
		if same && k.snapshotKey == manifest.SnapshotKey {
			return k.snapshot
		}
	}
	return nil
}

func (s *Snapshots) remember(manifest model.Manifest, snapshot *model.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := []known{{manifest.SnapshotKey, snapshot}}
	for _, k := range s.known {
		if k.snapshot.Cluster != manifest.Cluster && len(fresh) < maxKnown {
			fresh = append(fresh, k)
		}
	}
	s.known = fresh
}

func (s *Snapshots) full(ctx context.Context, manifest model.Manifest) (*model.Snapshot, error) {
	var snapshot *model.Snapshot
	var weight int64
	err := s.decode(ctx, manifest.SnapshotKey, func(data []byte) (err error) {
		spare := s.limit(manifest.Cluster)
		if snapshot, weight, err = wire.DecodeSnapshotWithin(s.uri(manifest.SnapshotKey), data, spare); err == nil {
			s.memory.charge(snapshot, weight)
		}
		return s.memory.crowded(err, manifest.Cluster, spare)
	})
	if err != nil {
		return nil, err
	}
	if snapshot.Cluster != manifest.Cluster || snapshot.Epoch != manifest.Epoch ||
		snapshot.Seq != manifest.SnapshotSeq {
		return nil, fault.New(fault.Invalid, "Malformed", "%s is of cluster %s %d/%d, the manifest says %s %d/%d",
			manifest.SnapshotKey,
			snapshot.Cluster, snapshot.Epoch, snapshot.Seq, manifest.Cluster, manifest.Epoch, manifest.SnapshotSeq)
	}
	return snapshot, nil
}

// limit is what a snapshot of the cluster may weigh.
func (s *Snapshots) limit(cluster string) int64 {
	return s.memory.limit(cluster, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.known = slices.DeleteFunc(s.known, func(k known) bool { return k.snapshot.Cluster != cluster })
	})
}

// decode reads an object and has it decoded while nothing else is.
func (s *Snapshots) decode(ctx context.Context, key string, into func(data []byte) error) error {
	data, done, err := s.open(ctx, key, snapshotBytes)
	if err != nil {
		return err
	}
	defer done()
	s.memory.decoding.Lock()
	defer s.memory.decoding.Unlock()
	return into(data)
}

// advance brings start up to the manifest's head and remembers the result.
func (s *Snapshots) advance(ctx context.Context, start *model.Snapshot, manifest model.Manifest) (*model.Snapshot,
	error) {
	deltas, grown, err := s.deltas(ctx, manifest, start)
	if err != nil {
		return nil, err
	}
	snapshot, err := wire.Apply(start, deltas...)
	if err != nil {
		return nil, err
	}
	if snapshot != start {
		s.memory.charge(snapshot, grown)
	}
	s.remember(manifest, snapshot)
	return snapshot, nil
}

// deltas reads those between start and the head, in order; none where start is past it. It also returns what the
// snapshot weighs that they make of start, where nothing in them is in place of anything: together they may not weigh
// more than a full snapshot. Once one cannot be read no other is: the manifest, and so how many there are, is whatever
// a watcher wrote.
func (s *Snapshots) deltas(ctx context.Context, manifest model.Manifest, start *model.Snapshot) ([]*wire.Delta, int64,
	error) {
	weight, _ := s.memory.weightOf(start)
	first := start.Seq + 1
	n := max(0, manifest.HeadSeq-first+1)
	deltas := make([]*wire.Delta, n)
	if n == 0 {
		return deltas, weight, nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var failure error
	var failed sync.Once
	var wg sync.WaitGroup
	free := make(chan struct{}, fetchers)
	for i := range deltas {
		free <- struct{}{}
		if ctx.Err() != nil {
			failed.Do(func() { failure = sdkerr.WrapStatus(ctx.Err(), "read deltas of cluster %s", manifest.Cluster) })
			break
		}
		wg.Go(func() {
			defer func() { <-free }()
			key := deltaKey(manifest.Cluster, manifest.Epoch, first+int64(i))
			err := s.decode(ctx, key, func(data []byte) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				spare := s.limit(manifest.Cluster)
				delta, more, err := wire.DecodeDeltaWithin(s.uri(key), data, spare-weight)
				deltas[i], weight = delta, weight+more
				return s.memory.crowded(err, manifest.Cluster, spare)
			})
			if err != nil {
				failed.Do(func() { failure = err })
				stop()
			}
		})
	}
	wg.Wait()
	if failure != nil {
		return nil, 0, failure
	}
	return deltas, weight, nil
}
