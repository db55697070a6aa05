package conform

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// testQueue is a queue of one case, with the calls cases make over and over.
// Each ends the case when it fails.
type testQueue struct {
	c    *sqs.Client
	name string
	url  string
	fifo bool
}

// newQueue creates a queue with a name of its own.
func newQueue(t T, c *sqs.Client, fifo bool, attributes map[string]string) *testQueue {
	t.Helper()
	q := &testQueue{c: c, name: Unique("q"), fifo: fifo}
	all := map[string]string{}
	for name, value := range attributes {
		all[name] = value
	}
	if fifo {
		q.name += ".fifo"
		all["FifoQueue"] = "true"
	}
	out, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &q.name, Attributes: all})
	if err != nil {
		t.Fatalf("create queue: %v", err)
	}
	q.url = *out.QueueUrl
	return q
}

// must returns a function that takes the results of a call and ends the case
// when there is an error among them.
func (q *testQueue) must(t T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v", err)
		}
	}
}

func (q *testQueue) attributes(t T) map[string]string {
	t.Helper()
	out, err := q.c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		t.Fatalf("attributes: %v", err)
	}
	return out.Attributes
}

// send sends to a standard queue.
func (q *testQueue) send(t T, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		q.must(t)(q.c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body}))
	}
}

// sendGroup sends to a FIFO queue; the bodies serve as deduplication ids.
func (q *testQueue) sendGroup(t T, group string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		q.must(t)(q.c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &body}))
	}
}

// sendAny sends to a queue of either type and returns the message id.
func (q *testQueue) sendAny(t T, body string) string {
	t.Helper()
	in := &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body}
	if q.fifo {
		in.MessageGroupId, in.MessageDeduplicationId = aws.String("g"), &body
	}
	out, err := q.c.SendMessage(t.Context(), in)
	if err != nil {
		t.Fatalf("send: %v", err)
	}
	return *out.MessageId
}

func (q *testQueue) receive(t T, maxMessages, waitSeconds int32) []types.Message {
	t.Helper()
	out, err := q.c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: &q.url, MaxNumberOfMessages: maxMessages, WaitTimeSeconds: waitSeconds,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		t.Fatalf("receive: %v", err)
	}
	return out.Messages
}

func (q *testQueue) delete(t T, m types.Message) {
	t.Helper()
	q.must(t)(q.c.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle}))
}

func (q *testQueue) changeVisibility(t T, m types.Message, seconds int32) {
	t.Helper()
	q.must(t)(q.c.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds}))
}

// bodies joins the bodies of messages with spaces.
func bodies(messages []types.Message) string {
	var list []string
	for _, m := range messages {
		list = append(list, *m.Body)
	}
	return strings.Join(list, " ")
}
