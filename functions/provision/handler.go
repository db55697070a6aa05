package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/wire"
)

// handler translates events into requests to the flow.
type handler struct {
	flow   *provision.Flow
	logger *slog.Logger
}

// tick is what the schedule of each minute sends: {"sweep": "<scheduled time>"}.
type tick struct {
	Sweep string `json:"sweep"`
}

// handle takes a batch of the plan queue or a tick.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (any, error) {
	var t tick
	if err := json.Unmarshal(event, &t); err == nil && t.Sweep != "" {
		sent, err := h.flow.FanOut(ctx, t.Sweep)
		h.logger.Info("sweep", "tick", t.Sweep, "clusters", sent, "error", boot.ErrorText(err))
		return nil, err
	}
	var batch events.SQSEvent
	if err := json.Unmarshal(event, &batch); err != nil || len(batch.Records) == 0 {
		return nil, fmt.Errorf("event is neither a batch of the plan queue nor a tick {\"sweep\": …}: %.200s", event)
	}
	return h.batch(ctx, batch), nil
}

// window is how long the watcher collected a batch, in Unix milliseconds of its clock.
type window struct {
	FirstSeen int64 `json:"firstSeenMillis"`
	Closed    int64 `json:"closedMillis"`
	Pods      int   `json:"pods"`
}

// batch runs the flow once per cluster of the batch and reports the records of those it could not be carried through for.
func (h *handler) batch(ctx context.Context, batch events.SQSEvent) events.SQSEventResponse {
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	requests, order := map[string]*provision.Request{}, []string{}
	records, batches := map[string][]string{}, map[string][]window{}
	spent := 0
	for _, record := range batch.Records {
		hint, err := wire.DecodeHint([]byte(record.Body))
		if err != nil {
			// A hint carries no truth: the sweep finds what it would have said. Returning it would block its group.
			h.logger.Error("drop a hint that cannot be read", "message", record.MessageId, "error", err.Error())
			continue
		}
		if provision.Spent(hint, time.Now()) {
			spent++
			continue
		}
		request := requests[hint.Cluster]
		if request == nil {
			request = &provision.Request{Cluster: hint.Cluster, Owner: boot.Owner(ctx, record.MessageId)}
			requests[hint.Cluster], order = request, append(order, hint.Cluster)
		}
		request.Take(hint)
		if hint.ClosedMillis != 0 {
			batches[hint.Cluster] = append(batches[hint.Cluster], window{hint.FirstSeenMillis, hint.ClosedMillis, len(hint.Pods) + hint.Omitted})
		}
		records[hint.Cluster] = append(records[hint.Cluster], record.MessageId)
	}
	if spent > 0 {
		h.logger.Info("dropped hints that are too old to say anything", "hints", spent)
	}
	for _, cluster := range order {
		request := requests[cluster]
		request.Deadline = boot.Deadline(ctx)
		outcome, err := h.flow.Run(ctx, *request)
		h.logger.Info("provision", "outcome", outcome, "batches", batches[cluster], "error", boot.ErrorText(err))
		if err == nil {
			continue
		}
		for _, id := range records[cluster] {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
		}
	}
	return response
}
