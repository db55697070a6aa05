package ec2

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Rate is a token bucket: it holds at most Burst requests and gains PerSecond.
type Rate struct {
	Burst     float64
	PerSecond float64
}

// throttle limits requests of the account, per action.
type throttle struct {
	rates   map[string]Rate // by action; "" for every action without its own
	buckets map[string]*bucket
}

type bucket struct {
	tokens float64
	filled time.Time
}

// SetThrottle limits the rate of an action, "" for each action that has no rate
// of its own; beyond it requests fail with RequestLimitExceeded. A zero Rate
// lifts the limit. There is none to begin with.
func (m *Model) SetThrottle(action string, r Rate) {
	m.lock()
	defer m.unlock()
	if m.throttle.rates == nil {
		m.throttle.rates = map[string]Rate{}
	}
	if r == (Rate{}) {
		delete(m.throttle.rates, action)
	} else {
		m.throttle.rates[action] = r
	}
	m.throttle.buckets = map[string]*bucket{}
}

// admit takes a token for a request, or refuses it; and it refuses what the caller may not do.
func (m *Model) admit(ctx context.Context, action string) error {
	m.lock()
	defer m.unlock()
	if err := m.takeToken(action); err != nil {
		return err
	}
	if err := m.authorize(ctx, action); err != nil {
		return err
	}
	return nil
}

func (m *Model) takeToken(action string) error {
	rate, ok := m.throttle.rates[action]
	if !ok {
		if rate, ok = m.throttle.rates[""]; !ok {
			return nil
		}
	}
	now := m.now()
	b := m.throttle.buckets[action]
	if b == nil {
		b = &bucket{tokens: rate.Burst, filled: now}
		m.throttle.buckets[action] = b
	}
	b.tokens = min(rate.Burst, b.tokens+rate.PerSecond*now.Sub(b.filled).Seconds())
	b.filled = now
	if b.tokens < 1 {
		return wire.StatusErrorf(503, "RequestLimitExceeded", "Request limit exceeded.")
	}
	b.tokens--
	return nil
}
