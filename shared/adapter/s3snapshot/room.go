package s3snapshot

import (
	"context"
	"runtime"
	"sync"
	"weak"

	"golang.org/x/sync/semaphore"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// What of a program's memory snapshots may take. Others wrote them, and several clusters' are held at once; the rest is
// for what is planned with them.
const (
	oneOf    = 8  // of which one snapshot may take one
	allOf    = 4  // of which all together may, but for small ones
	smallOf  = 64 // of which any snapshot may take one, whatever others take
	packedOf = 16 // of which what is read and not yet unpacked may
)

// memoryBudget is what snapshots may take of memory, and what they do take.
type memoryBudget struct {
	one, all, small int64               // bytes, by weight
	packed          *semaphore.Weighted // bytes, as stored
	most            int64               // what packed has in all

	// one object at a time is unpacked: side by side is no faster on one processor, and takes more memory
	decoding sync.Mutex

	mu   sync.Mutex
	used []used
}

// used is a snapshot that somebody may still hold.
type used struct {
	cluster  string
	snapshot weak.Pointer[model.Snapshot]
	weight   int64
}

// newMemoryBudget returns the room of a program with so many bytes of memory, 0 where nobody bounds it.
func newMemoryBudget(memory int64) *memoryBudget {
	r := &memoryBudget{one: wire.MaxDecodedBytes, all: 4 * wire.MaxDecodedBytes, small: wire.MaxDecodedBytes / 8,
		most: 4 * wire.MaxSnapshotBytes}
	if memory > 0 {
		r.one, r.all, r.small = min(r.one, memory/oneOf), memory/allOf, memory/smallOf
		r.most = max(memory/packedOf, wire.MaxSnapshotBytes)
	}
	r.packed = semaphore.NewWeighted(r.most)
	return r
}

// taken is what the snapshots take that are held by somebody, those of the cluster left out. Several of one cluster
// share most of what they are made of, so that the heaviest counts.
func (r *memoryBudget) taken(but string) int64 {
	heaviest, held := map[string]int64{}, r.used[:0]
	for _, u := range r.used {
		if u.snapshot.Value() != nil {
			held = append(held, u)
			heaviest[u.cluster] = max(heaviest[u.cluster], u.weight)
		}
	}
	clear(r.used[len(held):])
	r.used = held
	sum := int64(0)
	for cluster, weight := range heaviest {
		if cluster != but {
			sum += weight
		}
	}
	return sum
}

// limit returns the most that a snapshot of the cluster may weigh. Where other clusters' take so much that there is not
// room for the largest, forget releases those that nobody uses any more.
func (r *memoryBudget) limit(cluster string, forget func()) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := r.all - r.taken(cluster); left >= r.one {
		return r.one
	}
	forget()
	runtime.GC() // what is released counts until it is collected
	return min(r.one, max(r.small, r.all-r.taken(cluster)))
}

// charge notes that a snapshot takes so much for as long as anybody has it.
func (r *memoryBudget) charge(snapshot *model.Snapshot, weight int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used = append(r.used, used{snapshot.Cluster, weak.Make(snapshot), weight})
}

// weightOf is what a snapshot was noted with; false where it was not.
func (r *memoryBudget) weightOf(snapshot *model.Snapshot) (int64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.used {
		if u.snapshot.Value() == snapshot {
			return u.weight, true
		}
	}
	return 0, false
}

// crowded says why a snapshot that would fit on its own does not now: Throttled, since it will when others are done.
func (r *memoryBudget) crowded(err error, cluster string, spare int64) error {
	if fault.CodeOf(err) != "TooLarge" || spare >= r.one {
		return err
	}
	return fault.Wrap(fault.Throttled, "NoRoom", err,
		"snapshot of cluster %s: those of other clusters use the rest of the %d MiB for all", cluster, r.all>>20)
}

// fetch waits until so many bytes may be read and returns how to say that they are needed no more.
func (r *memoryBudget) fetch(ctx context.Context, bytes int64) (done func(), err error) {
	bytes = min(max(bytes, 1), r.most)
	if err := r.packed.Acquire(ctx, bytes); err != nil {
		return nil, fault.Wrap(fault.Throttled, "NoRoom", err, "wait for memory to read %d bytes", bytes)
	}
	return func() { r.packed.Release(bytes) }, nil
}
