package boot

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
)

// ReadEvent tells the two events of a function that resyncs apart: a tick {"resync": "<scheduled time>"} of the schedule of
// each minute, whose time is returned, or a batch of the function's queue, which is named in the error where it is neither.
func ReadEvent(event json.RawMessage, queue string) (resync string, batch events.SQSEvent, err error) {
	var tick struct {
		Resync string `json:"sweep"`
	}
	if err := json.Unmarshal(event, &tick); err == nil && tick.Resync != "" {
		return tick.Resync, batch, nil
	}
	if err := json.Unmarshal(event, &batch); err != nil || len(batch.Records) == 0 {
		return "", batch, fmt.Errorf("event is neither a batch of the %s queue nor a tick {\"sweep\": …}: %.200s", queue, event)
	}
	return "", batch, nil
}

// Failures collects the records of a batch that the queue is to keep. Its answer names no other: an empty list means that
// the whole batch is done with, and an unknown id that none of it is.
type Failures []events.SQSBatchItemFailure

// Add names records by their message ids.
func (f *Failures) Add(ids ...string) {
	for _, id := range ids {
		*f = append(*f, events.SQSBatchItemFailure{ItemIdentifier: id})
	}
}

// Response is the answer to the batch; without failures its list is empty and not null.
func (f Failures) Response() events.SQSEventResponse {
	return events.SQSEventResponse{BatchItemFailures: append([]events.SQSBatchItemFailure{}, f...)}
}
