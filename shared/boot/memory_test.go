package boot

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestMemoryIsThatOfTheFunction(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	for name, c := range map[string]struct {
		size, gogc string
		percent    int
		limit      int64
	}{
		"a function":           {"1769", "", 400, 1769 << 20 / 100 * 70},
		"one that is told":     {"1769", "50", 100, math.MaxInt64},
		"no function":          {"", "", 100, math.MaxInt64},
		"something unheard of": {"much", "", 100, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetGCPercent(100)
			debug.SetMemoryLimit(math.MaxInt64)
			t.Setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", c.size)
			t.Setenv("GOGC", c.gogc)
			t.Setenv("GOMEMLIMIT", "")
			TuneGC()
			if limit := debug.SetMemoryLimit(-1); limit != c.limit {
				t.Errorf("limit %d, want %d", limit, c.limit)
			}
			if percent := debug.SetGCPercent(100); percent != c.percent {
				t.Errorf("percent %d, want %d", percent, c.percent)
			}
		})
	}
}
