package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/wire"
)

// handler translates events into requests to the flow.
type handler struct {
	flow   *interruption.Flow
	logger *slog.Logger
}

// tick is what the schedule of each minute sends: {"sweep": "<scheduled time>"}.
type tick struct {
	Sweep string `json:"sweep"`
}

// handle takes a batch of the interruption queue or a tick.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (any, error) {
	var t tick
	if err := json.Unmarshal(event, &t); err == nil && t.Sweep != "" {
		sent, err := h.flow.FanOut(ctx, t.Sweep)
		h.logger.Info("sweep", "tick", t.Sweep, "clusters", sent, "error", boot.ErrorText(err))
		return nil, err
	}
	var batch events.SQSEvent
	if err := json.Unmarshal(event, &batch); err != nil || len(batch.Records) == 0 {
		return nil, fmt.Errorf("event is neither a batch of the interruption queue nor a tick {\"sweep\": …}: %.200s", event)
	}
	return h.batch(ctx, batch), nil
}

// batch looks once at each cluster of the batch and reports the records of those that could not be looked at.
func (h *handler) batch(ctx context.Context, batch events.SQSEvent) events.SQSEventResponse {
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	records, order := map[string][]string{}, []string{}
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
	}
	for _, cluster := range order {
		request := interruption.Request{Cluster: cluster, Owner: boot.Owner(ctx, records[cluster][0]), Deadline: boot.Deadline(ctx)}
		outcome, err := h.flow.Run(ctx, request)
		h.logger.Info("interruption", "outcome", outcome, "error", boot.ErrorText(err))
		if err == nil {
			continue
		}
		for _, id := range records[cluster] {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
		}
	}
	return response
}
