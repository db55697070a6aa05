package provision

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/allowance"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// EC2 throttles an account by the region, whichever cluster calls, and so do we before it has to: calls are taken from
// one token bucket all clusters share, and those that only read from another. A third bucket counts launches that come back without
// capacity: in a stock-out they are all there is, and a few a minute are enough to find out that it is over.
//
// A cluster few of whose launches had no capacity lately does not ask the third bucket beforehand; what did had no capacity is taken of it
// afterwards. From insufficientFree on each launch takes of it first and returns what did not lack capacity, so that no more had no capacity than
// it allows. How much is left of it does not matter to the others: a cluster that asks on and on for what is not available would
// have them all wait in line behind it.

const (
	calmAfter          = int64(600)           // seconds without a dry launch of its own after which a cluster's launches of a pool go side by side from the first
	insufficientFree   = 8 * allowance.Milli  // dry launches of its own lately from which on a cluster asks the third bucket first
	insufficientMost   = 20 * allowance.Milli // of which so many are remembered at most, and
	insufficientForget = int64(2)             // so many forgotten a minute: all of them after ten minutes
	insufficientKept   = 4                    // dry launches a first choice leaves for pools that may have capacity
	milli              = allowance.Milli
)

// rates are what the region shares.
func (s Settings) rates() allowance.Rates {
	return allowance.Rates{CallBurst: s.CallBurst, CallsPerSecond: s.CallsPerSecond, ReadBurst: s.ReadBurst, ReadsPerSecond: s.ReadsPerSecond, InsufficientBurst: s.InsufficientBurst, InsufficientPerMinute: s.InsufficientPerMinute}
}

// granted is what was taken for some calls.
type granted struct {
	calls int
	kept  bool // dry launches were taken too, one for each call
}

// take takes up to n calls from the allowance, fewer where this cluster's launches took many lately. Launches leave keep dry ones
// for others; other calls take none. Calls that
// are not granted are not made: the next resync comes back to what they were for.
func (r *pass) take(ctx context.Context, n int, launches bool, keep int) granted {
	var got granted
	err := r.change(ctx, func(a *model.Allowance) bool {
		got = granted{kept: launches && r.dries() >= insufficientFree}
		most := n
		if launches {
			most = min(n, r.settings.rates().Share(*a, r.callsLately()))
		}
		if got.kept {
			most = min(most, int(a.InsufficientMilli/milli)-keep)
		}
		got.calls = allowance.Take(a, r.now(), most)
		if got.kept {
			a.InsufficientMilli -= int64(got.calls) * milli
		}
		return got.calls > 0
	})
	if err != nil {
		r.problem("reserve %d EC2 API calls: %v", n, err)
		return granted{}
	}
	if launches && got.calls > 0 {
		r.ledger.Notes.CallsMilli, r.ledger.Notes.CallsUnix, r.noted = r.callsLately()+int64(got.calls)*milli, r.now(), true
	}
	return got
}

// takeSpare takes up to n calls for what can wait: it leaves some to all clusters' launches.
func (r *pass) takeSpare(ctx context.Context, n int) granted {
	var got granted
	err := r.change(ctx, func(a *model.Allowance) bool {
		got.calls = allowance.Take(a, r.now(), min(n, r.settings.rates().Spare(*a)))
		return got.calls > 0
	})
	if err != nil {
		r.problem("reserve %d EC2 API calls: %v", n, err)
		return granted{}
	}
	return got
}

// callsLately returns how many thousandths of calls this cluster's launches took lately.
func (r *pass) callsLately() int64 {
	return allowance.RecentUse(r.ledger.Notes.CallsMilli, r.ledger.Notes.CallsUnix, r.now(), 60)
}

// takeReads takes n calls that only read, or none, and reports whether it got them. More than there ever are at once is as many
// as there are.
func (r *pass) takeReads(ctx context.Context, n int) bool {
	granted := false
	err := r.change(ctx, func(a *model.Allowance) bool {
		granted = allowance.TakeReads(a, r.now(), min(n, r.settings.ReadBurst))
		return granted
	})
	if err != nil {
		r.problem("reserve %d EC2 read calls: %v", n, err)
	}
	return granted && err == nil
}

// dries returns how many thousandths of launches of this cluster had no capacity lately.
func (r *pass) dries() int64 {
	return allowance.RecentUse(r.ledger.Notes.InsufficientMilli, r.ledger.Notes.InsufficientUnix, r.now(), insufficientForget)
}

// insufficientLately reports whether launches of this cluster had no capacity a short time ago.
func (r *pass) insufficientLately() bool {
	return r.ledger.Notes.InsufficientUnix != 0 && r.now()-r.ledger.Notes.InsufficientUnix <= calmAfter
}

// settleCalls settles what became of the calls taken: how many had no capacity, and whether EC2 asked for fewer calls.
func (r *pass) settleCalls(ctx context.Context, got granted, insufficient int, throttled bool) {
	if insufficient > 0 {
		r.ledger.Notes.InsufficientMilli = min(r.dries()+int64(insufficient)*milli, insufficientMost)
		r.ledger.Notes.InsufficientUnix, r.noted = r.now(), true
	}
	err := r.change(ctx, func(a *model.Allowance) bool {
		before := *a
		if got.kept {
			a.InsufficientMilli = min(int64(r.settings.InsufficientBurst)*milli, a.InsufficientMilli+int64(got.calls-insufficient)*milli)
		} else {
			a.InsufficientMilli = max(0, a.InsufficientMilli-int64(insufficient)*milli)
		}
		if throttled {
			allowance.RecordThrottle(a, r.now())
		} else {
			allowance.RecordAnswer(a)
		}
		return *a != before
	})
	if err != nil {
		r.problem("settle %d EC2 API calls: %v", got.calls, err)
	}
}

// requeue asks for another check of the cluster where something was put off because EC2's API was used up for now, or where pods are planned
// next and this run got on: calls come back each second, and the next resync is up to a minute away. The hint is behind this run in its group, and one a second is taken at most, so
// that however long that goes on a cluster costs a run a second.
func (r *pass) requeue(ctx context.Context) {
	if !r.putOffCalls && (r.out.Later == 0 || r.out.Claims == 0) {
		return
	}
	key := fmt.Sprintf("again/%d", r.now())
	if err := r.effect(ctx, EffectRequeue, func() error { return r.Hints.Resync(ctx, r.reg.Cluster, key) }); err != nil {
		r.problem("send a hint to run again; the next resync continues: %v", err)
	}
}

// change brings the allowance up to date, changes it and writes it, again where somebody else was faster. Where what
// returns false nothing is written.
func (r *pass) change(ctx context.Context, what func(*model.Allowance) bool) error {
	const tries = 25 // fifty clusters that take at once are in each other's way
	var err error
	for range tries {
		next := r.settings.rates().Refilled(r.ledger.Allowance, r.now())
		if !what(&next) {
			return nil
		}
		next.Version = r.ledger.Allowance.Version
		err = r.effect(ctx, EffectSpend, func() error { return r.Allowances.Spend(ctx, r.reg, next) })
		if err == nil {
			next.Version++
			r.ledger.Allowance = next
			return nil
		}
		if !fault.Is(err, fault.Conflict) {
			return err
		}
		stored, readErr := r.Allowances.Allowance(ctx, r.reg)
		if readErr != nil {
			return readErr
		}
		r.ledger.Allowance = stored
	}
	return err
}
