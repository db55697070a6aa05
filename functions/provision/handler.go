package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/wire"
)

// handler translates events into requests to the flow.
type handler struct {
	flow    *provision.Flow
	logger  *slog.Logger
	metrics *boot.Metrics
}

// handle takes a batch of the plan queue or a tick.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (any, error) {
	of := *h
	of.logger, h = boot.Invoked(ctx, h.logger), &of
	sweep, batch, err := boot.ReadEvent(event, "plan")
	if err != nil {
		h.logger.Error("event", "error", err.Error())
		return nil, err
	}
	if sweep != "" {
		sent, err := h.flow.FanOut(ctx, sweep)
		h.logger.Info("sweep", "tick", sweep, "clusters", sent, "error", boot.ErrorText(err))
		return nil, err
	}
	return h.batch(ctx, batch), nil
}

// window is how long the watcher collected a batch, in Unix milliseconds of its clock.
type window struct {
	FirstSeen int64 `json:"firstSeenMillis"`
	Closed    int64 `json:"closedMillis"`
	Pods      int   `json:"pods"`
}

// batch runs the flow once per cluster of the batch, side by side, and reports the records of those it could not be carried through for.
func (h *handler) batch(ctx context.Context, batch events.SQSEvent) events.SQSEventResponse {
	var failures boot.Failures
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
	if len(order) == 0 {
		h.logger.Info("batch", "records", len(batch.Records), "tooOld", spent, "error", "no hint says anything")
	}
	for i, err := range boot.Abreast(len(order), func(i int) error {
		request := requests[order[i]]
		request.Deadline = boot.Deadline(ctx)
		started := time.Now()
		outcome, err := h.flow.Run(ctx, *request)
		h.logger.Info("provision", "outcome", outcome, "batches", batches[order[i]], "error", boot.ErrorText(err))
		h.metrics.Send(measured(outcome, batches[order[i]], started))
		return err
	}) {
		if err != nil {
			failures.Add(records[order[i]]...)
		}
	}
	return failures.Response()
}
