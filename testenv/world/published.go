package world

import (
	"bytes"
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// known is a snapshot that was decoded before, and the base it grew from.
type known struct {
	base     string
	snapshot *model.Snapshot
}

// PutBase stores a base and returns its key. Conflict where another has the key.
func (s *Store) PutBase(_ context.Context, cluster string, epoch, seq int64, data []byte) (string, error) {
	key := fmt.Sprintf("%s/%d/base-%d", cluster, epoch, seq)
	return key, s.put(key, data)
}

// PutSegment stores a segment. Conflict where another has its place.
func (s *Store) PutSegment(_ context.Context, cluster string, epoch, seq int64, data []byte) error {
	return s.put(segmentKey(cluster, epoch, seq), data)
}

func segmentKey(cluster string, epoch, seq int64) string {
	return fmt.Sprintf("%s/%d/segment-%d", cluster, epoch, seq)
}

// put stores an object on condition that there is none, or the very same.
func (s *Store) put(key string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, exists := s.objects[key]; exists && !bytes.Equal(before, data) {
		return fault.New(fault.Conflict, "PreconditionFailed", "%s exists and holds other bytes", key)
	}
	s.objects[key] = data
	return nil
}

// At returns the snapshot at a pointer. NotFound where an object that it names is missing. What was decoded last is kept,
// as a warm function keeps it.
func (s *Store) At(_ context.Context, pointer model.Pointer) (*model.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var from *model.Snapshot
	if k := s.known; k != nil && k.base == pointer.BaseKey && k.snapshot.Seq <= pointer.HeadSeq {
		from = k.snapshot
	} else {
		data, ok := s.objects[pointer.BaseKey]
		if !ok {
			return nil, fault.New(fault.NotFound, "NoSuchKey", "%s does not exist", pointer.BaseKey)
		}
		base, err := wire.DecodeBase(data)
		if err != nil {
			return nil, err
		}
		from = base
	}
	var deltas []*wire.Delta
	for seq := from.Seq + 1; seq <= pointer.HeadSeq; seq++ {
		key := segmentKey(pointer.Cluster, pointer.Epoch, seq)
		data, ok := s.objects[key]
		if !ok {
			return nil, fault.New(fault.NotFound, "NoSuchKey", "%s does not exist", key)
		}
		delta, err := wire.DecodeSegment(data)
		if err != nil {
			return nil, err
		}
		deltas = append(deltas, delta)
	}
	snapshot, err := wire.Apply(from, deltas...)
	if err != nil {
		return nil, err
	}
	s.known = &known{pointer.BaseKey, snapshot}
	return snapshot, nil
}

// Lose deletes what was published, as a lifecycle rule that is too short would.
func (s *Store) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects, s.known = map[string][]byte{}, nil
}
