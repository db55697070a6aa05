package cloud_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
)

// BenchmarkMessage sends, receives and deletes one message through the front
// door, with 10,000 others behind it in their own groups.
func BenchmarkMessage(b *testing.B) {
	c, err := cloud.Start(b.Context(), cloud.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	client := awssqs.NewFromConfig(c.Config())
	q, err := client.CreateQueue(b.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q.fifo"), Attributes: map[string]string{"FifoQueue": "true"}})
	if err != nil {
		b.Fatal(err)
	}
	send := func(i int) {
		id := fmt.Sprint(i)
		if _, err := client.SendMessage(b.Context(), &awssqs.SendMessageInput{QueueUrl: q.QueueUrl, MessageBody: &id, MessageGroupId: aws.String(fmt.Sprint(i % 100)), MessageDeduplicationId: &id}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 10_000 {
		send(-i - 1)
	}
	for i := 0; b.Loop(); i++ {
		send(i)
		out, err := client.ReceiveMessage(b.Context(), &awssqs.ReceiveMessageInput{QueueUrl: q.QueueUrl})
		if err != nil || len(out.Messages) != 1 {
			b.Fatalf("received %v, %v", out, err)
		}
		if _, err := client.DeleteMessage(b.Context(), &awssqs.DeleteMessageInput{QueueUrl: q.QueueUrl, ReceiptHandle: out.Messages[0].ReceiptHandle}); err != nil {
			b.Fatal(err)
		}
	}
}
