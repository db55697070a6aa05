package eventsource_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/internal/fixture"
)

// BenchmarkSendToHandled is the way of one message from its sender through a FIFO queue, over the wire, to a warm function
// that has handled it.
func BenchmarkSendToHandled(b *testing.B) {
	server, err := cloud.Start(b.Context(), cloud.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	client := sqs.NewFromConfig(server.Config())
	queue, err := client.CreateQueue(b.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("plan.fifo"), Attributes: map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"},
	})
	if err != nil {
		b.Fatal(err)
	}
	runner, err := lambdaruntime.New(lambdaruntime.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer runner.Stop()
	err = runner.Deploy(lambdaruntime.Function{Name: "f", Path: fixture.Path(b), Env: map[string]string{"FIXTURE_MODE": "sqs"}})
	if err != nil {
		b.Fatal(err)
	}
	handled := make(chan error, 1)
	mapping, err := eventsource.Start(b.Context(), runner, client, eventsource.Config{
		Function: "f", QueueURL: aws.ToString(queue.QueueUrl), OnDelivery: func(d eventsource.Delivery) { handled <- d.Err },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer mapping.Stop()
	send := delivery.SQS(client, aws.ToString(queue.QueueUrl), "a")
	for n := 0; b.Loop(); n++ {
		if err := send(b.Context(), fmt.Appendf(nil, `{"name":"%d"}`, n)); err != nil {
			b.Fatal(err)
		}
		if err := <-handled; err != nil {
			b.Fatal(err)
		}
	}
}
