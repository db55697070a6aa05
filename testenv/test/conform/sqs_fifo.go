package conform

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func sqsFIFO(c *sqs.Client) []Case {
	return []Case{
		{"one receive takes a group in order", func(t T) {
			q := newQueue(t, c, true, nil)
			q.sendGroup(t, "g", "1", "2", "3")
			if got := bodies(q.receive(t, 10, 0)); got != "1 2 3" {
				t.Errorf("received %q, want 1 2 3", got)
			}
		}},
		{"a group with a message in flight gives nothing, other groups do", func(t T) {
			q := newQueue(t, c, true, nil)
			q.sendGroup(t, "g", "g1", "g2")
			q.sendGroup(t, "h", "h1")
			if got := bodies(q.receive(t, 1, 0)); got != "g1" {
				t.Fatalf("received %q, want g1", got)
			}
			if got := bodies(q.receive(t, 10, 0)); got != "h1" {
				t.Errorf("received %q while g1 is in flight, want h1", got)
			}
		}},
		{"a group goes on when its head is deleted", func(t T) {
			q := newQueue(t, c, true, nil)
			q.sendGroup(t, "g", "1", "2")
			q.delete(t, q.receive(t, 1, 0)[0])
			if got := bodies(q.receive(t, 10, 0)); got != "2" {
				t.Errorf("received %q, want 2", got)
			}
		}},
		{"extending the visibility of the head keeps the group blocked", func(t T) {
			q := newQueue(t, c, true, map[string]string{"VisibilityTimeout": "1"})
			q.sendGroup(t, "g", "1", "2")
			q.changeVisibility(t, q.receive(t, 1, 0)[0], 60)
			if got := bodies(q.receive(t, 10, 2)); got != "" {
				t.Errorf("received %q behind an extended head", got)
			}
		}},
		{"a message in flight holds back only what is behind it", func(t T) {
			q := newQueue(t, c, true, map[string]string{"VisibilityTimeout": "1"})
			q.sendGroup(t, "g", "1", "2", "3")
			q.changeVisibility(t, q.receive(t, 10, 0)[1], 60)
			if got := bodies(q.receive(t, 10, 3)); got != "1" {
				t.Errorf("received %q, want 1 alone", got)
			}
		}},
		{"order holds when the head becomes visible again", func(t T) {
			q := newQueue(t, c, true, nil)
			q.sendGroup(t, "g", "1", "2")
			q.changeVisibility(t, q.receive(t, 1, 0)[0], 0)
			if got := bodies(q.receive(t, 10, 0)); got != "1 2" {
				t.Errorf("received %q, want 1 2", got)
			}
		}},
		{"a duplicate id is swallowed and answered with the first message's id", func(t T) {
			q := newQueue(t, c, true, nil)
			send := func() *sqs.SendMessageOutput {
				out, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("same")})
				if err != nil {
					t.Fatalf("send: %v", err)
				}
				return out
			}
			first, second := send(), send()
			if *first.MessageId != *second.MessageId {
				t.Errorf("ids %s and %s, want the same", *first.MessageId, *second.MessageId)
			}
			if got := q.receive(t, 10, 0); len(got) != 1 {
				t.Errorf("received %d messages, want 1", len(got))
			}
		}},
		{"a duplicate id is remembered after the message was deleted", func(t T) {
			q := newQueue(t, c, true, nil)
			in := &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("same")}
			q.must(t)(c.SendMessage(t.Context(), in))
			q.delete(t, q.receive(t, 1, 0)[0])
			q.must(t)(c.SendMessage(t.Context(), in))
			if got := q.receive(t, 1, 0); len(got) != 0 {
				t.Errorf("received a duplicate of a deleted message")
			}
		}},
		{"the body stands in for the id where the queue says so", func(t T) {
			q := newQueue(t, c, true, map[string]string{"ContentBasedDeduplication": "true"})
			for range 2 {
				q.must(t)(c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g")}))
			}
			got := q.receive(t, 10, 0)
			sum := sha256.Sum256([]byte("a"))
			if len(got) != 1 || got[0].Attributes["MessageDeduplicationId"] != hex.EncodeToString(sum[:]) {
				t.Errorf("received %v, want one with the hash of its body as id", got)
			}
		}},
		{"a message needs a group, an id and no delay of its own", func(t T) {
			q := newQueue(t, c, true, nil)
			_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("a"), MessageDeduplicationId: aws.String("d")})
			wantCode(t, err, "MissingParameter")
			_, err = c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g")})
			wantCode(t, err, "InvalidParameterValue")
			_, err = c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d"), DelaySeconds: 1})
			wantCode(t, err, "InvalidParameterValue")
		}},
		{"sequence numbers grow", func(t T) {
			q := newQueue(t, c, true, nil)
			q.sendGroup(t, "g", "1", "2", "3", "4", "5", "6", "7", "8")
			var numbers []string
			for _, m := range q.receive(t, 10, 0) {
				numbers = append(numbers, m.Attributes["SequenceNumber"])
			}
			if len(numbers) != 8 || len(numbers[0]) != 20 || !slices.IsSorted(numbers) {
				t.Errorf("sequence numbers %v, want eight growing ones of twenty digits", numbers)
			}
		}},
		{"a handle whose visibility timeout is over deletes nothing", func(t T) {
			q := newQueue(t, c, true, map[string]string{"VisibilityTimeout": "1"})
			q.sendGroup(t, "g", "1")
			first := q.receive(t, 1, 0)
			second := q.receive(t, 1, 3)
			if len(second) != 1 {
				t.Fatalf("not received again after the timeout")
			}
			c.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: first[0].ReceiptHandle}) // may be an error
			q.changeVisibility(t, second[0], 0)
			if got := q.receive(t, 1, 0); len(got) != 1 {
				t.Errorf("the late delete took the message from its second receiver")
			}
		}},
	}
}

