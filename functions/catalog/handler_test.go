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
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// registry knows a paused cluster (a run of it does nothing) and one that cannot be read.
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

// nobody has attached a cluster: no region is passed over.
type nobody struct{ registry }

func (*nobody) Clusters(context.Context) ([]model.Registration, error) { return nil, nil }

// sent records what was asked for.
type sent struct{ passes []string }

func (s *sent) RequestPass(_ context.Context, cluster, key string) error {
	s.passes = append(s.passes, cluster+" "+key)
	return nil
}

func (s *sent) Ready(context.Context, string, string) error { return nil }

func newHandler() (*handler, *registry, *sent) {
	r, h := &registry{}, &sent{}
	flow := &catalog.Flow{Registry: r, Hints: h, Now: func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }}
	region := &catalog.Region{Registry: &nobody{}, Now: flow.Now}
	return &handler{flow: flow, region: region, logger: slog.New(slog.DiscardHandler)}, r, h
}

func record(t *testing.T, id, cluster string) events.SQSMessage {
	t.Helper()
	body, err := wire.EncodeHint(wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: id})
	if err != nil {
		t.Fatal(err)
	}
	return events.SQSMessage{MessageId: id, Body: string(body)}
}

// handle passes an event through JSON, as the runtime does.
// invoked is the context of an invocation of the function, in account 111122223333.
func invoked(ctx context.Context) context.Context {
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{InvokedFunctionArn: "arn:aws:lambda:us-west-2:111122223333:function:joiner-catalog"})
}

func handle(t *testing.T, h *handler, event any) (string, error) {
	t.Helper()
	raw, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.handle(invoked(t.Context()), raw)
	text, _ := json.Marshal(out)
	return string(text), err
}

// R63: each cluster is passed over once, hints nobody can read are dropped, and only what failed comes back.
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

func TestTickHintsAPassOfEveryClusterThatIsNotPaused(t *testing.T) {
	h, _, sent := newHandler()
	if _, err := handle(t, h, map[string]string{"sweep": "2026-03-01T00:01:00Z"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"shop 2026-03-01T00:01:00Z", "web 2026-03-01T00:01:00Z"}; !reflect.DeepEqual(sent.passes, want) {
		t.Errorf("sent %v, want %v", sent.passes, want)
	}
}

func TestAnythingElseIsAnErrorThatSaysWhatWasExpected(t *testing.T) {
	h, _, _ := newHandler()
	for _, event := range []any{map[string]string{}, "hello", []int{1}, map[string]any{"Records": []int{}}} {
		if _, err := handle(t, h, event); err == nil || !strings.Contains(err.Error(), "catalog queue") {
			t.Errorf("%v: %v", event, err)
		}
	}
}
