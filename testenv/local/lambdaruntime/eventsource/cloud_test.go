package eventsource_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	cloudsqs "github.com/joiner-sh/joiner/testenv/local/cloud/sqs"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
)

// world is a queue served over the AWS protocol, on a clock the test advances, and the fixture to consume it.
type world struct {
	clock    *clock.Fake
	client   *sqs.Client
	queueURL string
	deadURL  string
	runner   *lambdaruntime.Runner
	mapping  *eventsource.Mapping
	started  chan lambdaruntime.Invocation
}

const visibilitySeconds = 30

// newWorld returns a world whose queue, FIFO or not, gives a message up after two receipts.
func newWorld(t *testing.T, fifo bool, config eventsource.Config) *world {
	t.Helper()
	w := &world{clock: clock.NewFake(time.Now()), started: make(chan lambdaruntime.Invocation, 100)}
	server := httptest.NewServer(cloudsqs.NewHandler(cloudsqs.NewModel(cloudsqs.Options{
		Clock: w.clock, Account: "123456789012", Region: "eu-west-1",
	})))
	t.Cleanup(server.Close)
	w.client = sqs.New(sqs.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	w.deadURL = w.createQueue(t, "dead", fifo, map[string]string{})
	_, deadARN := w.attributes(t, w.deadURL)
	w.queueURL = w.createQueue(t, "plan", fifo, map[string]string{
		"VisibilityTimeout": strconv.Itoa(visibilitySeconds), "RedrivePolicy": `{"deadLetterTargetArn":"` + deadARN + `","maxReceiveCount":2}`,
	})
	w.runner = newRunner(t, lambdaruntime.Config{
		Region: "eu-west-1", OnInvoke: func(i lambdaruntime.Invocation) { w.started <- i },
	})
	config.Function, config.QueueURL = "f", w.queueURL
	config.ReportBatchItemFailures = true
	mapping, err := eventsource.Start(t.Context(), w.runner, w.client, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mapping.Stop)
	w.mapping = mapping
	return w
}

func (w *world) createQueue(t *testing.T, name string, fifo bool, attributes map[string]string) string {
	t.Helper()
	if fifo {
		name += ".fifo"
		attributes["FifoQueue"], attributes["ContentBasedDeduplication"] = "true", "true"
	}
	out, err := w.client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(name), Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.QueueUrl)
}

// attributes returns how many messages the queue has, visible or in flight, and its ARN.
func (w *world) attributes(t *testing.T, queueURL string) (messages int, arn string) {
	t.Helper()
	out, err := w.client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(queueURL), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"} {
		n, err := strconv.Atoi(out.Attributes[name])
		if err != nil {
			t.Fatal(err)
		}
		messages += n
	}
	return messages, out.Attributes["QueueArn"]
}

func (w *world) send(t *testing.T, body, group string) {
	t.Helper()
	if err := delivery.SQS(w.client, w.queueURL, group)(t.Context(), []byte(body)); err != nil {
		t.Fatal(err)
	}
}

func (w *world) empty(t *testing.T, queueURL string) bool {
	t.Helper()
	messages, _ := w.attributes(t, queueURL)
	return messages == 0
}

func TestQueueOverTheWireDrivesTheFunction(t *testing.T) {
	w := newWorld(t, true, eventsource.Config{BatchSize: 1})
	w.send(t, `{"name":"victim","do":"hang","until":"2"}`, "a")
	w.runner.Kill((<-w.started).RequestID)
	eventually(t, "the delivery failed", func() bool { return w.mapping.Stats().Failed == 1 })
	w.send(t, `{"name":"behind"}`, "a")
	w.send(t, `{"name":"other"}`, "b")
	eventually(t, "the other group is not held up", func() bool { return w.mapping.Stats().Deleted == 1 })
	if got := ran(w.runner); !slices.Contains(got, "other 1") || slices.Contains(got, "behind 1") {
		t.Errorf("ran %q, want the other group's only", got)
	}
	w.clock.Advance(visibilitySeconds * time.Second)
	eventually(t, "all are done", func() bool { return w.empty(t, w.queueURL) })
	got := slices.DeleteFunc(ran(w.runner), func(line string) bool { return line == "other 1" || line == "victim 1" })
	if !slices.Equal(got, []string{"victim 2", "behind 1"}) {
		t.Errorf("ran %q, want the victim again, then what is behind it", got)
	}
}

