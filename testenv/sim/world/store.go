package world

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Store is the bucket with what the watcher publishes and with decision records. An object of a snapshot is never written
// over: the same bytes again are no error, other bytes are a Conflict.
type Store struct {
	log    *Log // told whose is looked at; nil = nobody
	now    func() time.Time
	chance *rand.Rand // nil: nothing happens by chance

	mu        sync.Mutex
	objects   map[string][]byte
	archive   map[string][]byte  // every object there ever was: what became of records' lifetimes is not played
	decoded   map[string]decoded // by cluster: the snapshot that was asked for last
	decisions map[string][]byte  // records as they are stored, by id
	disrupted map[string][]byte
	removals  map[string][]byte // by claim
	outage    time.Time         // until then nothing gets through
	chances   StoreChances
}

// decoded is a snapshot that was read, and the key of the base it was read from.
type decoded struct {
	base     string
	snapshot *model.Snapshot
}

// StoreChances say how often a call goes wrong by chance, each between 0 and 1.
type StoreChances struct {
	ServerError float64 // nothing happens, Internal
	SlowDown    float64 // nothing happens, Throttled
}

// NewStore returns an empty store. Nothing happens by chance where chance is nil.
func NewStore(now func() time.Time, chance *rand.Rand) *Store {
	return &Store{
		now: now, chance: chance, objects: map[string][]byte{}, archive: map[string][]byte{}, decoded: map[string]decoded{},
		decisions: map[string][]byte{}, disrupted: map[string][]byte{}, removals: map[string][]byte{},
	}
}

func (s *Store) enter() (unlock func(), err error) {
	s.mu.Lock()
	by := func(chance float64) bool { return chance > 0 && s.chance != nil && s.chance.Float64() < chance }
	switch {
	case s.now().Before(s.outage):
		err = unreachable()
	case by(s.chances.ServerError):
		err = fault.New(fault.Internal, "InternalError", "we encountered an internal error")
	case by(s.chances.SlowDown):
		err = fault.New(fault.Throttled, "SlowDown", "please reduce your request rate")
	}
	return s.mu.Unlock, err
}

func (s *Store) touch(cluster, what string) {
	if s.log != nil {
		s.log.Touch(cluster, what)
	}
}

func snapshotKey(cluster string, epoch, seq int64) string {
	return fmt.Sprintf("snap/%s/%d/base-%d", cluster, epoch, seq)
}

func deltaKey(cluster string, epoch, seq int64) string {
	return fmt.Sprintf("snap/%s/%d/seg-%d", cluster, epoch, seq)
}

// PutSnapshot stores an encoded base and returns its key.
func (s *Store) PutSnapshot(_ context.Context, cluster string, epoch, seq int64, data []byte) (string, error) {
	s.touch(cluster, "snapshot")
	key := snapshotKey(cluster, epoch, seq)
	return key, s.put(key, data)
}

// PutDelta stores an encoded delta.
func (s *Store) PutDelta(_ context.Context, cluster string, epoch, seq int64, data []byte) error {
	s.touch(cluster, "snapshot")
	return s.put(deltaKey(cluster, epoch, seq), data)
}

// Kept reports whether an object is there.
func (s *Store) Kept(_ context.Context, key string) (bool, error) {
	unlock, err := s.enter()
	defer unlock()
	_, exists := s.objects[key]
	return exists && err == nil, err
}

func (s *Store) put(key string, data []byte) error {
	unlock, err := s.enter()
	defer unlock()
	if err != nil {
		return err
	}
	before, exists := s.objects[key]
	switch {
	case !exists:
		s.objects[key] = bytes.Clone(data)
		s.archive[key] = s.objects[key]
	case !bytes.Equal(before, data):
		return fault.New(fault.Conflict, "PreconditionFailed", "%s exists, with other content", key)
	}
	return nil
}

