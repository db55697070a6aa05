package sqsqueue

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/wire"
)

// H4: the reason alone says what is asked of a function, whichever queue it comes through. A full pass is one wherever it is made.
func TestH4EachRequestHasAReasonOfItsOwn(t *testing.T) {
	_, client, fifo := start(t)
	ctx := t.Context()
	for _, queue := range []*sqs.CreateQueueInput{
		{QueueName: aws.String(wire.PlanQueue("web")), Attributes: map[string]string{"FifoQueue": "true"}}, {QueueName: aws.String("own")},
	} {
		if _, err := client.CreateQueue(ctx, queue); err != nil {
			t.Fatal(err)
		}
	}
	own, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("own")})
	if err != nil {
		t.Fatal(err)
	}
	plan := PlanRequests{NewPlanQueues(client, fifo)}
	delayed := NewDelayQueue(client, *own.QueueUrl)
	requests := Requests{delayed}
	seen := map[wire.HintReason]string{}
	for name, c := range map[string]struct {
		url string
		ask func() error
	}{
		"provision: a class is ready":       {wire.PlanQueueURL(fifo, "web"), func() error { return plan.Ready(ctx, "web", "k") }},
		"provision: pods must leave":        {wire.PlanQueueURL(fifo, "web"), func() error { return plan.Plan(ctx, "web", "k") }},
		"provision: commands wait":          {wire.PlanQueueURL(fifo, "web"), func() error { return plan.Replace(ctx, "web", "k") }},
		"a full pass":                       {*own.QueueUrl, func() error { return requests.RequestPass(ctx, "web", "k", 0) }},
		"interruption: a drain step is due": {*own.QueueUrl, func() error { return requests.Drain(ctx, "web", "k", 0) }},
		"disrupt: a check":                  {*own.QueueUrl, func() error { return Disruptions{delayed}.RequestDisruption(ctx, "web", "k") }},
	} {
		if err := c.ask(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		messages := receive(t, client, c.url)
		if len(messages) != 1 {
			t.Fatalf("%s: %d messages", name, len(messages))
		}
		hint, err := wire.DecodeHint([]byte(*messages[0].Body))
		if err != nil || hint.Cluster != "web" || hint.Tick != "k" {
			t.Errorf("%s: %+v, %v", name, hint, err)
		}
		if other := seen[hint.Reason]; other != "" {
			t.Errorf("%s and %s have the reason %s", name, other, hint.Reason)
		}
		seen[hint.Reason] = name
		if _, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &c.url, ReceiptHandle: messages[0].ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
	}
	if err := plan.Resync(ctx, "web", "tick"); err != nil {
		t.Fatal(err)
	}
}
