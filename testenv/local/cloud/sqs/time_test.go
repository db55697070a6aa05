package sqs_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sqs"
)

// env is a model on a clock of its own behind a real client.
type env struct {
	*testing.T
	clock  *clock.Fake
	model  *sqs.Model
	client *awssqs.Client
}

func newEnv(t *testing.T) *env { return envAs(t, nil) }

// envAs is newEnv with readings; nil: the environment's.
func envAs(t *testing.T, reads *reading.Set) *env {
	c := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	m := sqs.NewModel(sqs.Options{Clock: c, Account: "123456789012", Region: "us-west-2", Readings: reads})
	server := httptest.NewServer(sqs.NewHandler(m))
	t.Cleanup(server.Close)
	return &env{t, c, m, awssqs.New(awssqs.Options{
		Region: "us-west-2", BaseEndpoint: &server.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})}
}

func (e *env) queue(name string, attributes map[string]string) string {
	e.Helper()
	if strings.HasSuffix(name, ".fifo") {
		if attributes == nil {
			attributes = map[string]string{}
		}
		attributes["FifoQueue"] = "true"
	}
	out, err := e.client.CreateQueue(e.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		e.Fatalf("create queue %s: %v", name, err)
	}
	return *out.QueueUrl
}

// send sends body, to a FIFO queue with the group and with body as its id.
func (e *env) send(url, group, body string) {
	e.Helper()
	in := &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}
	if group != "" {
		in.MessageGroupId, in.MessageDeduplicationId = &group, &body
	}
	if _, err := e.client.SendMessage(e.Context(), in); err != nil {
		e.Fatalf("send %s: %v", body, err)
	}
}

func (e *env) receive(url string) []types.Message {
	e.Helper()
	out, err := e.client.ReceiveMessage(e.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
	if err != nil {
		e.Fatalf("receive: %v", err)
	}
	return out.Messages
}

func (e *env) wantBodies(url, want string) []types.Message {
	e.Helper()
	messages := e.receive(url)
	var bodies []string
	for _, m := range messages {
		bodies = append(bodies, *m.Body)
	}
	if got := strings.Join(bodies, " "); got != want {
		e.Fatalf("received %q, want %q", got, want)
	}
	return messages
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Errorf("got %v, want code %s", err, code)
	}
}

func TestMessageIsVisibleAgainExactlyAtItsTimeout(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q", nil)
	e.send(q, "", "a")
	e.wantBodies(q, "a")
	e.clock.Advance(30*time.Second - 1)
	e.wantBodies(q, "")
	e.clock.Advance(1)
	e.wantBodies(q, "a")
}

func TestDuplicateIDIsFreeAgainAfterFiveMinutes(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q.fifo", nil)
	e.send(q, "g", "a")
	m := e.wantBodies(q, "a")
	if _, err := e.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &q, ReceiptHandle: m[0].ReceiptHandle}); err != nil {
		t.Fatal(err)
	}
	e.clock.Advance(5*time.Minute - 1)
	e.send(q, "g", "a")
	e.wantBodies(q, "")
	e.clock.Advance(1)
	e.send(q, "g", "a")
	e.wantBodies(q, "a")
}

func TestDeduplicationMayBePerGroup(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q.fifo", map[string]string{"DeduplicationScope": "messageGroup"})
	e.send(q, "g", "a")
	e.send(q, "h", "a")
	e.send(q, "h", "a")
	e.wantBodies(q, "a a")
}

func TestMessageEndsWithItsRetention(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q", map[string]string{"MessageRetentionPeriod": "60"})
	e.send(q, "", "old")
	e.clock.Advance(30 * time.Second)
	e.send(q, "", "young")
	e.clock.Advance(30 * time.Second)
	e.wantBodies(q, "young")
	if d, _ := e.model.Depth("q"); d != (sqs.Depth{InFlight: 1}) {
		t.Errorf("depth %+v, want one in flight", d)
	}
}

func TestShorterRetentionEndsWhatIsThere(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q", nil)
	e.send(q, "", "a")
	e.clock.Advance(2 * time.Minute)
	if _, err := e.client.SetQueueAttributes(t.Context(), &awssqs.SetQueueAttributesInput{QueueUrl: &q, Attributes: map[string]string{"MessageRetentionPeriod": "60"}}); err != nil {
		t.Fatal(err)
	}
	e.wantBodies(q, "")
}