func TestMessagesOfAGroupFollowEachOtherWithoutAPause(t *testing.T) {
	w := newWorld(t, true, eventsource.Config{BatchSize: 1})
	var want []string
	for n := range 50 {
		w.send(t, fmt.Sprintf(`{"name":"%d"}`, n), "a")
		want = append(want, fmt.Sprintf("%d 1", n))
	}
	// The clock stands still: a message that had to wait for its visibility would never be done.
	eventually(t, "all are done", func() bool { return w.empty(t, w.queueURL) })
	if got := ran(w.runner); !slices.Equal(got, want) {
		t.Errorf("ran %q, want all of them once and in order", got)
	}
}

func TestPoisonOverTheWireEndsInTheDeadLetterQueue(t *testing.T) {
	w := newWorld(t, false, eventsource.Config{})
	w.send(t, `{"name":"poison","do":"error"}`, "")
	for n := 1; n <= 2; n++ {
		eventually(t, "the delivery failed", func() bool { return w.mapping.Stats().Failed == n })
		w.clock.Advance(visibilitySeconds * time.Second)
	}
	eventually(t, "it is dead", func() bool { return w.empty(t, w.queueURL) && !w.empty(t, w.deadURL) })
	if got := ran(w.runner); !slices.Equal(got, []string{"poison 1", "poison 2"}) {
		t.Errorf("ran %q", got)
	}
}

func TestScheduleReachesTheFunctionThroughAFIFOQueue(t *testing.T) {
	cases := []struct {
		name, input string
		want        int // runs of three ticks
	}{
		{"input that differs", `{"name":"tick-<aws.scheduler.execution-id>"}`, 3},
		// Nothing but content tells the ticks apart, and the queue takes equal ones for one for five minutes.
		{"input that never differs", `{"name":"tick"}`, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, true, eventsource.Config{})
			scheduler := schedule.New(schedule.Config{Clock: w.clock})
			t.Cleanup(scheduler.Stop)
			sent := 0
			send := delivery.SQS(w.client, w.queueURL, "sweep")
			err := scheduler.Create(schedule.Schedule{
				Name: "sweep", Expression: "rate(1 minute)", Input: c.input, Policy: &delivery.Policy{},
				Target: func(ctx context.Context, payload []byte) error { sent++; return send(ctx, payload) },
			})
			if err != nil {
				t.Fatal(err)
			}
			for tick := range 3 {
				if tick > 0 {
					w.clock.Advance(time.Minute)
				} else {
					w.clock.Advance(0)
				}
				eventually(t, "the tick is consumed", func() bool { return w.empty(t, w.queueURL) })
			}
			ticks := slices.DeleteFunc(ran(w.runner), func(line string) bool { return !strings.HasPrefix(line, "tick") })
			if sent != 3 || len(ticks) != c.want {
				t.Errorf("%d sent, ran %q, want 3 and %d", sent, ticks, c.want)
			}
		})
	}
}

func TestFunctionReachesTheCloudByItsEnvironmentAlone(t *testing.T) {
	server, err := cloud.Start(t.Context(), cloud.Options{Region: "eu-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	w := &world{client: sqs.NewFromConfig(server.Config())}
	w.queueURL = w.createQueue(t, "plan", false, map[string]string{})
	onward := w.createQueue(t, "onward", false, map[string]string{})
	w.runner = newRunner(t, lambdaruntime.Config{
		Region: "eu-west-1", EndpointURL: server.Endpoint(),
		Credentials: func(ctx context.Context, _ lambdaruntime.Function) (aws.Credentials, error) {
			return server.Config().Credentials.Retrieve(ctx)
		},
	})
	w.mapping = start(t, w.runner, w.client, eventsource.Config{QueueURL: w.queueURL})
	w.send(t, `{"name":"forwarded","to":"`+onward+`"}`, "")
	eventually(t, "the function has sent it on", func() bool { return w.empty(t, w.queueURL) && !w.empty(t, onward) })
}