func sqsRedrive(c *sqs.Client) []Case {
	return []Case{
		{"a message received too often moves to the dead-letter queue", func(t T) {
			for _, fifo := range []bool{false, true} {
				dead := newQueue(t, c, fifo, nil)
				q := newQueue(t, c, fifo, map[string]string{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":2}`, dead.attributes(t)["QueueArn"])})
				id := q.sendAny(t, "poison")
				for range 2 {
					q.changeVisibility(t, q.receive(t, 1, 0)[0], 0)
				}
				if got := q.receive(t, 1, 0); len(got) != 0 {
					t.Fatalf("fifo %v: received a third time", fifo)
				}
				got := dead.receive(t, 1, 3)
				if len(got) != 1 || *got[0].Body != "poison" || *got[0].MessageId != id || got[0].Attributes["ApproximateReceiveCount"] != "3" {
					t.Errorf("fifo %v: dead-letter queue gave %v, want message %s received 3 times", fifo, got, id)
				}
			}
		}},
		{"the group goes on behind a message that was moved", func(t T) {
			dead := newQueue(t, c, true, nil)
			q := newQueue(t, c, true, map[string]string{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"1"}`, dead.attributes(t)["QueueArn"])})
			q.sendGroup(t, "g", "poison", "next")
			q.changeVisibility(t, q.receive(t, 1, 0)[0], 0)
			if got := bodies(q.receive(t, 1, 3)); got != "next" {
				t.Errorf("received %q, want next", got)
			}
		}},
		{"a dead-letter queue must exist and be of the same type", func(t T) {
			standard := newQueue(t, c, false, nil)
			arn := standard.attributes(t)["QueueArn"]
			_, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(Unique("q") + ".fifo"), Attributes: map[string]string{
				"FifoQueue": "true", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`, arn)}})
			wantCode(t, err, "InvalidParameterValue")
			_, err = c.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &standard.url, Attributes: map[string]string{
				"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`, arn+"-absent")}})
			wantCode(t, err, "InvalidParameterValue")
		}},
		{"the sources of a dead-letter queue are listed", func(t T) {
			dead := newQueue(t, c, false, nil)
			q := newQueue(t, c, false, map[string]string{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`, dead.attributes(t)["QueueArn"])})
			out, err := c.ListDeadLetterSourceQueues(t.Context(), &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &dead.url})
			if err != nil || !slices.Equal(out.QueueUrls, []string{q.url}) {
				t.Errorf("sources %v, %v; want %s", out, err, q.url)
			}
		}},
	}
}
