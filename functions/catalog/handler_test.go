package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/test/handlers"
)

// nobody has attached a cluster: no region is passed over.
type nobody struct{ handlers.Registry }

func (*nobody) Clusters(context.Context) ([]model.Registration, error) { return nil, nil }

// sent records what was asked for.
type sent struct{ passes []string }

func (s *sent) RequestPass(_ context.Context, cluster, key string) error {
	s.passes = append(s.passes, cluster+" "+key)
	return nil
}

func newHandler(r *handlers.Registry) (*handler, *sent) {
	h := &sent{}
	now := func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }
	flow := &catalog.Flow{Registry: r, RequestPass: h.RequestPass, Now: now}
	region := &catalog.Region{Registry: &nobody{}, Now: flow.Now}
	return &handler{flow: flow, region: region, logger: slog.New(slog.DiscardHandler)}, h
}

// invoked is the context of an invocation of the function, in account 111122223333.
func invoked(ctx context.Context) context.Context {
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{InvokedFunctionArn: "arn:aws:lambda:us-west-2:111122223333:function:joiner-catalog"})
}

func handle(t *testing.T, h *handler, event any) (string, error) {
	t.Helper()
	return handlers.Handler(func(ctx context.Context, raw json.RawMessage) (any, error) { return h.handle(invoked(ctx), raw) }).Send(t, event)
}

func TestC7R63R70BatchesAndTicks(t *testing.T) {
	handlers.Test(t, handlers.Function{
		New: func(r *handlers.Registry) (handlers.Handler, *[]string) {
			h, sent := newHandler(r)
			return h.handle, &sent.passes
		},
		Queue: "catalog queue", Reason: wire.ReasonResync, ARN: func(string) string { return "" },
		Ticks: []string{"shop " + handlers.Tick, "web " + handlers.Tick},
	})
}
