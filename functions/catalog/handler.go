package main

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/wire"
)

// handler translates events into requests to the flow.
type handler struct {
	flow    *catalog.Flow
	region  *catalog.Region
	custom  *custom
	logger  *slog.Logger
	metrics *boot.Metrics
}

// handle takes a batch of the catalog's queue, a tick, or what CloudFormation asks for.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (any, error) {
	if request := readCustom(event); request != nil {
		return nil, h.custom.handle(ctx, request)
	}
	function := boot.Function{Queue: "catalog", FanOut: h.flow.FanOut, Ticked: h.regions, Batch: h.batch}
	return function.Handle(ctx, h.logger, event)
}

// regions keeps the instance catalogs of all regions fresh. What fails is tried again at the next tick.
func (h *handler) regions(ctx context.Context, logger *slog.Logger) {
	outcomes, err := h.region.Run(ctx)
	for _, outcome := range outcomes {
		level := slog.LevelInfo
		if len(outcome.Refreshed)+len(outcome.Problems) == 0 {
			level = slog.LevelDebug
		}
		logger.Log(ctx, level, "region", "outcome", outcome)
	}
	if err != nil {
		logger.Error("region", "error", err.Error())
	}
}

// batch passes once over each cluster of the batch and returns the records of those that could not be passed over.
func (h *handler) batch(ctx context.Context, logger *slog.Logger, records []events.SQSMessage) boot.Failures {
	var requests boot.Requests[catalog.Request]
	boot.EachHint(logger, records, func(record events.SQSMessage, hint wire.Hint) {
		request := requests.Add(hint.Cluster, record.MessageId, func() catalog.Request {
			return catalog.Request{Cluster: hint.Cluster, Shift: true, Owner: boot.Owner(ctx, record.MessageId),
				Deadline: boot.Deadline(ctx)}
		})
		request.Config = request.Config || hint.Reason == wire.ReasonConfig
		request.Shift = request.Shift && hint.Reason == wire.ReasonShift
	})
	return requests.Run(func(request catalog.Request) error {
		outcome, err := h.flow.Run(ctx, request)
		logger.Info("catalog", "outcome", outcome, "error", boot.ErrorText(err))
		h.metrics.Send(measured(outcome))
		return err
	})
}
