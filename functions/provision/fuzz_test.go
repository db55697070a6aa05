package main

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// FuzzHandle: whatever event comes, the function answers with an error or with failures that name records of the batch.
func FuzzHandle(f *testing.F) {
	body, err := wire.EncodeHint(wire.Hint{Cluster: "web", Reason: wire.ReasonBatch, Epoch: 1, Seq: 4})
	if err != nil {
		f.Fatal(err)
	}
	batch, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: string(body)}, {MessageId: "2", Body: "{}"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(batch)
	f.Add([]byte(`{"sweep":"2026-03-01T00:00:00Z"}`))
	f.Add([]byte(`{"Records":[{"messageId":"1","body":"{\"v\":1,\"cluster\":\"broken\",\"reason\":\"node\"}"}]}`))
	f.Add([]byte(`{"Records":null,"sweep":5}`))
	f.Fuzz(func(t *testing.T, event []byte) {
		if !json.Valid(event) {
			return // the runtime passes nothing else on
		}
		h, _, _ := newHandler()
		bounds.Check(t, len(event), func() {
			out, err := h.handle(t.Context(), event)
			if err != nil {
				if out != nil || len(err.Error()) > 1000 {
					t.Errorf("got %v and an error of %d bytes", out, len(err.Error()))
				}
				return
			}
			response, ok := out.(events.SQSEventResponse)
			if !ok {
				return // a tick
			}
			var batch events.SQSEvent
			if err := json.Unmarshal(event, &batch); err != nil {
				t.Fatal(err)
			}
			ids := make(map[string]bool)
			for _, record := range batch.Records {
				ids[record.MessageId] = true
			}
			for _, failure := range response.BatchItemFailures {
				if !ids[failure.ItemIdentifier] {
					t.Errorf("%q is no record of the batch", failure.ItemIdentifier)
				}
			}
		})
	})
}
