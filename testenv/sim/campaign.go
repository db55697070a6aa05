package sim

import (
	"sync"
	"time"
)

// Campaign is many runs, one on each core at a time.
type Campaign struct {
	First uint64                   // the seed of the first run; the others follow
	Draw  func(seed uint64) Config // nil = Draw
	Only  func(c Config) bool      // which of the runs drawn are made; nil = all
	Cores int
	Until time.Time // no run begins after it; zero = no such end
	Hours float64   // no run begins after so many simulated hours; 0 = no such end
	Runs  uint64    // no more runs than this; 0 = no such end
	Stop  int       // no run begins after so many failed ones; 0 = 1
	Now   func() time.Time
}

// Run makes the runs and returns what they came to in all, and those that broke a rule in order of their seeds.
func (c Campaign) Run() (Stats, []Result) {
	var mu sync.Mutex
	var total Stats
	failed := map[uint64]Result{}
	next, draw := c.First, c.Draw
	if draw == nil {
		draw = Draw
	}
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !c.Until.IsZero() && c.Now().After(c.Until), c.Hours > 0 && total.Simulated.Hours() >= c.Hours,
			c.Runs > 0 && next-c.First >= c.Runs, len(failed) >= max(1, c.Stop):
			return 0, false
		}
		next++
		return next - 1, true
	}
	var cores sync.WaitGroup
	for range max(1, c.Cores) {
		cores.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				config := draw(seed)
				if c.Only != nil && !c.Only(config) {
					continue
				}
				config.Undigested = true
				result := Run(config)
				if len(result.Violations) > 0 {
					config.Undigested = false
					result = Run(config)
				}
				mu.Lock()
				total.Add(result.Stats)
				if len(result.Violations) > 0 {
					failed[seed] = result
				}
				mu.Unlock()
			}
		})
	}
	cores.Wait()
	var out []Result
	for seed := c.First; seed < next; seed++ {
		if result, bad := failed[seed]; bad {
			out = append(out, result)
		}
	}
	return total, out
}
