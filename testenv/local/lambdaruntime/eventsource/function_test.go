package eventsource_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/internal/fixture"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// newRunner returns a runner with the fixture deployed as the SQS handler "f".
func newRunner(t *testing.T, config lambdaruntime.Config, changes ...func(*lambdaruntime.Function)) *lambdaruntime.Runner {
	t.Helper()
	runner, err := lambdaruntime.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Stop)
	fn := lambdaruntime.Function{
		Name: "f", Path: fixture.Path(t), Timeout: patience, Env: map[string]string{"FIXTURE_MODE": "sqs"},
	}
	for _, change := range changes {
		change(&fn)
	}
	if err := runner.Deploy(fn); err != nil {
		t.Fatal(err)
	}
	return runner
}

// ran returns the function's log lines that begin with "ran ", without that, in order.
func ran(runner *lambdaruntime.Runner) []string {
	var lines []string
	for _, line := range runner.Logs("f") {
		if text, ok := strings.CutPrefix(line.Text, "ran "); ok {
			lines = append(lines, text)
		}
	}
	return lines
}

func TestFunctionDecodesTheEventAndReportsItsFailures(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{}, func(fn *lambdaruntime.Function) { fn.Env["FIXTURE_DUMP"] = "1" })
	q := newQueue(true)
	q.send(`{"name":"one"}`, "a")
	q.send(`{"name":"two","do":"fail","until":"2"}`, "b")
	m := start(t, runner, q, eventsource.Config{ReportBatchItemFailures: true})
	eventually(t, "the first is deleted", func() bool { return m.Stats().Deleted == 1 })
	if got := q.bodies(); len(got) != 1 || !strings.Contains(got[0], "two") {
		t.Errorf("left %q, want the failed one", got)
	}
	q.expire()
	eventually(t, "the second succeeds when it is received again", func() bool { return len(q.bodies()) == 0 })
	if got := ran(runner); !slices.Equal(got, []string{"one 1", "two 1", "two 2"}) {
		t.Errorf("ran %q", got)
	}
	record := dumped(t, runner).Records[0]
	if record.EventSource != "aws:sqs" || record.AWSRegion != "eu-west-1" || record.Attributes["MessageGroupId"] != "a" ||
		record.Attributes["SequenceNumber"] == "" || record.MessageId != "message-1" {
		t.Errorf("the function read %+v", record)
	}
}

// dumped returns the first event the function wrote to its log.
func dumped(t *testing.T, runner *lambdaruntime.Runner) lambdaevents.SQSEvent {
	t.Helper()
	var event lambdaevents.SQSEvent
	for _, line := range runner.Logs("f") {
		if text, ok := strings.CutPrefix(line.Text, "dump "); ok {
			if err := json.Unmarshal([]byte(text), &event); err != nil {
				t.Fatal(err)
			}
			return event
		}
	}
	t.Fatal("the log has no event")
	return event
}

func TestKilledFunctionLeavesItsBatchToTheQueue(t *testing.T) {
	started := make(chan lambdaruntime.Invocation, 10)
	runner := newRunner(t, lambdaruntime.Config{OnInvoke: func(i lambdaruntime.Invocation) { started <- i }})
	q := newQueue(true)
	q.send(`{"name":"victim","do":"hang","until":"2"}`, "a")
	q.send(`{"name":"behind"}`, "a")
	m := start(t, runner, q, eventsource.Config{BatchSize: 1, ReportBatchItemFailures: true})
	runner.Kill((<-started).RequestID)
	eventually(t, "the delivery failed", func() bool { return m.Stats().Failed == 1 })
	if got := m.Stats().Deliveries; got != 1 {
		t.Errorf("%d deliveries, want the group blocked behind the victim", got)
	}
	q.expire()
	eventually(t, "both are done", func() bool { return len(q.bodies()) == 0 })
	if got := ran(runner); !slices.Equal(got, []string{"victim 1", "victim 2", "behind 1"}) && !slices.Equal(got, []string{"victim 2", "behind 1"}) {
		t.Errorf("ran %q, want the victim again before what is behind it", got)
	}
}

