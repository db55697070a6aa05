package main

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// finder knows no machine, and cannot be asked about one.
type finder struct{ asked []string }

func (f *finder) ByInstance(_ context.Context, ids []string) ([]model.FoundClaim, int64, error) {
	f.asked = append(f.asked, ids...)
	for _, id := range ids {
		if id == "i-broken" {
			return nil, 0, errors.New("the ledger does not answer")
		}
	}
	return nil, 1_900_000_000, nil
}

func notice(t *testing.T, id, instance string) events.SQSMessage {
	t.Helper()
	body, err := wire.EncodeEvent(model.Notice{
		ID: id, Kind: model.NoticeSpotInterrupted, Account: "123456789012", Region: "eu-central-1", Instances: []string{instance}, AtUnix: 1_900_000_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return events.SQSMessage{MessageId: id, Body: string(body), EventSourceARN: "arn:aws:sqs:eu-central-1:123456789012:joiner-notices"}
}

// IN-02, IN-03: events and hints are told apart by their bodies; what is a stranger's or garbage is done with.
func TestIN02BatchOfNoticesIsHandledAndForeignOnesAreDeleted(t *testing.T) {
	h, r, _ := newHandler()
	f := &finder{}
	h.flow.Finder = f
	response, err := handle(t, h, events.SQSEvent{Records: []events.SQSMessage{
		notice(t, "1", "i-foreign"), record(t, "2", "broken"), {MessageId: "3", Body: "garbage"}, {MessageId: "4"}, record(t, "5", "web"),
	}})
	if want := `{"batchItemFailures":[{"itemIdentifier":"2"}]}`; err != nil || response != want {
		t.Errorf("answered %s, %v, want %s", response, err, want)
	}
	if len(f.asked) != 1 || len(r.asked) != 2 {
		t.Errorf("asked for instances %q and clusters %q", f.asked, r.asked)
	}
}

// R63: while the ledger does not answer every event of the batch stays in the queue, and nothing else does.
func TestR63NoticesStayWhileTheLedgerIsDown(t *testing.T) {
	h, _, _ := newHandler()
	h.flow.Finder = &finder{}
	response, err := handle(t, h, events.SQSEvent{Records: []events.SQSMessage{
		notice(t, "1", "i-a"), {MessageId: "2", Body: "garbage"}, notice(t, "3", "i-broken"),
	}})
	if want := `{"batchItemFailures":[{"itemIdentifier":"1"},{"itemIdentifier":"3"}]}`; err != nil || response != want {
		t.Errorf("answered %s, %v, want %s", response, err, want)
	}
}
