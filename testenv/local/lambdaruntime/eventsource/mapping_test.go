package eventsource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
)

// handler is a function in this process, for tests of what the mapping does with its answers.
type handler struct {
	timeout time.Duration
	answer  func(batch lambdaevents.SQSEvent) (lambdaruntime.Result, error) // nil succeeds

	mu      sync.Mutex
	batches [][]string // bodies
	raw     [][]byte
	traces  []string
	running int
	most    int // running at once
}

func (h *handler) Function(name string) (lambdaruntime.Function, bool) {
	return lambdaruntime.Function{Name: name, Timeout: h.timeout}, name == "f"
}

func (h *handler) Do(_ context.Context, request lambdaruntime.Request) (lambdaruntime.Result, error) {
	var batch lambdaevents.SQSEvent
	if err := json.Unmarshal(request.Payload, &batch); err != nil {
		return lambdaruntime.Result{}, err
	}
	var bodies []string
	for _, record := range batch.Records {
		bodies = append(bodies, record.Body)
	}
	h.mu.Lock()
	h.batches = append(h.batches, bodies)
	h.raw = append(h.raw, request.Payload)
	h.traces = append(h.traces, request.TraceHeader)
	h.running++
	h.most = max(h.most, h.running)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.running--
	}()
	if h.answer == nil {
		return lambdaruntime.Result{}, nil
	}
	return h.answer(batch)
}

func (h *handler) seen() [][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.batches)
}

