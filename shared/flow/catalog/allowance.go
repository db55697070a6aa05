package catalog

import (
	"context"

	"github.com/joiner-sh/joiner/shared/core/allowance"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// callQuota is what a pass may take of EC2's API, which all clusters of an account and region share.
type callQuota struct {
	port  port.Allowances
	rates allowance.Rates // with defaults
	reg   model.Registration
	now   func() int64                                     // Unix seconds
	spend func(ctx context.Context, do func() error) error // do, as an effect; nil = just do
}

// takeReads takes n calls that only read, or none; more than the bucket holds is as much as it holds. It reports whether it got
// them.
func (p callQuota) takeReads(ctx context.Context, n int) (bool, error) {
	granted := false
	err := p.change(ctx, func(a *model.Allowance) bool {
		granted = allowance.TakeReads(a, p.now(), min(n, p.rates.ReadBurst))
		return granted
	})
	return granted && err == nil, err
}

// take takes n other calls, or none, and leaves some for those who launch: a class can wait for the next tick, pods cannot.
func (p callQuota) take(ctx context.Context, n int) (bool, error) {
	const left = 15
	granted := false
	err := p.change(ctx, func(a *model.Allowance) bool {
		granted = a.CallsMilli >= int64(n+left)*allowance.Milli && allowance.Take(a, p.now(), n) == n
		return granted
	})
	return granted && err == nil, err
}

// settle notes how EC2 answered: whether it asked for fewer calls.
func (p callQuota) settle(ctx context.Context, throttled bool) error {
	return p.change(ctx, func(a *model.Allowance) bool {
		if throttled {
			allowance.RecordThrottle(a, p.now())
			return true
		}
		changed := a.ClosedSeconds != 0
		allowance.RecordAnswer(a)
		return changed
	})
}

// change brings the allowance up to date, changes it and writes it, again where somebody else was faster. Where what
// returns false nothing is written.
func (p callQuota) change(ctx context.Context, what func(*model.Allowance) bool) error {
	const tries = 25 // fifty clusters that take at once are in each other's way
	var err error
	for range tries {
		stored, readErr := p.port.Allowance(ctx, p.reg)
		if readErr != nil {
			return readErr
		}
		next := p.rates.Refilled(stored, p.now())
		if !what(&next) {
			return nil
		}
		next.Version = stored.Version
		spend := func() error { return p.port.Spend(ctx, p.reg, next) }
		if p.spend == nil {
			err = spend()
		} else {
			err = p.spend(ctx, spend)
		}
		if !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return err
}
