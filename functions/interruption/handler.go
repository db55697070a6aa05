package main

import (
	"context"
	"encoding/json"
	"errors"
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
	function := boot.Function{Queue: "interruption", FanOut: h.flow.FanOut, Batch: h.batch}
	return function.Handle(ctx, h.logger, event)
}

// asked is what the hints of a batch ask for about one cluster: the next step of its drains, and a pass.
type asked struct {
	drain, pass *interruption.Request
	records     [2][]string // ids: of those who ask for a drain step, and for a pass
}

// batch handles what AWS says of instances, drains and looks at each cluster of the batch at most once, and returns the
// records of what could not be carried through. What AWS says comes first, since it leaves least time; then the clusters side by
// side, each with its drains first, which are shorter than looks, and which pods wait for.
func (h *handler) batch(ctx context.Context, logger *slog.Logger, records []events.SQSMessage) (failures boot.Failures) {
	notices, order, requests := h.sort(ctx, logger, records)
	if len(notices) > 0 {
		failed, outcome := h.flow.Notices(ctx, notices, boot.Deadline(ctx))
		logger.Info("notices", "outcome", outcome)
		h.metrics.Send(noticed(outcome))
		failures.Add(failed...)
	}
	failed := make([][]string, len(order))
	for i, err := range boot.Parallel(len(order), func(i int) error {
		for kind, run := range []func() error{h.drain(ctx, logger, requests[order[i]]), h.pass(ctx, logger, requests[order[i]])} {
			// They come again unless it ends well, even should it panic.
			before := failed[i]
			failed[i] = append(slices.Clip(before), requests[order[i]].records[kind]...)
			if err := run(); err == nil {
				failed[i] = before
			}
		}
		return nil
	}) {
		if err != nil {
			logger.Error("interruption", "cluster", order[i], "error", err.Error())
		}
		failures.Add(failed[i]...)
	}
	return failures
}

// sort tells the records of a batch apart by their queues. It returns what AWS says, and what hints ask for by cluster, in the order of the
// first hint. What belongs to neither queue, or cannot be read, is dropped: a hint carries no truth, and the next check finds what it would
// have said.
func (h *handler) sort(ctx context.Context, logger *slog.Logger, records []events.SQSMessage) (
	notices []interruption.Received, order []string, requests map[string]*asked,
) {
	requests = map[string]*asked{}
	refused := 0
	for _, record := range records {
		if record.EventSourceARN == h.notices {
			notices = append(notices, interruption.Received{Message: record.MessageId, Body: []byte(record.Body)})
			continue
		}
		hint, err := wire.DecodeHint([]byte(record.Body))
		if queue := wire.QueueName(record.EventSourceARN); queue != h.hints {
			err = errors.New("it comes from a queue that this function does not know")
		}
		if err != nil {
			refused++
			logger.Error("drop a message", "message", record.MessageId, "queue", wire.QueueName(record.EventSourceARN), "reason", err.Error())
			continue
		}
		of := requests[hint.Cluster]
		if of == nil {
			of, order = &asked{}, append(order, hint.Cluster)
			requests[hint.Cluster] = of
		}
		request, ids := &of.pass, &of.records[1]
		if hint.Reason == wire.ReasonDrain {
			request, ids = &of.drain, &of.records[0]
		}
		if *request == nil {
			*request = &interruption.Request{Cluster: hint.Cluster, Owner: boot.Owner(ctx, record.MessageId), Deadline: boot.Deadline(ctx)}
		}
		(*request).Take(hint)
		*ids = append(*ids, record.MessageId)
	}
	if refused > 0 {
		h.metrics.Send([]boot.Sample{boot.MessagesRefused.Of(float64(refused))})
	}
	return notices, order, requests
}

// drain returns what does the next step of a cluster's drains, if that is asked for.
func (h *handler) drain(ctx context.Context, logger *slog.Logger, of *asked) func() error {
	return func() error {
		if of.drain == nil {
			return nil
		}
		outcome, err := h.flow.Drain(ctx, *of.drain)
		logger.Info("drain", "outcome", outcome, "error", boot.ErrorText(err))
		h.metrics.Send(drained(outcome))
		return err
	}
}

// pass returns what makes the pass over a cluster, if that is asked for.
func (h *handler) pass(ctx context.Context, logger *slog.Logger, of *asked) func() error {
	return func() error {
		if of.pass == nil {
			return nil
		}
		outcome, err := h.flow.Run(ctx, *of.pass)
		logger.Info("interruption", "outcome", outcome, "error", boot.ErrorText(err))
		h.metrics.Send(checked(outcome))
		return err
	}
}
