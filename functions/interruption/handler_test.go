package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/test/handlers"
)

// hints records the looks that were asked for.
type hints struct{ sent []string }

func (h *hints) RequestPass(_ context.Context, cluster, key string, after time.Duration) error {
	h.sent = append(h.sent, cluster+" "+key+" "+after.String())
	return nil
}

const (
	hintsARN   = "arn:aws:sqs:eu-central-1:123456789012:joiner-interruption"
	noticesARN = "arn:aws:sqs:eu-central-1:123456789012:joiner-notices"
)

func newHandler() (*handler, *handlers.Registry) {
	r := &handlers.Registry{}
	now := func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }
	flow := &interruption.Flow{Registry: r, RequestPass: (&hints{}).RequestPass, Now: now}
	return &handler{flow: flow, hints: "joiner-interruption", notices: noticesARN, logger: slog.New(slog.DiscardHandler)}, r
}

func record(t *testing.T, id, cluster string) events.SQSMessage {
	t.Helper()
	return handlers.Record(t, id, hintsARN, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync})
}

func TestC7R63R70BatchesAndTicks(t *testing.T) {
	handlers.Test(t, handlers.Function{
		New: func(r *handlers.Registry) (handlers.Handler, *[]string) {
			h, _ := newHandler()
			sent := &hints{}
			h.flow.Registry, h.flow.RequestPass = r, sent.RequestPass
			return h.handle, &sent.sent
		},
		Queue: "interruption queue", Reason: wire.ReasonResync, ARN: func(string) string { return hintsARN },
		Ticks: []string{"shop " + handlers.Tick + " 0s", "web " + handlers.Tick + " 0s"},
	})
}
