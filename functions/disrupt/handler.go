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
	of := *h
	of.logger, h = boot.Invoked(ctx, h.logger), &of
	resync, batch, err := boot.ReadEvent(event, "disruption")
	if err != nil {
		h.logger.Error("event", "error", err.Error())
		return nil, err
	}
	if resync != "" {
		sent, err := h.flow.FanOut(ctx, resync)
		h.logger.Info("sweep", "tick", resync, "clusters", sent, "error", boot.ErrorText(err))
		return nil, err
	}
	return h.batch(ctx, batch), nil
}

// batch runs the flow once per cluster of the batch, side by side, and reports the records of those that could not be looked at.
func (h *handler) batch(ctx context.Context, batch events.SQSEvent) events.SQSEventResponse {
	var failures boot.Failures
	requests, records, order := map[string]*disrupt.Request{}, map[string][]string{}, []string{}
	for _, record := range batch.Records {
		hint, err := wire.DecodeHint([]byte(record.Body))
		if err != nil { // a hint carries no truth: the next tick finds what it would have said
			h.logger.Error("drop a hint that cannot be read", "message", record.MessageId, "error", err.Error())
			continue
		}
		if requests[hint.Cluster] == nil {
			requests[hint.Cluster] = &disrupt.Request{Cluster: hint.Cluster, Owner: boot.Owner(ctx, record.MessageId)}
			order = append(order, hint.Cluster)
		}
		requests[hint.Cluster].Take(hint)
		records[hint.Cluster] = append(records[hint.Cluster], record.MessageId)
	}
	if len(order) == 0 {
		h.logger.Info("batch", "records", len(batch.Records), "error", "no hint can be read")
	}
	for i, err := range boot.Parallel(len(order), func(i int) error {
		request := requests[order[i]]
		request.Deadline = boot.Deadline(ctx)
		outcome, err := h.flow.Run(ctx, *request)
		h.logger.Info("disrupt", "outcome", outcome, "error", boot.ErrorText(err))
		h.metrics.Send(measured(outcome))
		return err
	}) {
		if err != nil {
			failures.Add(records[order[i]]...)
		}
	}
	return failures.Response()
}
