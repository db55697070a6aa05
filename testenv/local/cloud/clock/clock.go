package clock

import (
	"context"
	"time"
)

// Clock tells the time and wakes its user. Implementations are safe for
// concurrent use.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// AfterFunc calls f once, d from now, on a goroutine that holds no lock of
	// the caller. stop prevents the call and returns true, or returns false
	// when f has already been started or stopped.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// System returns the clock of the machine.
func System() Clock { return system{} }

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// Sleep waits until d has passed on c or ctx is done, and returns ctx.Err() in
// the second case. A d of zero or less returns at once.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	woken := make(chan struct{})
	stop := c.AfterFunc(d, func() { close(woken) })
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
}
