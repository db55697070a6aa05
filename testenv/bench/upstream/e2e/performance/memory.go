package performance

import (
	"context"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/bench/upstream/e2e"
)

// samples are what a program had of memory, from time to time.
type samples struct {
	mu  sync.Mutex
	all []memorySample
}

type memorySample struct {
	at    time.Time
	bytes int64
}

// sampleEvery is as often as the suite asks.
const sampleEvery = 5 * time.Second

// sample reads what a program of a footprint has until ctx ends.
func sample(ctx context.Context, f *e2e.Footprint, program string) *samples {
	s := &samples{}
	go func() {
		for ctx.Err() == nil {
			if _, _, err := f.Read(); err == nil {
				s.add(time.Now(), f.Most(program))
			}
			select {
			case <-ctx.Done():
			case <-time.After(sampleEvery):
			}
		}
	}()
	return s
}

func (s *samples) add(at time.Time, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, memorySample{at, bytes})
}

// most returns the most MiB between two moments.
func (s *samples) most(from, to time.Time) (mib float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.all {
		if !m.at.Before(from) && !m.at.After(to) {
			mib = max(mib, float64(m.bytes)/(1<<20))
		}
	}
	return mib
}
