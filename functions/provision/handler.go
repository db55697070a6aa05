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
	function := boot.Function{Queue: "plan", FanOut: h.flow.FanOut, Batch: h.batch}
	return function.Handle(ctx, h.logger, event)
}

// asked is what the hints of a batch ask for about one cluster.
type asked struct {
	provision.Request
	windows []window
}

// received is what the records of a batch of the plan queue are.
type received struct {
	requests boot.Requests[asked]
	tooOld   int
	refused  map[string]int // by reason
	forward  map[wire.HintReason]wire.Hint
	records  []string // ids of those to forward
}

// batch runs the flow once per cluster of the batch and returns the records of those it could not be carried through for.
func (h *handler) batch(ctx context.Context, logger *slog.Logger, records []events.SQSMessage) (failures boot.Failures) {
	r := received{refused: map[string]int{}, forward: map[wire.HintReason]wire.Hint{}}
	for _, record := range records {
		r.take(ctx, record)
	}
	if len(r.refused) > 0 {
		h.refuse(logger, records[0], r.refused)
	}
	reasons := slices.Sorted(maps.Keys(r.forward))
	for _, reason := range reasons {
		if err := h.reported.Forward(ctx, r.forward[reason]); err != nil {
			logger.Error("forward a hint", "cluster", r.forward[reason].Cluster, "reason", string(reason), "error", err.Error())
			failures.Add(r.records...)
			break
		}
	}
	switch {
	case len(reasons) > 0:
		logger.Info("batch", "records", len(records), "passedOn", reasons, "error", "")
	case r.requests.Len() == 0:
		logger.Info("batch", "records", len(records), "tooOld", r.tooOld, "error", "no hint can be read")
	}
	return append(failures, r.requests.Run(func(request asked) error {
		started := time.Now()
		outcome, err := h.flow.Run(ctx, request.Request)
		logger.Info("provision", "outcome", outcome, "batches", request.windows, "error", boot.ErrorText(err))
		h.metrics.Send(measured(outcome, request.windows, started))
		return err
	})...)
}

// take tells what a record asks for. A hint carries no truth: the resync finds what it would have said. Returning one would block its group.
// Most of a flood is dropped for its group, before anything is read.
func (r *received) take(ctx context.Context, record events.SQSMessage) {
	group, toForward := strings.CutSuffix(record.Attributes["MessageGroupId"], wire.ForwardGroup(""))
	if wire.QueueName(record.EventSourceARN) != wire.PlanQueue(group) {
		r.refused["its message group does not belong to its queue's cluster"]++
		return
	}
	hint, err := wire.DecodeHint([]byte(record.Body))
	switch {
	case err != nil:
		r.refused[err.Error()]++
	case hint.Cluster != group:
		r.refused["it names another cluster than its queue's"]++
	case toForward && !provision.Forwards(hint.Reason):
		r.refused["it is in the group of hints to forward and has no reason that is forwarded"]++
	case provision.Spent(hint, time.Now()):
		r.tooOld++
	case toForward:
		r.records, r.forward[hint.Reason] = append(r.records, record.MessageId), hint
	default:
		request := r.requests.Add(hint.Cluster, record.MessageId, func() asked {
			return asked{Request: provision.Request{Cluster: hint.Cluster, Owner: boot.Owner(ctx, record.MessageId), Deadline: boot.Deadline(ctx)}}
		})
		request.Take(hint)
		if hint.ClosedMillis != 0 {
			request.windows = append(request.windows, window{hint.FirstSeenMillis, hint.ClosedMillis, len(hint.Pods) + hint.Omitted})
		}
	}
}

// refuse says of a batch what was dropped of it and why, in one line and one sample: what is refused may be a flood.
func (h *handler) refuse(logger *slog.Logger, first events.SQSMessage, why map[string]int) {
	const most = 3 // reasons that are reported
	total, reasons := 0, slices.Sorted(maps.Keys(why))
	for _, n := range why {
		total += n
	}
	logger.Error("drop hints", "hints", total, "queue", wire.QueueName(first.EventSourceARN), "message", first.MessageId, "reasons", reasons[:min(most, len(reasons))])
	h.metrics.Send([]boot.Sample{boot.HintsRefused.Of(float64(total))})
}
