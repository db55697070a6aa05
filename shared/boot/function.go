package boot

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/wire"
)

// Function is a function that has a queue and runs each minute too.
type Function struct {
	Queue string // names the queue in errors
	// FanOut turns a tick into one hint per cluster, and returns how many were sent.
	FanOut func(ctx context.Context, tick string) (int, error)
	// Ticked does what else is to be done each minute; nil = nothing.
	Ticked func(ctx context.Context, logger *slog.Logger)
	// Batch handles messages of the queue and returns those that the queue is to keep.
	Batch func(ctx context.Context, logger *slog.Logger, records []events.SQSMessage) Failures
}

// Handle handles one event: a batch of the queue or a tick. Each line of the log names the invocation.
func (f *Function) Handle(ctx context.Context, logger *slog.Logger, event json.RawMessage) (any, error) {
	logger = Invoked(ctx, logger)
	resync, batch, err := ReadEvent(event, f.Queue)
	switch {
	case err != nil:
		logger.Error("event", "error", err.Error())
		return nil, err
	case resync == "":
		return f.Batch(ctx, logger, batch.Records).Response(), nil
	}
	sent, err := f.FanOut(ctx, resync)
	logger.Info("sweep", "tick", resync, "clusters", sent, "error", ErrorText(err))
	if f.Ticked != nil {
		f.Ticked(ctx, logger)
	}
	return nil, err
}

// Requests are what the hints of a batch ask for: one request for each cluster, in the order of the first hint.
type Requests[Request any] struct {
	order   []string
	of      map[string]*Request
	records map[string][]string
}

// Add takes a record that asks for something in a cluster, and returns the cluster's request. The first is as made
// returns it.
func (r *Requests[Request]) Add(cluster, record string, made func() Request) *Request {
	if r.of[cluster] == nil {
		if r.of == nil {
			r.of, r.records = map[string]*Request{}, map[string][]string{}
		}
		first := made()
		r.of[cluster], r.order = &first, append(r.order, cluster)
	}
	r.records[cluster] = append(r.records[cluster], record)
	return r.of[cluster]
}

// Len is how many clusters something is asked for in.
func (r *Requests[Request]) Len() int { return len(r.order) }

// Run carries the requests out, side by side. It returns the records of those that could not be, or panicked.
func (r *Requests[Request]) Run(do func(request Request) error) (failed Failures) {
	for i, err := range Parallel(len(r.order), func(i int) error { return do(*r.of[r.order[i]]) }) {
		if err != nil {
			failed.Add(r.records[r.order[i]]...)
		}
	}
	return failed
}

// EachHint calls take with each record that is a hint. A hint carries no truth: one that cannot be read is dropped,
// since the next tick finds what it would have said.
func EachHint(logger *slog.Logger, records []events.SQSMessage, take func(record events.SQSMessage, hint wire.Hint)) {
	read := 0
	for _, record := range records {
		hint, err := wire.DecodeHint([]byte(record.Body))
		if err != nil {
			logger.Error("drop a hint that cannot be read", "message", record.MessageId, "error", err.Error())
			continue
		}
		read++
		take(record, hint)
	}
	if read == 0 {
		logger.Info("batch", "records", len(records), "error", "no hint can be read")
	}
}
