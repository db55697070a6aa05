package eventsource

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// Faults are what an at-least-once source may do, each in so many percent of the deliveries. Which deliveries are hit
// depends on the seed and, for each batch, on the body of its first message and how often that body was delivered
// before: not on timing.
type Faults struct {
	Seed uint64
	// DuplicatePercent delivers the batch again right after a success.
	DuplicatePercent float64
	// ConcurrentPercent delivers the batch twice at once, also where one group should have one batch in flight.
	ConcurrentPercent float64
	// LostDeletePercent leaves the messages of a success undeleted: they come back when their visibility ends.
	LostDeletePercent float64
	// DelayPercent holds the batch for Delay before it is delivered.
	DelayPercent float64
	Delay        time.Duration
}

// Fault says what was injected into a delivery.
type Fault struct {
	Duplicate  bool // delivered twice in a row
	Concurrent bool // delivered twice at once; Duplicate then has no effect
	LostDelete bool
	Delay      time.Duration
}

func (f Faults) validate() error {
	for name, percent := range map[string]float64{
		"duplicate": f.DuplicatePercent, "concurrent": f.ConcurrentPercent, "lost delete": f.LostDeletePercent, "delay": f.DelayPercent,
	} {
		if percent < 0 || percent > 100 {
			return fmt.Errorf("faults: %s in %v %% of the deliveries: want 0 to 100", name, percent)
		}
	}
	if f.Delay < 0 {
		return fmt.Errorf("faults: delay %v: want zero or more", f.Delay)
	}
	return nil
}

// draws decides which faults hit which delivery.
type draws struct {
	faults Faults

	mu   sync.Mutex
	seen map[uint64]uint64 // deliveries so far, keyed by hash of the first body
}

func newDraws(faults Faults) *draws {
	return &draws{faults: faults, seen: map[uint64]uint64{}}
}

// draw returns the faults of the next delivery of a batch that begins with the body.
func (d *draws) draw(firstBody string) Fault {
	if d.faults == (Faults{}) {
		return Fault{}
	}
	hash := fnv.New64a()
	hash.Write([]byte(firstBody))
	body := hash.Sum64()
	d.mu.Lock()
	d.seen[body]++
	nth := d.seen[body]
	d.mu.Unlock()
	hash.Write(binary.BigEndian.AppendUint64(nil, nth))
	random := rand.New(rand.NewPCG(d.faults.Seed, hash.Sum64()))
	hits := func(percent float64) bool { return random.Float64()*100 < percent }
	fault := Fault{
		Duplicate: hits(d.faults.DuplicatePercent), Concurrent: hits(d.faults.ConcurrentPercent), LostDelete: hits(d.faults.LostDeletePercent),
	}
	if hits(d.faults.DelayPercent) {
		fault.Delay = d.faults.Delay
	}
	return fault
}
