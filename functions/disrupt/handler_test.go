package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/wire"
)

// registry knows clusters, and one that cannot be read.
type registry struct {
	mutex sync.Mutex
	asked []string // in order of name: clusters of a batch are asked about side by side
}

func (r *registry) Clusters(context.Context) ([]model.Registration, error) {
	return []model.Registration{{Cluster: "shop"}, {Cluster: "web"}, {Cluster: "resting", Paused: true}}, nil
}

func (r *registry) Cluster(_ context.Context, name string) (model.Registration, error) {
	r.mutex.Lock()
	r.asked = append(r.asked, name)
	slices.Sort(r.asked)
	r.mutex.Unlock()
	if name == "broken" {
		return model.Registration{}, fault.New(fault.Throttled, "", "slow down")
	}
	return model.Registration{Cluster: name, Paused: true}, nil
}

// hints records the looks that were asked for.
type hints struct{ sent []string }

func (h *hints) RequestDisruption(_ context.Context, cluster, key string, after time.Duration) error {
	h.sent = append(h.sent, cluster+" "+key+" "+after.String())
	return nil
}

// still is a ledger in which nothing happens.
type still struct{ disrupt.Ledger }

func (still) Peek(context.Context, string) (*model.Manifest, model.DisruptNotes, int64, error) {
	return nil, model.DisruptNotes{}, 0, nil
}

// busy says that another run is at work.
type busy struct{ port.Leases }

func (busy) AcquireLease(context.Context, string, string, string, int64, int64) (model.Fence, error) {
	return model.Fence{}, fault.New(fault.Conflict, "", "another has it")
}

func newHandler() (*handler, *registry, *hints) {
	r, h := &registry{}, &hints{}
	flow := &disrupt.Flow{Registry: r, Hints: h, Leases: busy{}, Ledger: still{}, Now: func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }}
	return &handler{flow: flow, logger: slog.New(slog.DiscardHandler)}, r, h
}

func record(t *testing.T, id, cluster string) events.SQSMessage {
	t.Helper()
	body, err := wire.EncodeHint(wire.Hint{Cluster: cluster, Reason: wire.ReasonDisrupt, Tick: id})
	if err != nil {
		t.Fatal(err)
	}
	return events.SQSMessage{MessageId: id, Body: string(body)}
}

// handle passes an event through JSON, as the runtime does.
func handle(t *testing.T, h *handler, event any) (string, error) {
	t.Helper()
	raw, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.handle(t.Context(), raw)
	text, _ := json.Marshal(out)
	return string(text), err
}

// C7, R63, R70: each cluster is looked at once, hints nobody can read are dropped, and only what failed comes back.
func TestBatchLooksAtEachClusterOnceAndReturnsOnlyWhatFailed(t *testing.T) {
	h, r, _ := newHandler()
	response, err := handle(t, h, events.SQSEvent{Records: []events.SQSMessage{
		record(t, "1", "web"), {MessageId: "2", Body: "{"}, record(t, "3", "broken"), record(t, "4", "web"),
	}})
	if want := []string{"broken", "web"}; err != nil || !reflect.DeepEqual(r.asked, want) {
		t.Errorf("looked at %v, want %v; %v", r.asked, want, err)
	}
	if want := `{"batchItemFailures":[{"itemIdentifier":"3"}]}`; response != want {
		t.Errorf("answered %s, want %s", response, want)
	}
	if response, err := handle(t, h, events.SQSEvent{Records: []events.SQSMessage{record(t, "1", "web")}}); err != nil || response != `{"batchItemFailures":[]}` {
		t.Errorf("success is %s, %v", response, err)
	}
}

// Paused ones too: what was on its way there is undone.
func TestTickHintsAPassOfEveryCluster(t *testing.T) {
	h, _, sent := newHandler()
	if _, err := handle(t, h, map[string]string{"sweep": "2026-03-01T00:01:00Z"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"shop due/2026-03-01T00:01:00Z 0s", "web due/2026-03-01T00:01:00Z 0s", "resting due/2026-03-01T00:01:00Z 0s"}
	if !reflect.DeepEqual(sent.sent, want) {
		t.Errorf("sent %v, want %v", sent.sent, want)
	}
}

func TestAnythingElseIsAnErrorThatSaysWhatWasExpected(t *testing.T) {
	h, _, _ := newHandler()
	for _, event := range []any{map[string]string{}, "hello", []int{1}, map[string]any{"Records": []int{}}} {
		if _, err := handle(t, h, event); err == nil || !strings.Contains(err.Error(), "disruption queue") {
			t.Errorf("%v: %v", event, err)
		}
	}
}
