// Package handlers tests what every function does alike that has a queue and runs each minute.
//
//	handlers.Test(t, handlers.Function{New: newHandler, Queue: "catalog queue", Record: record, Ticks: []string{"shop 12:00", "web 12:00"}})
package handlers

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Tick is when the ticks of tests were due.
const Tick = "2026-03-01T00:01:00Z"

// Registry knows paused clusters (a run of most functions does nothing there), one that cannot be read ("broken"), and one that is not
// attached ("somebody-elses").
type Registry struct {
	mutex sync.Mutex
	Asked []string // in order of name: clusters of a batch are asked about side by side
}

// Clusters lists two clusters, and one that is paused.
func (r *Registry) Clusters(context.Context) ([]model.Registration, error) {
	return []model.Registration{{Cluster: "shop"}, {Cluster: "web"}, {Cluster: "resting", Paused: true}}, nil
}

// Cluster notes that a cluster was asked about.
func (r *Registry) Cluster(_ context.Context, name string) (model.Registration, error) {
	r.mutex.Lock()
	r.Asked = append(r.Asked, name)
	slices.Sort(r.Asked)
	r.mutex.Unlock()
	switch name {
	case "somebody-elses":
		return model.Registration{}, fault.New(fault.NotFound, "", "cluster %s is not attached", name)
	case "broken":
		return model.Registration{}, fault.New(fault.Throttled, "", "slow down")
	}
	return model.Registration{Cluster: name, Paused: true}, nil
}

// Handler handles an event, as the runtime has it done.
type Handler func(ctx context.Context, event json.RawMessage) (any, error)

// Send passes an event through JSON, as the runtime does, and returns the answer as JSON.
func (h Handler) Send(t *testing.T, event any) (string, error) {
	t.Helper()
	raw, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	out, err := h(t.Context(), raw)
	text, _ := json.Marshal(out)
	return string(text), err
}

// Record returns a message of a queue that is a hint about a cluster. Its tick is its id.
func Record(t *testing.T, id, queueARN string, hint wire.Hint) events.SQSMessage {
	t.Helper()
	if hint.Tick == "" {
		hint.Tick = id
	}
	body, err := wire.EncodeHint(hint)
	if err != nil {
		t.Fatal(err)
	}
	return events.SQSMessage{MessageId: id, Body: string(body), EventSourceARN: queueARN, Attributes: map[string]string{"MessageGroupId": hint.Cluster}}
}

// Function is a function under test.
type Function struct {
	// New returns one that knows the registry's clusters, and where the hints are kept that it sends.
	New    func(r *Registry) (h Handler, sent *[]string)
	Queue  string                      // as errors name it
	ARN    func(cluster string) string // of the queue that a cluster's hints come from
	Reason wire.HintReason
	Ticks  []string // hints that a tick has it send
}

// Test tests that each cluster of a batch is handled once, that hints nobody can read are dropped and only what failed comes back (C7, R63,
// R70), that a tick has clusters looked at, and that anything else is an error.
func Test(t *testing.T, f Function) {
	record := func(id, cluster string) events.SQSMessage {
		return Record(t, id, f.ARN(cluster), wire.Hint{Cluster: cluster, Reason: f.Reason})
	}
	r := &Registry{}
	h, sent := f.New(r)
	unreadable := record("2", "web")
	unreadable.Body = "{"
	response, err := h.Send(t, events.SQSEvent{Records: []events.SQSMessage{record("1", "web"), unreadable, record("3", "broken"), record("4", "web")}})
	if want := []string{"broken", "web"}; err != nil || !reflect.DeepEqual(r.Asked, want) {
		t.Errorf("looked at %v, want %v; %v", r.Asked, want, err)
	}
	if want := `{"batchItemFailures":[{"itemIdentifier":"3"}]}`; response != want {
		t.Errorf("answered %s, want %s", response, want)
	}
	if response, err := h.Send(t, events.SQSEvent{Records: []events.SQSMessage{record("1", "web")}}); err != nil || response != `{"batchItemFailures":[]}` {
		t.Errorf("success is %s, %v", response, err)
	}
	*sent = nil
	if _, err := h.Send(t, map[string]string{"sweep": Tick}); err != nil || !reflect.DeepEqual(*sent, f.Ticks) {
		t.Errorf("a tick: sent %v, want %v; %v", *sent, f.Ticks, err)
	}
	for _, event := range []any{map[string]string{}, "hello", []int{1}, map[string]any{"Records": []int{}}} {
		if _, err := h.Send(t, event); err == nil || !strings.Contains(err.Error(), f.Queue) {
			t.Errorf("%v: %v", event, err)
		}
	}
}
