package ec2

import (
	"hash/fnv"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// Timing is how long things take. Changing it affects what happens afterwards.
type Timing struct {
	// Boot is from launch to running.
	Boot Delay
	// Shutdown is from the request to terminate to terminated.
	Shutdown Delay
	// Visibility is how far describing lags behind launching and tagging.
	Visibility time.Duration
	// Profile is how long EC2 does not know an instance profile that was just made.
	Profile time.Duration
	// Warning is from the notice that an instance will be taken back until it begins to end; 0 means two minutes.
	Warning time.Duration
	// Gone is how long a terminated instance can still be described.
	Gone time.Duration
}

// Delay is a duration spread evenly between Min and Max, Min ≤ Max.
type Delay struct{ Min, Max time.Duration }

// DefaultTiming returns delays as EC2 has them.
func DefaultTiming() Timing {
	return Timing{
		Boot:       Delay{20 * time.Second, 40 * time.Second},
		Shutdown:   Delay{10 * time.Second, 30 * time.Second},
		Visibility: 2 * time.Second,
		Gone:       time.Hour,
	}
}

// warningTime is what EC2 gives. Source: user guide, "Spot Instance interruption notices".
const warningTime = 2 * time.Minute

func (t Timing) warning() time.Duration {
	if t.Warning == 0 {
		return warningTime
	}
	return t.Warning
}

// SetTiming changes how long things take from now on. Instances that boot or
// shut down already keep the delay they started with.
func (m *Model) SetTiming(t Timing) {
	m.lock()
	defer m.unlock()
	m.timing = m.lagging(t)
}

// lagging returns a timing with the delays of the readings that are taken, where those are longer.
func (m *Model) lagging(t Timing) Timing {
	if m.reads.Takes(reading.DescribeLag) {
		t.Visibility = max(t.Visibility, reading.DescribeDelay)
	}
	if m.reads.Takes(reading.ProfileLag) {
		t.Profile = max(t.Profile, reading.ProfileDelay)
	}
	return t
}

// of returns the delay that belongs to key, always the same.
func (d Delay) of(key string) time.Duration {
	if d.Max <= d.Min {
		return d.Min
	}
	h := fnv.New64a()
	h.Write([]byte(key))
	return d.Min + time.Duration(h.Sum64()%uint64(d.Max-d.Min+1))
}
