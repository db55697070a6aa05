package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/test/handlers"
)

// hints records the resyncs that were sent.
type hints struct{ sent []string }

func (h *hints) Resync(_ context.Context, cluster, tick string) error {
	h.sent = append(h.sent, cluster+" "+tick)
	return nil
}

func newHandler() (*handler, *handlers.Registry, *hints) {
	r, h := &handlers.Registry{}, &hints{}
	now := func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }
	flow := &provision.Flow{Registry: r, RequestResync: h.Resync, Now: now}
	return &handler{flow: flow, logger: slog.New(slog.DiscardHandler)}, r, h
}

func record(t *testing.T, id string, hint wire.Hint) events.SQSMessage {
	t.Helper()
	return handlers.Record(t, id, planARN(hint.Cluster), hint)
}

func planARN(cluster string) string {
	return "arn:aws:sqs:us-west-2:123456789012:" + wire.PlanQueue(cluster)
}

// handle passes an event through JSON, as the runtime does.
func handle(t *testing.T, h *handler, event any) (events.SQSEventResponse, error) {
	t.Helper()
	raw, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.handle(t.Context(), raw)
	response, _ := out.(events.SQSEventResponse)
	return response, err
}

// R63 and R70: whatever could not be carried through is returned, so that the queue keeps it; R64 comes with it, because an
// error of the flow is what a throttled call ends in. The rest is done with.
func TestR63R70BatchRunsEachClusterOnceAndReturnsOnlyWhatFailed(t *testing.T) {
	h, r, _ := newHandler()
	response, err := handle(t, h, events.SQSEvent{Records: []events.SQSMessage{
		record(t, "1", wire.Hint{Cluster: "web", Reason: wire.ReasonBatch, Epoch: 1, Seq: 4}),
		record(t, "2", wire.Hint{Cluster: "broken", Reason: wire.ReasonNode, Epoch: 1, Seq: 1}),
		record(t, "3", wire.Hint{Cluster: "web", Reason: wire.ReasonNode, Epoch: 1, Seq: 5}),
		record(t, "4", wire.Hint{Cluster: "broken", Reason: wire.ReasonNode, Epoch: 1, Seq: 2}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"broken", "web"}; !reflect.DeepEqual(r.Asked, want) {
		t.Errorf("ran %v, want %v", r.Asked, want)
	}
	var failed []string
	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}
	if want := []string{"2", "4"}; !reflect.DeepEqual(failed, want) {
		t.Errorf("returned %v, want %v", failed, want)
	}
}

// W3: the queue and the group say whose hint it is. Whatever says otherwise is dropped and counted without anything being read for it, and
// is never returned, since that would block the group of the others.
func TestW3AHintActsForTheClusterOfItsQueueAlone(t *testing.T) {
	h, r, _ := newHandler()
	var reported strings.Builder
	h.metrics = boot.MetricsTo(&reported, time.Now, boot.MetricsOff)
	as := func(m events.SQSMessage, queue, group string) events.SQSMessage {
		m.EventSourceARN, m.Attributes = planARN(queue), map[string]string{"MessageGroupId": group}
		return m
	}
	victim, attacker := wire.Hint{Cluster: "victim", Reason: wire.ReasonHeartbeat}, wire.Hint{Cluster: "attacker", Reason: wire.ReasonHeartbeat}
	end := wire.Hint{Cluster: "victim", Reason: wire.ReasonEnd}
	response, err := handle(t, h, events.SQSEvent{Records: []events.SQSMessage{
		as(record(t, "1", victim), "attacker", "attacker"),    // about another cluster
		as(record(t, "2", victim), "attacker", "victim"),      // in its group
		as(record(t, "3", attacker), "victim", "attacker"),    // through its queue, which the policies refuse
		as(record(t, "4", attacker), "attacker", "attacker1"), // in a group of no function
		as(record(t, "5", end), "attacker", "attacker/tell"),
		as(record(t, "6", attacker), "attacker", "attacker/tell"), // nothing that is passed on
		as(record(t, "7", attacker), "attacker", ""),
		record(t, "8", wire.Hint{Cluster: "web", Reason: wire.ReasonResync}),
	}})
	if err != nil || len(response.BatchItemFailures) != 0 || !reflect.DeepEqual(r.Asked, []string{"web"}) {
		t.Errorf("%+v %v, asked %v, want web alone", response, err, r.Asked)
	}
	if !strings.Contains(reported.String(), `"HintsRefused":7`) {
		t.Errorf("metrics %s, want 7 hints refused", reported.String())
	}
}

// diary is a book of what was reported, and a queue.
type diary struct {
	after time.Duration
	due   bool
	err   error
	sent  []string
}

func (d *diary) ScheduleHint(_ context.Context, cluster, what string, _, apart int64) (time.Duration, bool, error) {
	d.sent = append(d.sent, fmt.Sprintf("ask %s %s %d", cluster, what, apart))
	return d.after, d.due, d.err
}

func (d *diary) Send(_ context.Context, hint wire.Hint, after time.Duration) error {
	d.sent = append(d.sent, fmt.Sprintf("send %s %s %s", hint.Cluster, hint.Reason, after))
	return nil
}

// W3: what a watcher tells other functions is passed on once for a batch, in the name of the queue's cluster, when the book says so.
func TestW3HintsArePassedOnInTheNameOfTheirQueuesCluster(t *testing.T) {
	for name, c := range map[string]struct {
		diary
		want   []string
		failed int
	}{
		"at once":            {diary{due: true}, []string{"ask web end 2000", "send web end 0s", "ask web judge 2000", "send web judge 0s"}, 0},
		"two seconds apart":  {diary{due: true, after: 2 * time.Second}, []string{"ask web end 2000", "send web end 2s", "ask web judge 2000", "send web judge 2s"}, 0},
		"one is on its way":  {diary{}, []string{"ask web end 2000", "ask web judge 2000"}, 0},
		"the book is closed": {diary{err: fault.New(fault.Throttled, "", "slow down")}, []string{"ask web end 2000"}, 4},
	} {
		h, r, _ := newHandler()
		d := c.diary
		h.reported = provision.Forwarder{Dues: &d, Now: time.Now, Queues: map[wire.HintReason]provision.DelayedHints{wire.ReasonEnd: &d, wire.ReasonDisrupt: &d}}
		var records []events.SQSMessage
		for i, reason := range []wire.HintReason{wire.ReasonEnd, wire.ReasonDisrupt, wire.ReasonEnd, wire.ReasonConfig} {
			m := record(t, fmt.Sprint(i), wire.Hint{Cluster: "web", Reason: reason, Number: int64(i)})
			m.Attributes["MessageGroupId"] = wire.ForwardGroup("web")
			records = append(records, m)
		}
		response, err := handle(t, h, events.SQSEvent{Records: records})
		if err != nil || len(response.BatchItemFailures) != c.failed || !reflect.DeepEqual(d.sent, c.want) || len(r.Asked) != 0 {
			t.Errorf("%s: did %q, returned %+v, %v, planned %v; want %q and %d returned", name, d.sent, response, err, r.Asked, c.want, c.failed)
		}
	}
}

// R69: a hint of a cluster that is not ours is done with in one step, and the others are handled.
func TestR69HintOfAnUnknownClusterIsDropped(t *testing.T) {
	h, r, _ := newHandler()
	response, err := handle(t, h, events.SQSEvent{Records: []events.SQSMessage{
		record(t, "1", wire.Hint{Cluster: "somebody-elses", Reason: wire.ReasonBatch, Epoch: 1, Seq: 1}), record(t, "2", wire.Hint{Cluster: "web", Reason: wire.ReasonResync}),
	}})
	if want := []string{"somebody-elses", "web"}; err != nil || len(response.BatchItemFailures) != 0 || !reflect.DeepEqual(r.Asked, want) {
		t.Errorf("%+v %v, asked %v", response, err, r.Asked)
	}
}

// A backlog of hours is worked off without looking at anything: the resyncs have seen what those hints would have said.
func TestBatchDropsHintsThatAreSpent(t *testing.T) {
	h, r, _ := newHandler()
	hint := wire.Hint{Cluster: "web", Reason: wire.ReasonBatch, Epoch: 1, Seq: 4, SentAtMillis: time.Now().Add(-time.Hour).UnixMilli()}
	response, err := handle(t, h, events.SQSEvent{Records: []events.SQSMessage{record(t, "1", hint)}})
	if err != nil || len(response.BatchItemFailures) != 0 || len(r.Asked) != 0 {
		t.Errorf("%+v %v, asked %v", response, err, r.Asked)
	}
	hint.SentAtMillis = time.Now().UnixMilli()
	if _, err := handle(t, h, events.SQSEvent{Records: []events.SQSMessage{record(t, "2", hint)}}); err != nil || len(r.Asked) != 1 {
		t.Errorf("%v, asked %v", err, r.Asked)
	}
}

func TestC7R63R70BatchesAndTicks(t *testing.T) {
	handlers.Test(t, handlers.Function{
		New: func(r *handlers.Registry) (handlers.Handler, *[]string) {
			h, _, sent := newHandler()
			h.flow.Registry = r
			return h.handle, &sent.sent
		},
		Queue: "plan queue", Reason: wire.ReasonResync, ARN: planARN, Ticks: []string{"shop " + handlers.Tick, "web " + handlers.Tick},
	})
}
