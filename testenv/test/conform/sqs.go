package conform

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// SQS is the contract of queues: what every queue does, then what FIFO queues
// do, then redrive.
func SQS(t *testing.T, target Target) {
	c := sqs.NewFromConfig(target.Config)
	cases := []Case{
		{"create is idempotent and refuses other attributes", func(t T) {
			q := newQueue(t, c, false, nil)
			again, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &q.name})
			if err != nil || *again.QueueUrl != q.url {
				t.Fatalf("create again: %v, %v; want %s", again, err, q.url)
			}
			_, err = c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &q.name, Attributes: map[string]string{"VisibilityTimeout": "7"}})
			wantCode(t, err, "QueueAlreadyExists")
		}},
		{"a queue is found by its name and listed by its prefix", func(t T) {
			q := newQueue(t, c, false, nil)
			got, err := c.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &q.name})
			if err != nil || *got.QueueUrl != q.url {
				t.Fatalf("url: %v, %v; want %s", got, err, q.url)
			}
			list, err := c.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: &q.name})
			if err != nil || !slices.Equal(list.QueueUrls, []string{q.url}) {
				t.Fatalf("list: %v, %v; want %s", list, err, q.url)
			}
		}},
		{"a queue that does not exist is refused by its code", func(t T) {
			_, err := c.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String(Unique("absent"))})
			wantCode(t, err, "AWS.SimpleQueueService.NonExistentQueue")
			wantType[*types.QueueDoesNotExist](t, err)
		}},
		{"a deleted queue is gone", func(t T) {
			q := newQueue(t, c, false, nil)
			if _, err := c.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &q.url}); err != nil {
				t.Fatalf("delete: %v", err)
			}
			_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("x")})
			wantType[*types.QueueDoesNotExist](t, err)
		}},
		{"attributes have the documented defaults", func(t T) {
			q := newQueue(t, c, true, nil)
			got := q.attributes(t)
			for name, want := range map[string]string{
				"DelaySeconds": "0", "MessageRetentionPeriod": "345600", "VisibilityTimeout": "30", "MaximumMessageSize": "1048576",
				"ReceiveMessageWaitTimeSeconds": "0", "FifoQueue": "true", "ContentBasedDeduplication": "false", "ApproximateNumberOfMessages": "0",
			} {
				if got[name] != want {
					t.Errorf("%s is %q, want %q", name, got[name], want)
				}
			}
			if !strings.HasSuffix(got["QueueArn"], ":"+q.name) || !strings.HasPrefix(got["QueueArn"], "arn:aws:sqs:"+Region+":") {
				t.Errorf("arn %q of queue %s", got["QueueArn"], q.name)
			}
		}},
		{"attributes out of range or unknown are refused", func(t T) {
			for name, value := range map[string]string{"VisibilityTimeout": "43201", "DelaySeconds": "901", "MessageRetentionPeriod": "59"} {
				_, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(Unique("q")), Attributes: map[string]string{name: value}})
				wantCode(t, err, "InvalidAttributeValue")
			}
			_, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(Unique("q")), Attributes: map[string]string{"Colour": "red"}})
			wantCode(t, err, "InvalidAttributeName")
		}},
		{"a FIFO queue's name ends in .fifo", func(t T) {
			_, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(Unique("q")), Attributes: map[string]string{"FifoQueue": "true"}})
			wantCode(t, err, "InvalidParameterValue")
		}},
		{"tags are added, listed and removed", func(t T) {
			q := newQueue(t, c, false, nil)
			q.must(t)(c.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: &q.url, Tags: map[string]string{"a": "1", "b": "2"}}))
			q.must(t)(c.UntagQueue(t.Context(), &sqs.UntagQueueInput{QueueUrl: &q.url, TagKeys: []string{"a"}}))
			tags, err := c.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: &q.url})
			if err != nil || len(tags.Tags) != 1 || tags.Tags["b"] != "2" {
				t.Fatalf("tags %v, %v; want b=2", tags, err)
			}
		}},
		{"a message comes back with body, attributes and counts until deleted", func(t T) {
			q := newQueue(t, c, false, nil)
			sent, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{
				QueueUrl: &q.url, MessageBody: aws.String("héllo"),
				MessageAttributes: map[string]types.MessageAttributeValue{
					"kind": {DataType: aws.String("String"), StringValue: aws.String("plan")},
					"blob": {DataType: aws.String("Binary.gz"), BinaryValue: []byte{0, 1, 2}},
				},
			})
			if err != nil {
				t.Fatalf("send: %v", err)
			}
			got := q.receive(t, 1, 0)
			if len(got) != 1 || *got[0].Body != "héllo" || *got[0].MessageId != *sent.MessageId {
				t.Fatalf("received %v, want message %s", got, *sent.MessageId)
			}
			if *got[0].MD5OfMessageAttributes != *sent.MD5OfMessageAttributes || string(got[0].MessageAttributes["blob"].BinaryValue) != "\x00\x01\x02" {
				t.Errorf("attributes %v", got[0].MessageAttributes)
			}
			if n := got[0].Attributes["ApproximateReceiveCount"]; n != "1" {
				t.Errorf("receive count %s, want 1", n)
			}
			q.delete(t, got[0])
			if d := q.attributes(t); d["ApproximateNumberOfMessages"]+d["ApproximateNumberOfMessagesNotVisible"] != "00" {
				t.Errorf("not empty after the delete: %v", d)
			}
		}},
		{"a message in flight is invisible, then comes back with a higher count and another handle", func(t T) {
			q := newQueue(t, c, false, map[string]string{"VisibilityTimeout": "1"})
			q.send(t, "a")
			first := q.receive(t, 1, 0)
			if again := q.receive(t, 1, 0); len(first) != 1 || len(again) != 0 {
				t.Fatalf("received %d then %d, want 1 then 0", len(first), len(again))
			}
			second := q.receive(t, 1, 3)
			if len(second) != 1 || second[0].Attributes["ApproximateReceiveCount"] != "2" || *second[0].ReceiptHandle == *first[0].ReceiptHandle {
				t.Fatalf("after the timeout received %v, want the message again", second)
			}
		}},
		{"a stale handle of a standard queue deletes nothing and is no error", func(t T) {
			q := newQueue(t, c, false, nil)
			q.send(t, "a")
			first := q.receive(t, 1, 0)
			q.changeVisibility(t, first[0], 0)
			second := q.receive(t, 1, 0)
			q.delete(t, first[0])
			q.changeVisibility(t, second[0], 0)
			if got := q.receive(t, 1, 0); len(got) != 1 {
				t.Fatalf("the stale handle deleted the message")
			}
		}},
		{"a handle that is none is refused", func(t T) {
			q := newQueue(t, c, false, nil)
			_, err := c.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: aws.String("nonsense")})
			wantCode(t, err, "ReceiptHandleIsInvalid")
		}},
		{"visibility of a message not in flight cannot be changed", func(t T) {
			q := newQueue(t, c, false, nil)
			q.send(t, "a")
			got := q.receive(t, 1, 0)
			q.changeVisibility(t, got[0], 0)
			_, err := c.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &q.url, ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 10})
			wantCode(t, err, "AWS.SimpleQueueService.MessageNotInflight")
		}},
		{"a delayed message arrives when its delay is over", func(t T) {
			q := newQueue(t, c, false, nil)
			q.must(t)(c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("later"), DelaySeconds: 1}))
			if got := q.receive(t, 1, 0); len(got) != 0 {
				t.Fatalf("received %d at once, want 0", len(got))
			}
			if d := q.attributes(t)["ApproximateNumberOfMessagesDelayed"]; d != "1" {
				t.Errorf("%s delayed, want 1", d)
			}
			if got := q.receive(t, 1, 3); len(got) != 1 {
				t.Fatalf("received %d after the delay, want 1", len(got))
			}
		}},
		{"a long poll ends with the first message", func(t T) {
			q := newQueue(t, c, false, nil)
			got := make(chan int, 1)
			started := time.Now()
			go func() {
				out, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.url, WaitTimeSeconds: 10})
				if err != nil {
					got <- -1
					return
				}
				got <- len(out.Messages)
			}()
			time.Sleep(100 * time.Millisecond) // let the poll begin; either order must pass
			q.send(t, "a")
			if n, took := <-got, time.Since(started); n != 1 || took > 5*time.Second {
				t.Errorf("poll gave %d messages after %v, want 1 at once", n, took)
			}
		}},
		{"a batch fails by entry", func(t T) {
			q := newQueue(t, c, true, nil)
			out, err := c.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &q.url, Entries: []types.SendMessageBatchRequestEntry{
				{Id: aws.String("good"), MessageBody: aws.String("a"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("1")},
				{Id: aws.String("bad"), MessageBody: aws.String("b"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("2"), DelaySeconds: 5},
			}})
			if err != nil || len(out.Successful) != 1 || *out.Successful[0].Id != "good" || len(out.Failed) != 1 || *out.Failed[0].Id != "bad" {
				t.Fatalf("batch: %+v, %v; want one of each", out, err)
			}
			if !out.Failed[0].SenderFault || *out.Failed[0].Code != "InvalidParameterValue" {
				t.Errorf("failure %+v, want InvalidParameterValue by the sender", out.Failed[0])
			}
		}},
		{"a batch is refused as a whole when empty, too long or ambiguous", func(t T) {
			q := newQueue(t, c, false, nil)
			entries := func(ids ...string) (list []types.SendMessageBatchRequestEntry) {
				for _, id := range ids {
					list = append(list, types.SendMessageBatchRequestEntry{Id: aws.String(id), MessageBody: aws.String("x")})
				}
				return list
			}
			for code, list := range map[string][]types.SendMessageBatchRequestEntry{
				"AWS.SimpleQueueService.EmptyBatchRequest":            {},
				"AWS.SimpleQueueService.TooManyEntriesInBatchRequest": entries(strings.Split("abcdefghijk", "")...),
				"AWS.SimpleQueueService.BatchEntryIdsNotDistinct":     entries("a", "a"),
				"AWS.SimpleQueueService.InvalidBatchEntryId":          entries("a b"),
			} {
				_, err := c.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &q.url, Entries: list})
				wantCode(t, err, code)
			}
		}},
		{"a message longer than a mebibyte is refused, one as long is not", func(t T) {
			q := newQueue(t, c, false, nil)
			q.send(t, strings.Repeat("x", 1<<20))
			_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String(strings.Repeat("x", 1<<20+1))})
			wantCode(t, err, "InvalidParameterValue")
		}},
		{"purge empties a queue", func(t T) {
			q := newQueue(t, c, false, nil)
			q.send(t, "a", "b")
			q.must(t)(c.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &q.url}))
			if got := q.receive(t, 10, 0); len(got) != 0 {
				t.Errorf("received %d after the purge", len(got))
			}
		}},
		{"the sender learns the checksum of its body", func(t T) {
			q := newQueue(t, c, false, nil)
			out, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("hello")})
			if err != nil || *out.MD5OfMessageBody != "5d41402abc4b2a76b9719d911017c592" {
				t.Fatalf("send: %v, %v", out, err)
			}
		}},
	}
	cases = append(cases, sqsFIFO(c)...)
	target.Run(t, "sqs", append(cases, sqsRedrive(c)...))
}