func TestDelayOfAFIFOQueueHoldsEveryMessageInOrder(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q.fifo", map[string]string{"DelaySeconds": "10"})
	e.send(q, "g", "1")
	e.clock.Advance(4 * time.Second)
	e.send(q, "g", "2")
	if d, _ := e.model.Depth("q.fifo"); d != (sqs.Depth{Delayed: 2}) {
		t.Errorf("depth %+v, want two delayed", d)
	}
	e.clock.Advance(6 * time.Second)
	m := e.wantBodies(q, "1")
	e.clock.Advance(4 * time.Second)
	e.wantBodies(q, "") // its group is in flight
	if _, err := e.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &q, ReceiptHandle: m[0].ReceiptHandle}); err != nil {
		t.Fatal(err)
	}
	e.wantBodies(q, "2")
}

func TestVisibilityEndsTwelveHoursAfterTheReceive(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q", map[string]string{"VisibilityTimeout": "43200"})
	e.send(q, "", "a")
	m := e.wantBodies(q, "a")
	e.clock.Advance(time.Hour)
	change := func(seconds int32) error {
		_, err := e.client.ChangeMessageVisibility(t.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &q, ReceiptHandle: m[0].ReceiptHandle, VisibilityTimeout: seconds})
		return err
	}
	wantCode(t, change(11*3600+1), "InvalidParameterValue")
	if err := change(11 * 3600); err != nil {
		t.Errorf("exactly twelve hours: %v", err)
	}
}

func TestFIFORefusesToDeleteAfterTheTimeout(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q.fifo", nil)
	e.send(q, "g", "a")
	m := e.wantBodies(q, "a")
	e.clock.Advance(30 * time.Second)
	_, err := e.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &q, ReceiptHandle: m[0].ReceiptHandle})
	wantCode(t, err, "InvalidParameterValue")
	e.wantBodies(q, "a")
}

func TestStandardDeletesAfterTheTimeoutUnlessReceivedAgain(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q", nil)
	e.send(q, "", "a")
	m := e.wantBodies(q, "a")
	e.clock.Advance(30 * time.Second)
	if _, err := e.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &q, ReceiptHandle: m[0].ReceiptHandle}); err != nil {
		t.Fatal(err)
	}
	e.wantBodies(q, "")
}

func TestNamesAndPurgesHaveTheirPauses(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q", nil)
	purge := func() error {
		_, err := e.client.PurgeQueue(t.Context(), &awssqs.PurgeQueueInput{QueueUrl: &q})
		return err
	}
	if err := purge(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, purge(), "AWS.SimpleQueueService.PurgeQueueInProgress")
	e.clock.Advance(time.Minute)
	if err := purge(); err != nil {
		t.Errorf("purge a minute later: %v", err)
	}
	if _, err := e.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &q}); err != nil {
		t.Fatal(err)
	}
	_, err := e.client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q")})
	wantCode(t, err, "AWS.SimpleQueueService.QueueDeletedRecently")
	e.clock.Advance(time.Minute)
	e.queue("q", nil)
}

func TestRedrivenMessageRemembersItsSource(t *testing.T) {
	e := newEnv(t)
	dead := e.queue("dead", nil)
	q := e.queue("q", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-west-2:123456789012:dead","maxReceiveCount":1}`})
	e.send(q, "", "a")
	e.wantBodies(q, "a")
	e.clock.Advance(time.Minute)
	e.wantBodies(q, "")
	m := e.wantBodies(dead, "a")
	if got := m[0].Attributes["DeadLetterQueueSourceArn"]; got != "arn:aws:sqs:us-west-2:123456789012:q" {
		t.Errorf("source %q, want q", got)
	}
}

func TestLongPoll(t *testing.T) {
	poll := func(e *env, q string) <-chan int {
		got := make(chan int, 1)
		go func() {
			out, err := e.client.ReceiveMessage(e.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &q, WaitTimeSeconds: 20})
			if err != nil {
				got <- -1
				return
			}
			got <- len(out.Messages)
		}()
		return got
	}
	asleep := func(e *env, n int) {
		e.Helper()
		if err := e.clock.AwaitPending(e.Context(), n); err != nil {
			e.Fatal(err)
		}
	}
	t.Run("ends empty with its wait", func(t *testing.T) {
		e := newEnv(t)
		got := poll(e, e.queue("q", nil))
		asleep(e, 1)
		e.clock.Advance(20 * time.Second)
		if n := <-got; n != 0 {
			t.Errorf("got %d, want an empty answer", n)
		}
	})
	t.Run("ends with a message sent", func(t *testing.T) {
		e := newEnv(t)
		q := e.queue("q", nil)
		got := poll(e, q)
		asleep(e, 1)
		e.send(q, "", "a")
		if n := <-got; n != 1 {
			t.Errorf("got %d, want 1", n)
		}
	})
	t.Run("ends with a message visible again", func(t *testing.T) {
		e := newEnv(t)
		q := e.queue("q", map[string]string{"VisibilityTimeout": "5"})
		e.send(q, "", "a")
		e.wantBodies(q, "a")
		got := poll(e, q)
		asleep(e, 1)
		e.clock.Advance(5 * time.Second)
		if n := <-got; n != 1 {
			t.Errorf("got %d, want 1", n)
		}
	})
	t.Run("ends with a group free again", func(t *testing.T) {
		e := newEnv(t)
		q := e.queue("q.fifo", nil)
		e.send(q, "g", "1")
		m := e.wantBodies(q, "1")
		e.send(q, "g", "2")
		got := poll(e, q)
		asleep(e, 1)
		if _, err := e.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &q, ReceiptHandle: m[0].ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
		if n := <-got; n != 1 {
			t.Errorf("got %d, want 1", n)
		}
	})
	t.Run("ends with an error when the queue is deleted", func(t *testing.T) {
		e := newEnv(t)
		q := e.queue("q", nil)
		got := poll(e, q)
		asleep(e, 1)
		if _, err := e.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &q}); err != nil {
			t.Fatal(err)
		}
		if n := <-got; n != -1 {
			t.Errorf("got %d, want an error", n)
		}
	})
	t.Run("takes nothing once its client has gone", func(t *testing.T) {
		e := newEnv(t)
		q := e.queue("q", nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			e.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &q, WaitTimeSeconds: 20})
			close(done)
		}()
		asleep(e, 1)
		cancel()
		<-done
		for e.clock.Pending() > 0 { // the server notices in its own time
			time.Sleep(time.Millisecond)
		}
		e.send(q, "", "a")
		e.wantBodies(q, "a")
	})
}

