package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/test/handlers"
)

// finder knows no instance, and cannot be asked about one.
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
	return events.SQSMessage{MessageId: id, Body: string(body), EventSourceARN: noticesARN}
}

// IN-02, IN-03: what is a stranger's or garbage is done with.
func TestIN02BatchOfNoticesIsHandledAndForeignOnesAreDeleted(t *testing.T) {
	h, _ := newHandler()
	f := &finder{}
	h.flow.Finder = f
	response, err := handlers.Handler(h.handle).Send(t, events.SQSEvent{Records: []events.SQSMessage{
		notice(t, "1", "i-foreign"), {MessageId: "3", Body: "garbage", EventSourceARN: noticesARN}, {MessageId: "4", EventSourceARN: noticesARN},
	}})
	if want := `{"batchItemFailures":[]}`; err != nil || response != want {
		t.Errorf("answered %s, %v, want %s", response, err, want)
	}
	if len(f.asked) != 1 {
		t.Errorf("asked for instances %q", f.asked)
	}
}

// followed has a handler look up nothing but what the finder knows, and returns what it logs and measures.
func followed(h *handler) (f *finder, log, reported *strings.Builder) {
	f, log, reported = &finder{}, &strings.Builder{}, &strings.Builder{}
	h.flow.Finder, h.logger = f, slog.New(slog.NewTextHandler(log, nil))
	h.metrics = boot.MetricsTo(reported, time.Now, boot.MetricsOff)
	return f, log, reported
}

// W1: what AWS says is believed from the queue of notices alone, a hint from the queue of hints alone; what comes any other way is dropped,
// told and counted, and never returned.
func TestW1AMessageIsWhatItsQueueSaysItIs(t *testing.T) {
	h, r := newHandler()
	f, log, reported := followed(h)
	forged, misled, unknown := notice(t, "1", "i-0123456789abcdef0"), record(t, "2", "misled"), record(t, "3", "unknown")
	forged.EventSourceARN, misled.EventSourceARN = hintsARN, noticesARN
	unknown.EventSourceARN = "arn:aws:sqs:eu-central-1:123456789012:joiner-plan-shop.fifo"
	nowhere := notice(t, "4", "i-0123456789abcdef0")
	nowhere.EventSourceARN = ""
	alike := notice(t, "5", "i-0123456789abcdef0")
	alike.EventSourceARN = "arn:aws:sqs:eu-central-1:210987654321:joiner-notices"
	response, err := handlers.Handler(h.handle).Send(t, events.SQSEvent{Records: []events.SQSMessage{forged, misled, unknown, nowhere, alike, record(t, "6", "web")}})
	if want := `{"batchItemFailures":[]}`; err != nil || response != want {
		t.Errorf("answered %s, %v, want %s", response, err, want)
	}
	if len(f.asked) != 0 || !slices.Equal(r.Asked, []string{"web"}) {
		t.Errorf("looked up instances %q and clusters %q, want the cluster web alone", f.asked, r.Asked)
	}
	if got := strings.Count(log.String(), "drop a message"); got != 4 || !strings.Contains(reported.String(), `"MessagesRefused":4`) {
		t.Errorf("%d lines of messages that were dropped, want 4, and metrics %s", got, reported.String())
	}
}

// H3: a hint that cannot be read, or is one of a newer version, is dropped, logged and counted.
// It is never taken for what AWS says.
func TestH3AnUnreadableHintIsNoNotice(t *testing.T) {
	h, r := newHandler()
	f, log, reported := followed(h)
	cut, newer := record(t, "1", "web"), record(t, "2", "web")
	cut.Body = cut.Body[:len(cut.Body)/2]
	newer.Body = strings.Replace(newer.Body, `"v":1`, `"v":2`, 1)
	if newer.Body == record(t, "2", "web").Body {
		t.Fatalf("the hint says no version: %s", newer.Body)
	}
	_, err := handlers.Handler(h.handle).Send(t, events.SQSEvent{Records: []events.SQSMessage{cut, newer}})
	if err != nil || len(f.asked)+len(r.Asked) != 0 {
		t.Errorf("%v; looked up instances %q and clusters %q", err, f.asked, r.Asked)
	}
	if strings.Contains(log.String(), "msg=notices") || strings.Count(log.String(), "drop a message") != 2 ||
		!strings.Contains(reported.String(), `"MessagesRefused":2`) {
		t.Errorf("log %s, metrics %s", log.String(), reported.String())
	}
}

// R63: while the ledger does not answer every event of the batch stays in the queue, and nothing else does.
func TestR63NoticesStayWhileTheLedgerIsDown(t *testing.T) {
	h, _ := newHandler()
	h.flow.Finder = &finder{}
	response, err := handlers.Handler(h.handle).Send(t, events.SQSEvent{Records: []events.SQSMessage{
		notice(t, "1", "i-a"), {MessageId: "2", Body: "garbage", EventSourceARN: noticesARN}, notice(t, "3", "i-broken"),
	}})
	if want := `{"batchItemFailures":[{"itemIdentifier":"1"},{"itemIdentifier":"3"}]}`; err != nil || response != want {
		t.Errorf("answered %s, %v, want %s", response, err, want)
	}
}
