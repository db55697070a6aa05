package sqsqueue

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
)

func start(t *testing.T) (*cloud.Cloud, *sqs.Client, string) {
	t.Helper()
	return startAs(t, nil)
}

// startAs is start with readings; nil: the environment's.
func startAs(t *testing.T, reads *reading.Set) (*cloud.Cloud, *sqs.Client, string) {
	t.Helper()
	c, err := cloud.Start(t.Context(), cloud.Options{Readings: reads})
	if err != nil {
		t.Fatal(err)
	}
	client := sqs.NewFromConfig(c.Config())
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("plan.fifo"), Attributes: map[string]string{"FifoQueue": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	return c, client, *out.QueueUrl
}

func receive(t *testing.T, client *sqs.Client, url string) []types.Message {
	t.Helper()
	out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Messages
}

func TestAHintArrivesInItsClustersGroup(t *testing.T) {
	_, client, url := start(t)
	want := wire.Hint{Version: wire.HintVersion, Cluster: "prod", Epoch: 1, Seq: 2, Number: 3, Reason: wire.ReasonBatch, Pods: []model.PodRef{{Namespace: "a", Name: "b", UID: "c"}}}
	if err := New(client, url).Send(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	messages := receive(t, client, url)
	if len(messages) != 1 {
		t.Fatalf("got %d messages", len(messages))
	}
	got, err := wire.DecodeHint([]byte(*messages[0].Body))
	if err != nil || !reflect.DeepEqual(got, want) || messages[0].Attributes["MessageGroupId"] != "prod" {
		t.Fatalf("got %+v in %s, %v", got, messages[0].Attributes["MessageGroupId"], err)
	}
}

func TestOnlyTheVerySameHintIsTakenOnce(t *testing.T) {
	_, client, url := start(t)
	queue := New(client, url)
	for _, hint := range []wire.Hint{
		{Cluster: "prod", Epoch: 1, Seq: 2, Number: 3, Reason: wire.ReasonBatch},
		{Cluster: "prod", Epoch: 1, Seq: 2, Number: 3, Reason: wire.ReasonBatch, SentAtMillis: 5}, // the same, sent again
		{Cluster: "prod", Epoch: 1, Seq: 2, Number: 4, Reason: wire.ReasonBatch},
		{Cluster: "test", Epoch: 1, Seq: 2, Number: 3, Reason: wire.ReasonBatch},
		{Cluster: "prod", Reason: wire.ReasonResync, Tick: "2026-11-20T12:00:00Z"},
		{Cluster: "prod", Reason: wire.ReasonResync, Tick: "2026-11-20T12:00:00Z"},
		{Cluster: "prod", Reason: wire.ReasonResync, Tick: "2026-11-20T12:01:00Z"},
	} {
		if err := queue.Send(t.Context(), hint); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(receive(t, client, url)); got != 5 {
		t.Fatalf("got %d messages, want 5", got)
	}
}

func TestADelayedHintArrivesLater(t *testing.T) {
	_, client, _ := start(t)
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("looks")})
	if err != nil {
		t.Fatal(err)
	}
	queue := NewDelayQueue(client, *out.QueueUrl)
	for key, after := range map[string]time.Duration{"now": 0, "soon": 500 * time.Millisecond, "never": 24 * time.Hour} {
		if err := queue.Send(t.Context(), wire.Hint{Cluster: "prod", Reason: wire.ReasonResync, Tick: key}, after); err != nil {
			t.Fatal(err)
		}
	}
	ticks := func() string {
		var out string
		for _, m := range receive(t, client, queue.url) {
			hint, err := wire.DecodeHint([]byte(*m.Body))
			if err != nil {
				t.Fatal(err)
			}
			out += hint.Tick
		}
		return out
	}
	if got := ticks(); got != "now" {
		t.Errorf("at once: %q", got)
	}
	time.Sleep(1100 * time.Millisecond)
	if got := ticks(); got != "soon" {
		t.Errorf("a second later: %q", got)
	}
	if err := queue.Send(t.Context(), wire.Hint{}, 0); !fault.Is(err, fault.Invalid) {
		t.Errorf("no hint: %v, want Invalid", err)
	}
}

func TestErrorsHaveKinds(t *testing.T) {
	c, client, url := start(t)
	hint := wire.Hint{Cluster: "prod", Reason: wire.ReasonNode}
	if err := New(client, url+"x").Send(t.Context(), hint); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such queue: got %v, want NotFound", err)
	}
	stranger := sqs.NewFromConfig(c.ConfigFor(sts.Credentials{AccessKeyID: "AKIANOBODY", SecretAccessKey: "x"}))
	if err := New(stranger, url).Send(t.Context(), hint); !fault.Is(err, fault.Denied) {
		t.Errorf("a stranger: got %v, want Denied", err)
	}
	if err := New(client, url).Send(t.Context(), wire.Hint{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("no hint: got %v, want Invalid", err)
	}
}

// A standard queue is fair to clusters only where messages say whose they are.
func TestADelayedHintIsInItsClustersGroup(t *testing.T) {
	_, client, _ := startAs(t, reading.Other(reading.GroupOnStandard))
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("looks")})
	if err != nil {
		t.Fatal(err)
	}
	if err := NewDelayQueue(client, *out.QueueUrl).Send(t.Context(), wire.Hint{Cluster: "prod", Reason: wire.ReasonResync, Tick: "a"}, 0); err != nil {
		t.Fatal(err)
	}
	received, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: out.QueueUrl, MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameMessageGroupId},
	})
	if err != nil || len(received.Messages) != 1 || received.Messages[0].Attributes["MessageGroupId"] != "prod" {
		t.Errorf("received %+v %v, want a message of group prod", received, err)
	}
}

// A22: where standard queues take no message groups hints arrive all the same, and after the first nobody asks for a group. What else is
// wrong with a hint is said.
func TestA22DelayedHintsArriveWhereQueuesTakeNoGroups(t *testing.T) {
	c, client, _ := startAs(t, reading.Strict(reading.GroupOnStandard))
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("looks"), Attributes: map[string]string{"MaximumMessageSize": "1024"}})
	if err != nil {
		t.Fatal(err)
	}
	queue := NewDelayQueue(client, *out.QueueUrl)
	sends := func() (n int) {
		for _, r := range c.Requests() {
			if r.Action == "SendMessage" {
				n++
			}
		}
		return n
	}
	long := wire.Hint{Cluster: "prod", Reason: wire.ReasonBatch, Epoch: 1, Seq: 1, Number: 1}
	for i := range 20 {
		long.Pods = append(long.Pods, model.PodRef{Namespace: "default", Name: fmt.Sprintf("%s-%d", strings.Repeat("pod", 20), i), UID: fmt.Sprint(i)})
	}
	if err := queue.Send(t.Context(), long, 0); !fault.Is(err, fault.Invalid) {
		t.Errorf("a hint that is too long: %v, want Invalid", err)
	}
	for i, want := range []int{4, 5, 6} { // two of the first, two of the next, one of each after that
		if err := queue.Send(t.Context(), wire.Hint{Cluster: "prod", Reason: wire.ReasonResync, Tick: strings.Repeat("a", i+1)}, 0); err != nil {
			t.Fatal(err)
		}
		if got := sends(); got != want {
			t.Errorf("hint %d: %d requests so far, want %d", i, got, want)
		}
	}
	if got := receive(t, client, *out.QueueUrl); len(got) != 3 || got[0].Attributes["MessageGroupId"] != "" {
		t.Errorf("received %d messages, in groups %v", len(got), got)
	}
}
