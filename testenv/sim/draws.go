package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// draws are the random numbers of one process or model. Each has a stream of its own, so that leaving something out of a
// run changes as little as possible of the rest.
type draws struct{ *rand.Rand }

func newDraws(seed uint64, name string) draws {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return draws{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// between returns a duration of at least low and less than high; low where they are equal.
func (d draws) between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(d.Int64N(int64(high-low)))
}

// skewed returns a duration from low to high, near low most times.
func (d draws) skewed(low, high time.Duration) time.Duration {
	x := d.Float64()
	return low + time.Duration(x*x*x*float64(high-low))
}

// skewedInt returns a number from 0 to most, mostly a small one.
func (d draws) skewedInt(most int) int {
	x := d.Float64()
	return int(x * x * float64(most))
}