func TestTimeoutLeavesTheBatchToTheQueue(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{}, func(fn *lambdaruntime.Function) { fn.Timeout = 300 * time.Millisecond })
	q := newQueue(false)
	q.send(`{"name":"slow","do":"hang","until":"2"}`, "")
	var seen deliveries
	m := start(t, runner, q, eventsource.Config{OnDelivery: seen.add})
	eventually(t, "the delivery failed", func() bool { return m.Stats().Failed == 1 })
	if got := seen.list[0].Result.ErrorType; got != lambdaruntime.ErrorTypeTimeout {
		t.Errorf("failed with %q, want the timeout", got)
	}
	q.expire()
	eventually(t, "it is done", func() bool { return len(q.bodies()) == 0 })
}

func TestReservedConcurrencyThrottlesDeliveries(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{}, func(fn *lambdaruntime.Function) { fn.ReservedConcurrency = new(1) })
	q := newQueue(false)
	q.send(`{"name":"first","millis":500}`, "")
	q.send(`{"name":"second"}`, "")
	m := start(t, runner, q, eventsource.Config{BatchSize: 1})
	eventually(t, "one is throttled, one is done", func() bool { s := m.Stats(); return s.Throttled == 1 && s.Deleted == 1 })
	q.expire()
	eventually(t, "both are done", func() bool { return len(q.bodies()) == 0 })
	got := ran(runner)
	slices.Sort(got)
	// Which of the two came first is up to the pollers; the other was received twice.
	if !slices.Equal(got, []string{"first 1", "second 2"}) && !slices.Equal(got, []string{"first 2", "second 1"}) {
		t.Errorf("ran %q, want one of them at its second receipt", got)
	}
}

func TestConcurrentDeliveryUsesTwoSandboxes(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	q := newQueue(true)
	q.send(`{"name":"twins","millis":300}`, "a")
	var seen deliveries
	start(t, runner, q, eventsource.Config{Faults: eventsource.Faults{ConcurrentPercent: 100}, OnDelivery: seen.add})
	eventually(t, "the message is deleted", func() bool { return len(q.bodies()) == 0 })
	if len(seen.list) != 2 || seen.list[0].Result.SandboxID == seen.list[1].Result.SandboxID {
		t.Errorf("deliveries %+v, want two in sandboxes of their own", seen.list)
	}
}

func TestMessageOfAnEndlessChainEndsInTheDeadLetterQueue(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	q := newQueue(false)
	q.maxReceives = 1
	lineage := "Root=1-5759e988-bd862e3fe1be46a994272793;Lineage=" + lineageOf(t, runner) + ":16"
	q.send(`{"name":"endless"}`, "", func(m *fakeMessage) { m.attributes["AWSTraceHeader"] = lineage })
	m := start(t, runner, q, eventsource.Config{})
	eventually(t, "the delivery is refused", func() bool { return m.Stats().Failed == 1 })
	q.expire()
	eventually(t, "the message is in the dead-letter queue", func() bool { return len(q.deadBodies()) == 1 })
	if got := ran(runner); len(got) != 0 {
		t.Errorf("ran %q, want nothing", got)
	}
}

// lineageOf returns the function's hash as the trace header of an invocation shows it.
func lineageOf(t *testing.T, runner *lambdaruntime.Runner) string {
	t.Helper()
	err := runner.Deploy(lambdaruntime.Function{Name: "f", Path: fixture.Path(t), Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	result, err := runner.Invoke(t.Context(), "f", []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ Trace string }
	if err := json.Unmarshal(result.Payload, &report); err != nil {
		t.Fatal(err)
	}
	_, lineage, _ := strings.Cut(report.Trace, "Lineage=")
	hash, _, ok := strings.Cut(lineage, ":")
	if !ok {
		t.Fatalf("trace header %q has no lineage", report.Trace)
	}
	err = runner.Deploy(lambdaruntime.Function{Name: "f", Path: fixture.Path(t), Timeout: patience, Env: map[string]string{"FIXTURE_MODE": "sqs"}})
	if err != nil {
		t.Fatal(err)
	}
	return hash
}
