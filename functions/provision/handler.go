package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/wire"
)

// handler translates events into requests to the flow.
type handler struct {
	flow     *provision.Flow
	reported provision.Forwarder
	logger   *slog.Logger
	metrics  *boot.Metrics
}

// handle takes a batch of a cluster's plan queue or a tick. The queue proves whose hints they are: only the cluster's watcher and functions
// may send to it.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (any, error) {
	of := *h
	of.logger, h = boot.Invoked(ctx, h.logger), &of
	resync, batch, err := boot.ReadEvent(event, "plan")
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
	refused := map[string]int{} // by reason
	var reported []events.SQSMessage
	tellings := map[wire.HintReason]wire.Hint{}
	for _, record := range batch.Records {
		// A hint carries no truth: the resync finds what it would have said. Returning one would block its group. Most of a flood is dropped
		// for its group, before anything is read.
		group, toReport := strings.CutSuffix(record.Attributes["MessageGroupId"], wire.ForwardGroup(""))
		if wire.QueueName(record.EventSourceARN) != wire.PlanQueue(group) {
			refused["its message group does not belong to its queue's cluster"]++
			continue
		}
		hint, err := wire.DecodeHint([]byte(record.Body))
		switch {
		case err != nil:
			refused[err.Error()]++
			continue
		case hint.Cluster != group:
			refused["it names another cluster than its queue's"]++
			continue
		case toReport && !provision.Forwards(hint.Reason):
			refused["it is in the group of hints to forward and has no reason that is forwarded"]++
			continue
		}
		if provision.Spent(hint, time.Now()) {
			spent++
			continue
		}
		if toReport {
			reported, tellings[hint.Reason] = append(reported, record), hint
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
	if len(refused) > 0 {
		h.refuse(batch, refused)
	}
	for _, reason := range slices.Sorted(maps.Keys(tellings)) {
		if err := h.reported.Forward(ctx, tellings[reason]); err != nil {
			h.logger.Error("forward a hint", "cluster", tellings[reason].Cluster, "reason", string(reason), "error", err.Error())
			for _, record := range reported {
				failures.Add(record.MessageId)
			}
			break
		}
	}
	if len(reported) > 0 {
		h.logger.Info("batch", "records", len(batch.Records), "passedOn", slices.Sorted(maps.Keys(tellings)), "error", "")
	}
	if len(order) == 0 && len(reported) == 0 {
		h.logger.Info("batch", "records", len(batch.Records), "tooOld", spent, "error", "no hint can be read")
	}
	for i, err := range boot.Parallel(len(order), func(i int) error {
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

// refuse says of a batch what was dropped of it and why, in one line and one sample: what is refused may be a flood.
func (h *handler) refuse(batch events.SQSEvent, why map[string]int) {
	const most = 3 // reasons that are reported
	total, reasons := 0, slices.Sorted(maps.Keys(why))
	for _, n := range why {
		total += n
	}
	first := batch.Records[0]
	h.logger.Error("drop hints", "hints", total, "queue", wire.QueueName(first.EventSourceARN), "message", first.MessageId, "reasons", reasons[:min(most, len(reasons))])
	h.metrics.Send([]boot.Sample{boot.HintsRefused.Of(float64(total))})
}
