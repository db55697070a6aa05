package bounds

import (
	"runtime/metrics"
	"testing"
	"time"
)

// What one input may cost.
const (
	MaxBytes     = 50 << 20        // allocated in all, freed or not
	BytesPerByte = 1 << 10         // and for each byte of the input
	MaxTime      = 5 * time.Second // by the wall clock, so that a busy machine does not fail it
)

const allocated = "/gc/heap/allocs:bytes"

// Check runs f, which decodes an input of so many bytes, and fails the test where that allocates more than it may or takes
// too long. What other goroutines allocate meanwhile counts, too.
func Check(t testing.TB, inputBytes int, f func()) {
	t.Helper()
	before, start := heap(), time.Now()
	f()
	took, bytes := time.Since(start), heap()-before
	if limit := uint64(MaxBytes + BytesPerByte*inputBytes); bytes > limit {
		t.Errorf("an input of %d bytes made %d bytes be allocated, at most %d may be", inputBytes, bytes, limit)
	}
	if took > MaxTime {
		t.Errorf("an input of %d bytes took %v, at most %v may pass", inputBytes, took, MaxTime)
	}
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: allocated}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
