package sqs

import (
	"context"
	"regexp"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

const maxBatch = 10

var batchEntryID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// failed is an entry of a batch that was refused.
type failed struct {
	ID          string `json:"Id"`
	SenderFault bool
	Code        string
	Message     string
}

type batchOutput[T any] struct {
	Successful []T      `json:",omitempty"`
	Failed     []failed `json:",omitempty"`
}

type batchID struct {
	ID string `json:"Id"`
}

func (b batchID) id() string { return b.ID }

// checkBatch refuses a batch as a whole.
func checkBatch[E interface{ id() string }](entries []E) error {
	if len(entries) == 0 {
		return batchError("EmptyBatchRequest", "There should be at least one %s in the request.", "entry")
	}
	if len(entries) > maxBatch {
		return batchError("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", maxBatch, len(entries))
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if !batchEntryID.MatchString(e.id()) {
			return batchError("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		}
		if seen[e.id()] {
			return batchError("BatchEntryIdsNotDistinct", "Id %s repeated.", e.id())
		}
		seen[e.id()] = true
	}
	return nil
}

// runBatch calls f on every entry and sorts the outcomes.
func runBatch[E interface{ id() string }, T any](entries []E, f func(E) (T, error)) *batchOutput[T] {
	out := &batchOutput[T]{}
	for _, e := range entries {
		result, err := f(e)
		if err == nil {
			out.Successful = append(out.Successful, result)
			continue
		}
		refusal := wire.AsError(err)
		code := refusal.QueryCode
		if code == "" {
			code = refusal.Code
		}
		out.Failed = append(out.Failed, failed{e.id(), refusal.HTTPStatus() < 500, code, refusal.Message})
	}
	return out
}

type sendEntry struct {
	batchID
	outgoing
}

type sendBatchInput struct {
	QueueURL string `json:"QueueUrl"`
	Entries  []sendEntry
}

type sentEntry struct {
	batchID
	*sent
}

func (a api) sendBatch(ctx context.Context, in *sendBatchInput) (out *batchOutput[sentEntry], err error) {
	err = a.withQueue(in.QueueURL, func(q *queue) error {
		if err := checkBatch(in.Entries); err != nil {
			return err
		}
		total := 0
		for _, e := range in.Entries {
			total += sizeBytes(e.MessageBody, e.MessageAttributes)
		}
		if total > maxMessageBytes {
			return batchError("BatchRequestTooLong", "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxMessageBytes, total)
		}
		out = runBatch(in.Entries, func(e sendEntry) (sentEntry, error) {
			s, err := a.m.send(ctx, q, &e.outgoing)
			return sentEntry{e.batchID, s}, err
		})
		return nil
	})
	return out, err
}

type handleEntry struct {
	batchID
	ReceiptHandle     string
	VisibilityTimeout *int
}

type handleBatchInput struct {
	QueueURL string `json:"QueueUrl"`
	Entries  []handleEntry
}

func (a api) deleteBatch(_ context.Context, in *handleBatchInput) (*batchOutput[batchID], error) {
	return a.handleBatch(in, func(q *queue, e handleEntry) error {
		return q.deleteMessage(e.ReceiptHandle, a.m.clock.Now())
	})
}

func (a api) changeBatch(_ context.Context, in *handleBatchInput) (*batchOutput[batchID], error) {
	return a.handleBatch(in, func(q *queue, e handleEntry) error {
		return a.change(q, e.ReceiptHandle, e.VisibilityTimeout)
	})
}

func (a api) handleBatch(in *handleBatchInput, f func(*queue, handleEntry) error) (out *batchOutput[batchID], err error) {
	err = a.withQueue(in.QueueURL, func(q *queue) error {
		if err := checkBatch(in.Entries); err != nil {
			return err
		}
		out = runBatch(in.Entries, func(e handleEntry) (batchID, error) { return e.batchID, f(q, e) })
		return nil
	})
	return out, err
}
