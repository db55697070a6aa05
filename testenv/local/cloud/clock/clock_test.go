package clock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestAdvanceRunsDueFunctionsInOrderOfTimeThenScheduling(t *testing.T) {
	c := clock.NewFake(start)
	var ran []string
	note := func(name string) func() { return func() { ran = append(ran, name) } }
	c.AfterFunc(2*time.Second, note("late"))
	c.AfterFunc(time.Second, note("first"))
	c.AfterFunc(time.Second, note("second"))
	c.AfterFunc(3*time.Second, note("not yet"))
	c.Advance(2 * time.Second)
	if want := []string{"first", "second", "late"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	if got := c.Pending(); got != 1 {
		t.Errorf("pending %d, want 1", got)
	}
}

func TestAdvanceShowsDueTimeAndRunsWhatItSchedules(t *testing.T) {
	c := clock.NewFake(start)
	var at []time.Duration
	var tick func()
	tick = func() {
		at = append(at, c.Now().Sub(start))
		c.AfterFunc(10*time.Second, tick)
	}
	c.AfterFunc(10*time.Second, tick)
	c.Advance(35 * time.Second)
	if want := []time.Duration{10e9, 20e9, 30e9}; !slices.Equal(at, want) {
		t.Errorf("ticked at %v, want %v", at, want)
	}
	if got := c.Now().Sub(start); got != 35*time.Second {
		t.Errorf("clock shows %v after start, want 35s", got)
	}
}

func TestStopPreventsTheCallOnce(t *testing.T) {
	c := clock.NewFake(start)
	ran := false
	stop := c.AfterFunc(time.Second, func() { ran = true })
	if !stop() {
		t.Error("first stop returned false")
	}
	if stop() {
		t.Error("second stop returned true")
	}
	c.Advance(time.Minute)
	if ran {
		t.Error("stopped function ran")
	}
}

func TestSleepEndsWithTheClockOrTheContext(t *testing.T) {
	c := clock.NewFake(start)
	done := make(chan error, 1)
	go func() { done <- clock.Sleep(context.Background(), c, time.Hour) }()
	if err := c.AwaitPending(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Hour)
	if err := <-done; err != nil {
		t.Errorf("sleep on the clock: %v", err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- clock.Sleep(ctx, c, time.Hour) }()
	if err := c.AwaitPending(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled sleep returned %v, want context.Canceled", err)
	}
	if got := c.Pending(); got != 0 {
		t.Errorf("pending %d after cancelled sleep, want 0", got)
	}
}
