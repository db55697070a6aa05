package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/test/handlers"
)

// hints records the looks that were asked for.
type hints struct{ sent []string }

func (h *hints) RequestDisruption(_ context.Context, cluster, key string, after time.Duration) error {
	h.sent = append(h.sent, cluster+" "+key+" "+after.String())
	return nil
}

// still is a ledger in which nothing happens.
type still struct{ disrupt.Ledger }

func (still) Peek(context.Context, string) (*model.Manifest, model.DisruptNotes, int64, error) {
	return nil, model.DisruptNotes{}, 0, nil
}

// busy says that another run is at work.
type busy struct{ port.Leases }

func (busy) AcquireLease(context.Context, string, string, string, int64, int64) (model.Fence, error) {
	return model.Fence{}, fault.New(fault.Conflict, "", "another has it")
}

// Paused clusters get a hint each minute too: what was on its way there is undone.
func TestC7R63R70BatchesAndTicks(t *testing.T) {
	handlers.Test(t, handlers.Function{
		New: func(r *handlers.Registry) (handlers.Handler, *[]string) {
			h := &hints{}
			now := func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }
			flow := &disrupt.Flow{
				Registry: r, RequestDisruption: h.RequestDisruption, Leases: busy{}, Ledger: still{}, Now: now,
			}
			return (&handler{flow: flow, logger: slog.New(slog.DiscardHandler)}).handle, &h.sent
		},
		Queue: "disruption queue", Reason: wire.ReasonDisrupt, ARN: func(string) string { return "" },
		Ticks: []string{"shop due/" + handlers.Tick + " 0s", "web due/" + handlers.Tick + " 0s", "resting due/" + handlers.Tick + " 0s"},
	})
}