func start(t *testing.T, h eventsource.Invoker, q eventsource.Queue, config eventsource.Config) *eventsource.Mapping {
	t.Helper()
	if config.QueueURL == "" {
		config.QueueURL = "http://queue"
	}
	if config.Function == "" {
		config.Function = "f"
	}
	m, err := eventsource.Start(t.Context(), h, q, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	return m
}

func TestStartRefusesWhatTheServiceRefuses(t *testing.T) {
	cases := []struct {
		name, want string
		fifo       bool
		timeout    time.Duration
		config     eventsource.Config
	}{
		{"unknown function", "no such function", false, 0, eventsource.Config{Function: "g"}},
		{"timeout over visibility", "function timeout 31s is longer", false, 31 * time.Second, eventsource.Config{Function: "f"}},
		{"FIFO batch", "want 1 to 10", true, 0, eventsource.Config{Function: "f", BatchSize: 11}},
		{"FIFO window", "takes no batch window", true, 0, eventsource.Config{Function: "f", BatchWindow: time.Second}},
		{"standard batch", "want 1 to 10000", false, 0, eventsource.Config{Function: "f", BatchSize: 10001, BatchWindow: time.Second}},
		{"big batch without window", "needs a batch window", false, 0, eventsource.Config{Function: "f", BatchSize: 11}},
		{"long window", "batch window 5m1s", false, 0, eventsource.Config{Function: "f", BatchWindow: 301 * time.Second}},
		{"concurrency of one", "maximum concurrency 1", false, 0, eventsource.Config{Function: "f", MaximumConcurrency: 1}},
		{"concurrency over the limit", "maximum concurrency 1001", false, 0, eventsource.Config{Function: "f", MaximumConcurrency: 1001}},
		{"fault over all", "want 0 to 100", false, 0, eventsource.Config{Function: "f", Faults: eventsource.Faults{DelayPercent: 101}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := eventsource.Start(t.Context(), &handler{timeout: c.timeout}, newQueue(c.fifo), c.config)
			if err == nil {
				m.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestEventHasTheFieldsOfAnSQSRecord(t *testing.T) {
	h, q := &handler{}, newQueue(true)
	q.send("hello", "cluster-a", func(m *fakeMessage) {
		m.userAttributes = map[string]types.MessageAttributeValue{"kind": {DataType: aws.String("String"), StringValue: aws.String("hint")}}
		m.attributes["AWSTraceHeader"] = "Root=1-5759e988-bd862e3fe1be46a994272793"
	})
	start(t, h, q, eventsource.Config{})
	eventually(t, "the message is deleted", func() bool { return len(q.bodies()) == 0 })
	const want = `{"Records":[{"messageId":"message-1","receiptHandle":"message-1#1","body":"hello","md5OfBody":"5d41402abc4b2a76b9719d911017c592",` +
		`"md5OfMessageAttributes":"","attributes":{"AWSTraceHeader":"Root=1-5759e988-bd862e3fe1be46a994272793",` +
		`"ApproximateFirstReceiveTimestamp":"1700000000001","ApproximateReceiveCount":"1",` +
		`"MessageDeduplicationId":"dedup-message-1","MessageGroupId":"cluster-a","SenderId":"AIDATESTENV","SentTimestamp":"1700000000000",` +
		`"SequenceNumber":"00000000000000000001"},"messageAttributes":{"kind":{"stringValue":"hint","stringListValues":[],"binaryListValues":[],` +
		`"dataType":"String"}},"eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:queue.fifo","eventSource":"aws:sqs","awsRegion":"eu-west-1"}]}`
	if got := string(h.raw[0]); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if h.traces[0] != "Root=1-5759e988-bd862e3fe1be46a994272793" {
		t.Errorf("the invocation got trace header %q, want the message's", h.traces[0])
	}
}

// answers with failures of the messages whose body starts with "bad", by the given way of failing.
func failing(way func(bad []string) (lambdaruntime.Result, error)) func(lambdaevents.SQSEvent) (lambdaruntime.Result, error) {
	return func(batch lambdaevents.SQSEvent) (lambdaruntime.Result, error) {
		var bad []string
		for _, record := range batch.Records {
			if strings.HasPrefix(record.Body, "bad") {
				bad = append(bad, record.MessageId)
			}
		}
		return way(bad)
	}
}

func respond(payload string) func([]string) (lambdaruntime.Result, error) {
	return func([]string) (lambdaruntime.Result, error) {
		return lambdaruntime.Result{Payload: []byte(payload)}, nil
	}
}

func TestOutcomeDecidesWhatIsDeleted(t *testing.T) {
	all, bad, none := []string{"good", "bad", "fine"}, []string{"bad"}, []string{}
	listBad := func(ids []string) (lambdaruntime.Result, error) {
		return lambdaruntime.Result{Payload: fmt.Appendf(nil, `{"batchItemFailures":[{"itemIdentifier":%q}]}`, ids[0])}, nil
	}
	cases := []struct {
		name   string
		way    func(bad []string) (lambdaruntime.Result, error)
		report bool
		want   []string // left in the queue
	}{
		{"success", respond(`{}`), false, none},
		{"function error", func([]string) (lambdaruntime.Result, error) {
			return lambdaruntime.Result{FunctionError: "Unhandled"}, nil
		}, true, all},
		{"throttled", func([]string) (lambdaruntime.Result, error) {
			return lambdaruntime.Result{}, lambdaruntime.ErrThrottled
		}, true, all},
		{"listed failure", listBad, true, bad},
		{"listed failure, reporting off", listBad, false, none},
		{"empty response", respond(``), true, none},
		{"null response", respond(`null`), true, none},
		{"empty object", respond(`{}`), true, none},
		{"null list", respond(`{"batchItemFailures":null}`), true, none},
		{"empty list", respond(`{"batchItemFailures":[]}`), true, none},
		{"unknown message", respond(`{"batchItemFailures":[{"itemIdentifier":"nobody"}]}`), true, all},
		{"empty identifier", respond(`{"batchItemFailures":[{"itemIdentifier":""}]}`), true, all},
		{"null identifier", respond(`{"batchItemFailures":[{"itemIdentifier":null}]}`), true, all},
		{"misnamed identifier", respond(`{"batchItemFailures":[{"id":"message-1"}]}`), true, all},
		{"no JSON", respond(`{"batchItem`), true, all},
		{"other JSON", respond(`["message-1"]`), true, all},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h, q := &handler{answer: failing(c.way)}, newQueue(false)
			for _, body := range all {
				q.send(body, "")
			}
			m := start(t, h, q, eventsource.Config{ReportBatchItemFailures: c.report})
			eventually(t, "the batch is delivered", func() bool { return m.Stats().Messages == 3 })
			m.Stop()
			if got := q.bodies(); !slices.Equal(got, c.want) {
				t.Errorf("left in the queue: %q, want %q", got, c.want)
			}
		})
	}
}

func TestFailedMessageComesBackWhenItsVisibilityEndsAndDiesInTheEnd(t *testing.T) {
	h := &handler{answer: func(lambdaevents.SQSEvent) (lambdaruntime.Result, error) {
		return lambdaruntime.Result{FunctionError: "Unhandled"}, nil
	}}
	q := newQueue(false)
	q.maxReceives = 2
	q.send("poison", "")
	m := start(t, h, q, eventsource.Config{})
	for receives := 1; receives <= 2; receives++ {
		eventually(t, fmt.Sprintf("delivery %d", receives), func() bool { return m.Stats().Failed == receives })
		if got := lastReceiveCount(t, h); got != fmt.Sprint(receives) {
			t.Errorf("delivery %d shows receive count %s", receives, got)
		}
		q.expire()
	}
	eventually(t, "the message is in the dead-letter queue", func() bool { return slices.Equal(q.deadBodies(), []string{"poison"}) })
	if got := m.Stats().Deliveries; got != 2 {
		t.Errorf("%d deliveries, want 2", got)
	}
}

func lastReceiveCount(t *testing.T, h *handler) string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var batch lambdaevents.SQSEvent
	if err := json.Unmarshal(h.raw[len(h.raw)-1], &batch); err != nil {
		t.Fatal(err)
	}
	return batch.Records[0].Attributes["ApproximateReceiveCount"]
}

func TestOneBatchOfAGroupIsInFlight(t *testing.T) {
	release := make(chan struct{})
	h := &handler{answer: func(batch lambdaevents.SQSEvent) (lambdaruntime.Result, error) {
		if batch.Records[0].Body == "a1" {
			<-release
		}
		return lambdaruntime.Result{}, nil
	}}
	q := newQueue(true)
	q.send("a1", "a")
	m := start(t, h, q, eventsource.Config{BatchSize: 1})
	eventually(t, "a1 is in flight", func() bool { return len(h.seen()) == 1 })
	q.send("a2", "a")
	q.send("b1", "b")
	eventually(t, "b1 is done", func() bool { return slices.Equal(q.bodies(), []string{"a1", "a2"}) })
	// Even when a1's visibility ends before its batch does.
	q.expire()
	eventually(t, "a1 is received again and held", func() bool { return m.Stats().Held == 1 })
	if got := len(h.seen()); got != 2 {
		t.Errorf("%d batches delivered, want a1 and b1 only", got)
	}
	close(release)
	eventually(t, "the slow batch is over", func() bool { return m.Stats().Deliveries == 2 })
	q.expire() // its deletion bore an old receipt
	eventually(t, "the group went on", func() bool { return len(q.bodies()) == 0 })
	if got := fmt.Sprint(h.seen()); got != "[[a1] [b1] [a1] [a2]]" {
		t.Errorf("delivered %s, want a1, b1, a1 again, then a2", got)
	}
}

func TestMaximumConcurrencyBoundsInvocations(t *testing.T) {
	release := make(chan struct{})
	h := &handler{answer: func(lambdaevents.SQSEvent) (lambdaruntime.Result, error) {
		<-release
		return lambdaruntime.Result{}, nil
	}}
	q := newQueue(false)
	for i := range 6 {
		q.send(fmt.Sprint(i), "")
	}
	start(t, h, q, eventsource.Config{BatchSize: 1, MaximumConcurrency: 2})
	eventually(t, "two are running", func() bool { return len(h.seen()) == 2 })
	close(release)
	eventually(t, "all are done", func() bool { return len(q.bodies()) == 0 })
	if h.most != 2 {
		t.Errorf("%d ran at once, want 2", h.most)
	}
}

func TestWindowCollectsUntilTheBatchIsFull(t *testing.T) {
	h, q := &handler{}, newQueue(false)
	for i := range 25 {
		q.send(fmt.Sprint(i), "")
	}
	// Each of the two pollers collects a batch of its own.
	start(t, h, q, eventsource.Config{BatchSize: 12, BatchWindow: time.Second, MaximumConcurrency: 2})
	eventually(t, "all are done", func() bool { return len(q.bodies()) == 0 })
	total := 0
	for _, batch := range h.seen() {
		total += len(batch)
		if len(batch) > 12 {
			t.Errorf("a batch of %d, want 12 at most", len(batch))
		}
	}
	if total != 25 || len(h.seen()) > 4 {
		t.Errorf("%d messages in %d batches, want 25 in 3 or 4", total, len(h.seen()))
	}
}

func TestBatchOverThePayloadLimitIsSplit(t *testing.T) {
	h, q := &handler{}, newQueue(false)
	for range 8 {
		q.send(strings.Repeat("x", 1_000_000), "")
	}
	start(t, h, q, eventsource.Config{})
	eventually(t, "all are done", func() bool { return len(q.bodies()) == 0 })
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, payload := range h.raw {
		if len(payload) > lambdaruntime.MaxRequestBytes {
			t.Errorf("an event of %d bytes", len(payload))
		}
	}
	if len(h.batches) != 2 || len(h.batches[0]) != 6 {
		t.Errorf("%d batches, the first of %d, want 2, the first of 6", len(h.batches), len(h.batches[0]))
	}
}

func TestFilteredMessagesAreDeletedUnseen(t *testing.T) {
	pattern, err := events.ParsePattern([]byte(`{"body":{"kind":["hint"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	h, q := &handler{}, newQueue(false)
	for _, body := range []string{`{"kind":"hint"}`, `{"kind":"noise"}`, `no JSON`} {
		q.send(body, "")
	}
	m := start(t, h, q, eventsource.Config{Filters: []events.Pattern{pattern}})
	eventually(t, "all are gone", func() bool { return len(q.bodies()) == 0 })
	if got := fmt.Sprint(h.seen()); got != `[[{"kind":"hint"}]]` || m.Stats().Filtered != 2 {
		t.Errorf("delivered %s, filtered %d, want the hint only", got, m.Stats().Filtered)
	}
}

func TestPollingGoesOnAfterErrors(t *testing.T) {
	h, q := &handler{}, newQueue(false)
	q.failures = 7
	q.send("hello", "")
	errs := make(chan error, 100)
	start(t, h, q, eventsource.Config{OnError: func(err error) { errs <- err }})
	eventually(t, "the message is done", func() bool { return len(q.bodies()) == 0 })
	for range 7 {
		if err := <-errs; err.Error() != "receive from http://queue: service unavailable" {
			t.Errorf("reported %v, want the failed receive", err)
		}
	}
}