// Of a batch the middle of which is held longer, what is before it comes back
// and what is behind it waits.
func TestMessageInFlightHoldsBackOnlyWhatIsBehindIt(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q.fifo", nil)
	for _, body := range []string{"1", "2", "3"} {
		e.send(q, "g", body)
	}
	batch := e.wantBodies(q, "1 2 3")
	if _, err := e.client.ChangeMessageVisibility(t.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &q, ReceiptHandle: batch[1].ReceiptHandle, VisibilityTimeout: 60}); err != nil {
		t.Fatal(err)
	}
	e.clock.Advance(30 * time.Second)
	e.wantBodies(q, "1")
	e.clock.Advance(30 * time.Second)
	e.wantBodies(q, "1 2 3")
}

func TestFIFORefusesToDeleteByAnEarlierHandle(t *testing.T) {
	e := newEnv(t)
	q := e.queue("q.fifo", nil)
	e.send(q, "g", "a")
	first := e.wantBodies(q, "a")
	e.clock.Advance(30 * time.Second)
	e.wantBodies(q, "a")
	_, err := e.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &q, ReceiptHandle: first[0].ReceiptHandle})
	wantCode(t, err, "InvalidParameterValue")
}

// A standard queue refuses a message group, or takes it.
func TestStandardQueuesRefuseGroupsOrTakeThem(t *testing.T) {
	for reads, want := range map[*reading.Set]string{reading.Strict(reading.GroupOnStandard): "InvalidParameterValue", reading.Other(reading.GroupOnStandard): ""} {
		e := envAs(t, reads)
		url := e.queue("plain", nil)
		_, err := e.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("b"), MessageGroupId: aws.String("g")})
		var api smithy.APIError
		if code := ""; errors.As(err, &api) {
			if code = api.ErrorCode(); code != want {
				t.Errorf("%q: %s, want %s", reads, code, want)
			}
		} else if want != "" || err != nil {
			t.Errorf("%q: %v, want %s", reads, err, want)
		}
		e.send(url, "", "without")
	}
}

// W3: a receive looks at so many messages of a FIFO queue only, those in flight among them. Another group's message behind them waits until some are
// deleted.
func TestAFIFOQueueIsSearchedSoFar(t *testing.T) {
	e := newEnv(t)
	m := sqs.NewModel(sqs.Options{Clock: e.clock, Account: "123456789012", Region: "us-west-2", Searched: 4})
	server := httptest.NewServer(sqs.NewHandler(m))
	t.Cleanup(server.Close)
	options := e.client.Options()
	options.BaseEndpoint = &server.URL
	e.client = awssqs.New(options)
	q := e.queue("q.fifo", nil)
	for _, body := range []string{"1", "2", "3", "4", "5"} {
		e.send(q, "flood", body)
	}
	e.send(q, "quiet", "behind")
	batch := e.wantBodies(q, "1 2 3 4")
	e.wantBodies(q, "") // four are in flight
	for i := range 2 {
		if _, err := e.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &q, ReceiptHandle: batch[i].ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
	}
	e.wantBodies(q, "behind") // 3 and 4 are in flight, and 5 waits for them
}
