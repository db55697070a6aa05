package conform_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// sdkQueue is a queue of our model of SQS, spoken to by the unmodified SDK.
type sdkQueue struct {
	client *sqs.Client
	clock  *clock.Fake
	url    string
	dead   *sdkQueue
}

func TestQueueOfTheCloudKeepsTheContract(t *testing.T) {
	conform.Queue(t, func(t *testing.T, fifo bool) conform.QueuePort {
		now := clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		c, err := cloud.Start(t.Context(), cloud.Options{Clock: now, ClientClock: clock.System()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		client := sqs.NewFromConfig(c.Config(), func(o *sqs.Options) { o.RetryMaxAttempts = 1 })
		suffix, attributes := "", map[string]string{"MessageRetentionPeriod": fmt.Sprint(conform.QueueRetention.Seconds())}
		if fifo {
			suffix, attributes["FifoQueue"] = ".fifo", "true"
		}
		dead := newSDKQueue(t, client, now, "dead"+suffix, attributes)
		out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &dead.url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
		if err != nil {
			t.Fatal(err)
		}
		attributes["VisibilityTimeout"] = fmt.Sprint(conform.QueueVisibility.Seconds())
		attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, out.Attributes["QueueArn"], conform.QueueMaxReceives)
		queue := newSDKQueue(t, client, now, "queue"+suffix, attributes)
		queue.dead = dead
		return queue
	})
}

func newSDKQueue(t *testing.T, client *sqs.Client, now *clock.Fake, name string, attributes map[string]string) *sdkQueue {
	t.Helper()
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	return &sdkQueue{client: client, clock: now, url: *out.QueueUrl}
}

func (q *sdkQueue) Send(ctx context.Context, body, group, dedup string, delay time.Duration) (string, error) {
	in := &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body, DelaySeconds: int32(delay.Seconds())}
	if group != "" {
		in.MessageGroupId = &group
	}
	if dedup != "" {
		in.MessageDeduplicationId = &dedup
	}
	out, err := q.client.SendMessage(ctx, in)
	if err != nil {
		return "", invalid(err)
	}
	return *out.MessageId, nil
}

func (q *sdkQueue) Receive(ctx context.Context, most int) ([]conform.QueueMessage, error) {
	out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &q.url, MaxNumberOfMessages: int32(most), MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}, func(o *sqs.Options) { o.DisableMessageChecksumValidation = true })
	if most == 0 { // the SDK leaves a zero out, and SQS then gives one
		return nil, fault.New(fault.Invalid, "InvalidParameterValue", "none asked for")
	}
	if err != nil {
		return nil, invalid(err)
	}
	var messages []conform.QueueMessage
	for _, m := range out.Messages {
		receives, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
		messages = append(messages, conform.QueueMessage{
			ID: *m.MessageId, Body: *m.Body, Group: m.Attributes["MessageGroupId"], Receipt: *m.ReceiptHandle, Receives: receives,
		})
	}
	return messages, nil
}

func (q *sdkQueue) Delete(ctx context.Context, receipt string) error {
	_, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: &receipt})
	return invalid(err)
}

func (q *sdkQueue) Hide(ctx context.Context, receipt string, d time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &q.url, ReceiptHandle: aws.String(receipt), VisibilityTimeout: int32(d.Seconds())})
	return invalid(err)
}

func (q *sdkQueue) Dead() conform.QueuePort { return q.dead }

func (q *sdkQueue) Pass(d time.Duration) { q.clock.Advance(d) }

// invalid gives every answer of SQS that is an error the kind Invalid, which is all the contract asks about.
func invalid(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) {
		return fault.Wrap(fault.Invalid, api.ErrorCode(), err, "")
	}
	return err
}
