package provision

import (
	"context"

	"github.com/joiner-sh/joiner/shared/core/allowance"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// EC2 throttles an account by the region, whichever cluster calls, and so do we before it has to: calls are taken from
// one token bucket all clusters share, and those that only read from another. A third bucket counts launches that come
// back without capacity: in a stock-out they are all there is, and a few a minute are enough to find out that it is
// over.
//
// A cluster few of whose launches had no capacity lately does not ask the third bucket beforehand; what did had no
// capacity is taken of it afterwards. From insufficientFree on each launch takes of it first and returns what did not
// lack capacity, so that no more had no capacity than it allows. How much is left of it does not matter to the others:
// a cluster that asks on and on for what is not available would have them all wait in line behind it.

const (
	// seconds without a dry launch of its own after which a cluster's launches of a pool go side by side from the first
	calmAfter = int64(600)
	// dry launches of its own lately from which on a cluster asks the third bucket first
	insufficientFree   = 8 * allowance.Milli
	insufficientMost   = 20 * allowance.Milli // of which so many are remembered at most, and
	insufficientForget = int64(2)             // so many forgotten a minute: all of them after ten minutes
	insufficientKept   = 4                    // dry launches a first choice leaves for pools that may have capacity
	milli              = allowance.Milli
)

// quotaUsedUp says why something waits.
const quotaUsedUp = "all clusters of the region together have used up the EC2 API quota for now"

// quota is what this cluster may take of the EC2 API calls that all clusters of the region share.
type quota struct {
	*state
	allowances port.Allowances
	putOff     bool // something was put off because the calls were used up for now
}

// granted is what was taken for some calls.
type granted struct {
	calls int
	kept  bool // dry launches were taken too, one for each call
}

// take takes up to n calls from the allowance, fewer where this cluster's launches took many lately. Launches leave
// keep dry ones for others; other calls take none. Calls that are not granted are not made: the next resync comes back
// to what they were for.
func (q *quota) take(ctx context.Context, n int, launches bool, keep int) granted {
	var got granted
	ok := q.change(ctx, "reserve %d EC2 API calls: %v", n, func(a *model.Allowance) bool {
		got = granted{kept: launches && q.dries() >= insufficientFree}
		most := n
		if launches {
			most = min(n, q.settings.Rates.Share(*a, q.callsLately()))
		}
		if got.kept {
			most = min(most, int(a.InsufficientMilli/milli)-keep)
		}
		got.calls = allowance.Take(a, q.now(), most)
		if got.kept {
			a.InsufficientMilli -= int64(got.calls) * milli
		}
		return got.calls > 0
	})
	if !ok {
		return granted{}
	}
	if launches && got.calls > 0 {
		q.ledger.Notes.CallsMilli = q.callsLately() + int64(got.calls)*milli
		q.ledger.Notes.CallsUnix, q.noted = q.now(), true
	}
	return got
}

// takeSpare takes up to n calls for what can wait: it leaves some to all clusters' launches.
func (q *quota) takeSpare(ctx context.Context, n int) (calls int) {
	ok := q.change(ctx, "reserve %d EC2 API calls: %v", n, func(a *model.Allowance) bool {
		calls = allowance.Take(a, q.now(), min(n, q.settings.Rates.Spare(*a)))
		return calls > 0
	})
	if !ok {
		return 0
	}
	return calls
}

// callsLately returns how many thousandths of calls this cluster's launches took lately.
func (q *quota) callsLately() int64 {
	return allowance.RecentUse(q.ledger.Notes.CallsMilli, q.ledger.Notes.CallsUnix, q.now(), 60)
}

// takeReads takes n calls that only read, or none, and reports whether it got them. More than there ever are at once is
// as many as there are.
func (q *quota) takeReads(ctx context.Context, n int) bool {
	granted := false
	ok := q.change(ctx, "reserve %d EC2 read calls: %v", n, func(a *model.Allowance) bool {
		granted = allowance.TakeReads(a, q.now(), min(n, q.settings.ReadBurst))
		return granted
	})
	return granted && ok
}

// dries returns how many thousandths of launches of this cluster had no capacity lately.
func (q *quota) dries() int64 {
	return allowance.RecentUse(q.ledger.Notes.InsufficientMilli, q.ledger.Notes.InsufficientUnix, q.now(),
		insufficientForget)
}

// insufficientLately reports whether launches of this cluster had no capacity a short time ago.
func (q *quota) insufficientLately() bool {
	return q.ledger.Notes.InsufficientUnix != 0 && q.now()-q.ledger.Notes.InsufficientUnix <= calmAfter
}

// settleCalls settles what became of the calls taken: how many had no capacity, and whether EC2 asked for fewer calls.
func (q *quota) settleCalls(ctx context.Context, got granted, insufficient int, throttled bool) {
	if insufficient > 0 {
		q.ledger.Notes.InsufficientMilli = min(q.dries()+int64(insufficient)*milli, insufficientMost)
		q.ledger.Notes.InsufficientUnix, q.noted = q.now(), true
	}
	q.change(ctx, "settle %d EC2 API calls: %v", got.calls, func(a *model.Allowance) bool {
		before := *a
		if got.kept {
			a.InsufficientMilli = min(int64(q.settings.InsufficientBurst)*milli,
				a.InsufficientMilli+int64(got.calls-insufficient)*milli)
		} else {
			a.InsufficientMilli = max(0, a.InsufficientMilli-int64(insufficient)*milli)
		}
		if throttled {
			allowance.RecordThrottle(a, q.now())
		} else {
			allowance.RecordAnswer(a)
		}
		return *a != before
	})
}

// change brings the allowance up to date, changes it and writes it, again where somebody else was faster. Where what
// returns false nothing is written. It reports whether there was no error; one is a problem, with the number of calls.
func (q *quota) change(ctx context.Context, problem string, calls int, what func(*model.Allowance) bool) bool {
	const tries = 25 // fifty clusters that take at once are in each other's way
	var err error
	for range tries {
		next := q.settings.Rates.Refilled(q.ledger.Allowance, q.now())
		if !what(&next) {
			return true
		}
		next.Version = q.ledger.Allowance.Version
		err = q.effect(ctx, EffectSpend, func() error { return q.allowances.Spend(ctx, q.reg, next) })
		if err == nil {
			next.Version++
			q.ledger.Allowance = next
			return true
		}
		if !fault.Is(err, fault.Conflict) {
			break
		}
		stored, readErr := q.allowances.Allowance(ctx, q.reg)
		if readErr != nil {
			err = readErr
			break
		}
		q.ledger.Allowance = stored
	}
	q.problem(problem, calls, err)
	return false
}
