package main

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/wire"
)

// handler translates events into requests to the flow.
type handler struct {
	flow    *disrupt.Flow
	logger  *slog.Logger
	metrics *boot.Metrics
}

// handle takes a batch of the disruption queue or a tick.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (any, error) {
	function := boot.Function{Queue: "disruption", FanOut: h.flow.FanOut, Batch: h.batch}
	return function.Handle(ctx, h.logger, event)
}

// batch runs the flow once per cluster of the batch and returns the records of those that could not be looked at.
func (h *handler) batch(ctx context.Context, logger *slog.Logger, records []events.SQSMessage) boot.Failures {
	var requests boot.Requests[disrupt.Request]
	boot.EachHint(logger, records, func(record events.SQSMessage, hint wire.Hint) {
		requests.Add(hint.Cluster, record.MessageId, func() disrupt.Request {
			return disrupt.Request{Cluster: hint.Cluster, Owner: boot.Owner(ctx, record.MessageId), Deadline: boot.Deadline(ctx)}
		}).Take(hint)
	})
	return requests.Run(func(request disrupt.Request) error {
		outcome, err := h.flow.Run(ctx, request)
		logger.Info("disrupt", "outcome", outcome, "error", boot.ErrorText(err))
		h.metrics.Send(measured(outcome))
		return err
	})
}
