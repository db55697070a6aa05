package allowance

import (
	"cmp"

	"github.com/joiner-sh/joiner/shared/model"
)

const (
	// Milli is how many thousandths one call has.
	Milli = int64(1000)

	skewSeconds   = int64(60) // a time this far ahead was written by a clock that is wrong
	closedAtLeast = int64(10) // seconds nobody calls after EC2 asked for less
	closedAtMost  = int64(60)
)

// Rates are how much there is of each bucket and how fast it comes back. Zero means the default named with a field.
type Rates struct {
	CallBurst             int // calls of EC2's API at once: 50
	CallsPerSecond        int // calls of EC2's API in the long run: 5
	ReadBurst             int // calls that only read, such as the catalog's, at once: 80
	ReadsPerSecond        int // the same in the long run: 15
	InsufficientBurst     int // launches at once that may come back without capacity: 10
	InsufficientPerMinute int // launches that may come back without capacity in the long run: 8
}

// WithDefaults returns the rates with every zero replaced.
func (r Rates) WithDefaults() Rates {
	return Rates{
		CallBurst: cmp.Or(r.CallBurst, 50), CallsPerSecond: cmp.Or(r.CallsPerSecond, 5),
		ReadBurst: cmp.Or(r.ReadBurst, 80), ReadsPerSecond: cmp.Or(r.ReadsPerSecond, 15),
		InsufficientBurst: cmp.Or(r.InsufficientBurst, 10), InsufficientPerMinute: cmp.Or(r.InsufficientPerMinute, 8),
	}
}

// Refilled returns the allowance as it is at now. One that was never written is full.
func (r Rates) Refilled(a model.Allowance, now int64) model.Allowance {
	calls, reads, dry := int64(r.CallBurst)*Milli, int64(r.ReadBurst)*Milli, int64(r.InsufficientBurst)*Milli
	if a.Version == 0 {
		return model.Allowance{AtUnix: now, CallsMilli: calls, ReadsMilli: reads, InsufficientMilli: dry}
	}
	elapsed := now - a.AtUnix
	if elapsed > 0 {
		elapsed = min(elapsed, 3600) // more than fills all of them
		a.CallsMilli = min(calls, a.CallsMilli+elapsed*int64(r.CallsPerSecond)*Milli)
		a.ReadsMilli = min(reads, a.ReadsMilli+elapsed*int64(r.ReadsPerSecond)*Milli)
		a.InsufficientMilli = min(dry, a.InsufficientMilli+elapsed*int64(r.InsufficientPerMinute)*Milli/60)
	}
	if elapsed > 0 || elapsed < -skewSeconds {
		a.AtUnix = now
	}
	a.ClosedUntilUnix = min(a.ClosedUntilUnix, now+closedAtMost)
	return a
}

// Take takes up to n calls from an allowance that was refilled to now, and returns how many it got: none while it is closed.
func Take(a *model.Allowance, now int64, n int) int { return take(a, &a.CallsMilli, now, n) }

const (
	modestCalls  = 10 // calls taken lately that one cluster may have before it leaves some for others
	keptFraction = 5  // two of so many parts of the burst are kept for those who took less
)

// Share returns how many calls may be taken of an allowance that was refilled to now by a cluster that took used thousandths
// lately, as Lately says. A cluster that took few may take all there is; one that took many leaves two fifths of the burst to
// the others. It loses nothing by that in the long run, since calls come back as fast with a bucket that is not empty.
func (r Rates) Share(a model.Allowance, used int64) int {
	modest := max(0, modestCalls*Milli-used)
	return int(min(a.CallsMilli, max(modest, r.spare(a))) / Milli)
}

// Spare returns how many calls may be taken for what can wait, such as tags: those that are not kept for launches.
func (r Rates) Spare(a model.Allowance) int { return int(r.spare(a) / Milli) }

func (r Rates) spare(a model.Allowance) int64 {
	return max(0, a.CallsMilli-2*int64(r.CallBurst)*Milli/keptFraction)
}

// RecentUse returns how many of used thousandths of calls, counted at a time, still count at now: so many a minute are
// forgotten, and a time that a wrong clock wrote at once.
func RecentUse(used, at, now, perMinute int64) int64 {
	if elapsed := now - at; elapsed >= -skewSeconds {
		return max(0, min(used, 60*Milli)-min(max(0, elapsed), 3600)*perMinute*Milli/60)
	}
	return 0
}

// TakeReads takes n calls that only read, or none, and reports whether it got them. EC2 counts them apart from those that change
// something and allows far more of them (EC2 developer guide, Request throttling), so that whoever looks something up
// keeps nobody from launching.
func TakeReads(a *model.Allowance, now int64, n int) bool {
	return a.ReadsMilli >= int64(n)*Milli && take(a, &a.ReadsMilli, now, n) == max(0, n)
}

func take(a *model.Allowance, bucket *int64, now int64, n int) int {
	if now < a.ClosedUntilUnix {
		return 0
	}
	got := max(0, min(n, int(*bucket/Milli)))
	*bucket -= int64(got) * Milli
	return got
}

// RecordThrottle closes the allowance because EC2 asked for fewer calls: for ten seconds, doubling to a minute while that goes
// on.
func RecordThrottle(a *model.Allowance, now int64) {
	a.ClosedSeconds = min(closedAtMost, max(closedAtLeast, 2*a.ClosedSeconds))
	a.ClosedUntilUnix = now + a.ClosedSeconds
	a.CallsMilli, a.ReadsMilli = 0, 0
}

// RecordAnswer notes that EC2 answered: the next time it asks for less counts as the first.
func RecordAnswer(a *model.Allowance) { a.ClosedSeconds = 0 }
