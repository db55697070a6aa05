package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

// MaxAsyncBytes is the largest event of an asynchronous invocation.
const MaxAsyncBytes = 1024 * 1024

// Async is how a function takes asynchronous invocations: its event invoke configuration.
type Async struct {
	// MaxRetries is how often a function that failed is invoked again, at most twice.
	MaxRetries int
	// MaxAge is how long an event is kept at most, while the function is throttled or fails.
	MaxAge time.Duration
}

// DefaultAsync is what functions have that say nothing.
var DefaultAsync = Async{MaxRetries: len(functionErrorWaits), MaxAge: 6 * time.Hour}

// functionErrorWaits are the waits before the two retries of an asynchronous invocation whose function failed.
var functionErrorWaits = [2]time.Duration{time.Minute, 2 * time.Minute}

// Invoker runs functions; *lambdaruntime.Runner satisfies it.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) (lambdaruntime.Result, error)
}

// Lambda returns a target that invokes the function asynchronously: it takes the payload at once and invokes in the
// background, again after one and two minutes when the function fails, and with growing waits for up to six hours while
// it is throttled. onDropped is called with the last error when an event is given up; it may be nil. A done context, the
// one given here, ends the retries.
func Lambda(ctx context.Context, c clock.Clock, invoker Invoker, function string, onDropped func(error)) Target {
	return LambdaWith(ctx, c, invoker, function, DefaultAsync, onDropped)
}

// LambdaWith is Lambda with the function's own configuration: fewer retries, events that do not get as old.
func LambdaWith(ctx context.Context, c clock.Clock, invoker Invoker, function string, config Async, onDropped func(error)) Target {
	return func(_ context.Context, payload []byte) error {
		if len(payload) > MaxAsyncBytes {
			return fmt.Errorf("invoke %s asynchronously: %w: %d bytes, the limit is %d", function,
				lambdaruntime.ErrPayloadTooLarge, len(payload), MaxAsyncBytes)
		}
		event := &asyncEvent{clock: c, invoker: invoker, function: function, config: config, payload: payload, accepted: c.Now(), onDropped: onDropped}
		go event.attempt(ctx, 0, firstBackoff)
		return nil
	}
}

type asyncEvent struct {
	clock     clock.Clock
	invoker   Invoker
	function  string
	config    Async
	payload   []byte
	accepted  time.Time
	onDropped func(error)
}

// attempt invokes once and plans the next attempt: failures counts those of the function so far, backoff is the wait
// after a throttle.
func (e *asyncEvent) attempt(ctx context.Context, failures int, backoff time.Duration) {
	if err := ctx.Err(); err != nil {
		e.drop(err)
		return
	}
	result, err := e.invoker.Invoke(ctx, e.function, e.payload)
	switch {
	case errors.Is(err, lambdaruntime.ErrThrottled) && e.young(backoff):
		e.clock.AfterFunc(backoff, func() { e.attempt(ctx, failures, min(2*backoff, maxBackoff)) })
	case err != nil:
		e.drop(err)
	case result.Err() == nil:
	case failures < min(e.config.MaxRetries, len(functionErrorWaits)) && e.young(functionErrorWaits[failures]):
		e.clock.AfterFunc(functionErrorWaits[failures], func() { e.attempt(ctx, failures+1, firstBackoff) })
	default:
		e.drop(result.Err())
	}
}

// young reports whether the event may still be tried after a wait.
func (e *asyncEvent) young(wait time.Duration) bool {
	return e.clock.Now().Add(wait).Sub(e.accepted) <= e.config.MaxAge
}

func (e *asyncEvent) drop(err error) {
	if e.onDropped != nil {
		e.onDropped(fmt.Errorf("invoke %s asynchronously: %w", e.function, err))
	}
}
