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
	of := *h
	of.logger, h = boot.Invoked(ctx, h.logger), &of
	if request := readCustom(event); request != nil {
		return nil, h.custom.handle(ctx, request)
	}
	resync, batch, err := boot.ReadEvent(event, "catalog")
	if err != nil {
		h.logger.Error("event", "error", err.Error())
		return nil, err
	}
	if resync != "" {
		sent, err := h.flow.FanOut(ctx, resync)
		h.logger.Info("sweep", "tick", resync, "clusters", sent, "error", boot.ErrorText(err))
		h.regions(ctx)
		return nil, err
	}
	return h.batch(ctx, batch), nil
}

// regions keeps the instance catalogs of all regions fresh. What fails is tried again at the next tick.
func (h *handler) regions(ctx context.Context) {
	outcomes, err := h.region.Run(ctx)
	for _, outcome := range outcomes {
		level := slog.LevelInfo
		if len(outcome.Refreshed)+len(outcome.Problems) == 0 {
			level = slog.LevelDebug
		}
		h.logger.Log(ctx, level, "region", "outcome", outcome)
	}
	if err != nil {
		h.logger.Error("region", "error", err.Error())
	}
}

// batch passes once over each cluster of the batch, side by side, and reports the records of those that could not be passed over.
func (h *handler) batch(ctx context.Context, batch events.SQSEvent) events.SQSEventResponse {
	var failures boot.Failures
	records, order, changed := map[string][]string{}, []string{}, map[string]bool{}
	for _, record := range batch.Records {
		hint, err := wire.DecodeHint([]byte(record.Body))
		if err != nil {
			// A hint carries no truth: the next tick finds what it would have said.
			h.logger.Error("drop a hint that cannot be read", "message", record.MessageId, "error", err.Error())
			continue
		}
		if records[hint.Cluster] == nil {
			order = append(order, hint.Cluster)
		}
		records[hint.Cluster] = append(records[hint.Cluster], record.MessageId)
		changed[hint.Cluster] = changed[hint.Cluster] || hint.Reason == wire.ReasonConfig
	}
	if len(order) == 0 {
		h.logger.Info("batch", "records", len(batch.Records), "error", "no hint can be read")
	}
	for i, err := range boot.Parallel(len(order), func(i int) error {
		cluster := order[i]
		request := catalog.Request{
			Cluster: cluster, Config: changed[cluster], Owner: boot.Owner(ctx, records[cluster][0]), Deadline: boot.Deadline(ctx),
		}
		outcome, err := h.flow.Run(ctx, request)
		h.logger.Info("catalog", "outcome", outcome, "error", boot.ErrorText(err))
		h.metrics.Send(measured(outcome))
		return err
	}) {
		if err != nil {
			failures.Add(records[order[i]]...)
		}
	}
	return failures.Response()
}
