package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/wire"
)

// handler translates events into requests to the flow.
type handler struct {
	flow    *interruption.Flow
	hints   string // name of the queue of hints
	notices string // ARN of the queue of notices, to which EventBridge alone may send
	logger  *slog.Logger
	metrics *boot.Metrics
}

// handle takes a batch of the interruption queue, one of the queue of notices, or a tick. What a message is depends on the queue it came
// from and never on its body: what AWS says of instances is believed from the queue of notices alone, a hint from the other alone.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (any, error) {
	of := *h
	of.logger, h = boot.Invoked(ctx, h.logger), &of
	resync, batch, err := boot.ReadEvent(event, "interruption")
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

// requestKey is what the hints of a batch ask for about one cluster: a step of its drains, or a look.
type requestKey struct {
	cluster string
	drain   bool
}

// batch handles what AWS says of instances, drains and looks at each cluster of the batch at most once, and reports the
// records of what could not be carried through. What AWS says comes first, since it leaves least time; then the clusters side by
// side, each with its drains first, which are shorter than looks, and which pods wait for.
func (h *handler) batch(ctx context.Context, batch events.SQSEvent) events.SQSEventResponse {
	var failures boot.Failures
	records, requests := map[requestKey][]string{}, map[requestKey]*interruption.Request{}
	var order []string
	known := map[string]bool{}
	var notices []interruption.Received
	refused := 0
	refuse := func(record events.SQSMessage, why string) {
		refused++
		h.logger.Error("drop a message", "message", record.MessageId, "queue", wire.QueueName(record.EventSourceARN), "reason", why)
	}
	for _, record := range batch.Records {
		if record.EventSourceARN == h.notices {
			notices = append(notices, interruption.Received{Message: record.MessageId, Body: []byte(record.Body)})
			continue
		}
		if wire.QueueName(record.EventSourceARN) != h.hints {
			refuse(record, "it comes from a queue that this function does not know")
			continue
		}
		hint, err := wire.DecodeHint([]byte(record.Body))
		if err != nil {
			// A hint carries no truth: the next check finds what it would have said.
			refuse(record, err.Error())
			continue
		}
		e := requestKey{hint.Cluster, hint.Reason == wire.ReasonDrain}
		if requests[e] == nil {
			requests[e] = &interruption.Request{Cluster: hint.Cluster, Owner: boot.Owner(ctx, record.MessageId), Deadline: boot.Deadline(ctx)}
		}
		if requests[e].Take(hint); !known[e.cluster] {
			known[e.cluster], order = true, append(order, e.cluster)
		}
		records[e] = append(records[e], record.MessageId)
	}
	if refused > 0 {
		h.metrics.Send([]boot.Sample{boot.MessagesRefused.Of(float64(refused))})
	}
	if len(notices) > 0 {
		failed, outcome := h.flow.Notices(ctx, notices, boot.Deadline(ctx))
		h.logger.Info("notices", "outcome", outcome)
		h.metrics.Send(noticed(outcome))
		failures.Add(failed...)
	}
	failed := make([][]string, len(order))
	for i, err := range boot.Parallel(len(order), func(i int) error {
		for _, e := range []requestKey{{order[i], true}, {order[i], false}} {
			if requests[e] == nil {
				continue
			}
			// They come again unless it ends well, even should it panic.
			before := failed[i]
			failed[i] = append(slices.Clip(before), records[e]...)
			if err := h.run(ctx, e, *requests[e]); err == nil {
				failed[i] = before
			}
		}
		return nil
	}) {
		if err != nil {
			h.logger.Error("interruption", "cluster", order[i], "error", err.Error())
		}
		failures.Add(failed[i]...)
	}
	return failures.Response()
}

// run carries one task out and logs what came of it.
func (h *handler) run(ctx context.Context, e requestKey, request interruption.Request) error {
	if e.drain {
		outcome, err := h.flow.Drain(ctx, request)
		h.logger.Info("drain", "outcome", outcome, "error", boot.ErrorText(err))
		h.metrics.Send(drained(outcome))
		return err
	}
	outcome, err := h.flow.Run(ctx, request)
	h.logger.Info("interruption", "outcome", outcome, "error", boot.ErrorText(err))
	h.metrics.Send(checked(outcome))
	return err
}