// SnapshotAt returns the snapshot a manifest names, shared: nobody may write to it. NotFound where an object it needs is missing.
func (s *Store) SnapshotAt(_ context.Context, manifest model.Manifest) (*model.Snapshot, error) {
	unlock, err := s.enter()
	defer unlock()
	if err != nil {
		return nil, err
	}
	s.touch(manifest.Cluster, "snapshot")
	if manifest.HeadSeq < manifest.SnapshotSeq {
		return nil, fault.New(fault.Invalid, "Malformed", "the head %d of cluster %s is before its base %d", manifest.HeadSeq, manifest.Cluster, manifest.SnapshotSeq)
	}
	if want := snapshotKey(manifest.Cluster, manifest.Epoch, manifest.SnapshotSeq); manifest.SnapshotKey != want {
		return nil, fault.New(fault.Invalid, "ForeignBase", "the base of cluster %s is %s, and the pointer names %q", manifest.Cluster, want, manifest.SnapshotKey)
	}
	base, exists := s.objects[manifest.SnapshotKey]
	if !exists {
		return nil, fault.New(fault.NotFound, "NoSuchKey", "no object %s", manifest.SnapshotKey)
	}
	for seq := manifest.SnapshotSeq + 1; seq <= manifest.HeadSeq; seq++ {
		if key := deltaKey(manifest.Cluster, manifest.Epoch, seq); s.objects[key] == nil {
			return nil, fault.New(fault.NotFound, "NoSuchKey", "no object %s", key)
		}
	}
	snapshot := s.decoded[manifest.Cluster].snapshot
	if snapshot == nil || s.decoded[manifest.Cluster].base != manifest.SnapshotKey || snapshot.Seq > manifest.HeadSeq {
		if snapshot, err = wire.DecodeSnapshot(base); err != nil {
			return nil, err
		}
	}
	if snapshot.Cluster != manifest.Cluster || snapshot.Epoch != manifest.Epoch || snapshot.Seq < manifest.SnapshotSeq {
		return nil, fault.New(fault.Invalid, "Malformed", "%s is of another cluster, epoch or number than the pointer", manifest.SnapshotKey)
	}
	var deltas []*wire.Delta
	for seq := snapshot.Seq + 1; seq <= manifest.HeadSeq; seq++ {
		delta, err := wire.DecodeDelta(s.objects[deltaKey(manifest.Cluster, manifest.Epoch, seq)])
		if err != nil {
			return nil, err
		}
		deltas = append(deltas, delta)
	}
	if snapshot, err = wire.Apply(snapshot, deltas...); err != nil {
		return nil, err
	}
	s.decoded[manifest.Cluster] = decoded{manifest.SnapshotKey, snapshot}
	return snapshot, nil
}

// Lose deletes what was published, as a lifecycle rule that is too short would.
func (s *Store) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = map[string][]byte{}
}

// LoseDelta deletes one delta, where it is there.
func (s *Store) LoseDelta(cluster string, epoch, seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, deltaKey(cluster, epoch, seq))
}

// LoseSnapshot deletes one base, where it is there.
func (s *Store) LoseSnapshot(cluster string, epoch, seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, snapshotKey(cluster, epoch, seq))
}

// Expire deletes what was published in epochs before one, as a lifecycle rule does.
func (s *Store) Expire(cluster string, before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.objects {
		var epoch int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(key, "snap/"+cluster+"/"), "%d/", &epoch); err == nil && epoch < before {
			delete(s.objects, key)
		}
	}
}

// Unreachable lets no call through until a time.
func (s *Store) Unreachable(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = until
}

// SetChances replaces the chances.
func (s *Store) SetChances(c StoreChances) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chances = c
}

// Heal ends all trouble. What was lost stays lost.
func (s *Store) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage, s.chances = time.Time{}, StoreChances{}
}

// Publish does what a watcher does: the cluster as it stands becomes the snapshot, and the manifest moves to it.
func (w *World) Publish(ctx context.Context, epoch, seq int64) error {
	return w.Pretend(ctx, epoch, seq, func(*model.Snapshot) {})
}

// Pretend does what a hostile watcher does: it publishes the cluster as it stands after lie has changed it. Lists of NodePools and
// EC2NodeClasses are lie's to write to; what they hold beside plain fields it replaces.
func (w *World) Pretend(ctx context.Context, epoch, seq int64, lie func(snapshot *model.Snapshot)) error {
	listed, err := w.Cluster.List(ctx)
	if err != nil {
		return err
	}
	snapshot := *listed
	snapshot.Epoch, snapshot.Seq = epoch, seq
	snapshot.Pools, snapshot.Classes = slices.Clone(listed.Pools), slices.Clone(listed.Classes)
	lie(&snapshot)
	data, err := wire.EncodeSnapshot(&snapshot)
	if err != nil {
		return err
	}
	key, err := w.Store.PutSnapshot(ctx, Name, epoch, seq, data)
	if err != nil {
		return err
	}
	now := w.Clock.Now().Unix()
	_, err = w.Ledger.AdvanceManifest(ctx, model.Manifest{Cluster: Name, Epoch: epoch, SnapshotKey: key, SnapshotSeq: seq, HeadSeq: seq, WrittenUnix: now, HeartbeatAt: now})
	return err
}
