package relay

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/shared/wire"
)

// waitSeconds is how long a receive waits for requests: less than an answer's head may take by whoever set up the
// client.
const waitSeconds = 8

// Inbox is a cluster's queue of requests. It may be used from many goroutines.
type Inbox struct {
	client *sqs.Client
	url    string
	now    func() time.Time
}

// NewInbox returns the queue at a URL.
func NewInbox(client *sqs.Client, url string) *Inbox {
	return &Inbox{client: client, url: url, now: time.Now}
}

// Receive waits some seconds for requests, 10 or most at once. Their age is measured by the queue's own clock, to the
// second.
func (i *Inbox) Receive(ctx context.Context, most int) ([]wire.RelayMessage, error) {
	out, err := i.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &i.url, MaxNumberOfMessages: int32(min(max(most, 1), 10)), WaitTimeSeconds: waitSeconds,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameSenderId,
			types.MessageSystemAttributeNameSentTimestamp},
	})
	if err != nil {
		return nil, translate(err, "receive from %s", i.url)
	}
	now, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
	if !ok {
		now = i.now()
	}
	messages := make([]wire.RelayMessage, len(out.Messages))
	for n, m := range out.Messages {
		role, _, _ := strings.Cut(m.Attributes[string(types.MessageSystemAttributeNameSenderId)], ":") // AROA…:session
		messages[n] = wire.RelayMessage{
			Receipt: aws.ToString(m.ReceiptHandle), Sender: role, Body: []byte(aws.ToString(m.Body)),
			Age: ageOf(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], now),
		}
	}
	return messages, nil
}

// ageOf is the time from sent, in milliseconds since 1970, until now. A message that does not say is too old.
func ageOf(sent string, now time.Time) time.Duration {
	millis, err := strconv.ParseInt(sent, 10, 64)
	if err != nil {
		return wire.MaxRelayAge
	}
	return max(0, now.Sub(time.UnixMilli(millis)))
}

// Done removes a request.
func (i *Inbox) Done(ctx context.Context, receipt string) error {
	_, err := i.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &i.url, ReceiptHandle: &receipt})
	return translate(err, "delete from %s", i.url)
}

// Return lets another replica have a request at once.
func (i *Inbox) Return(ctx context.Context, receipt string) error {
	_, err := i.client.ChangeMessageVisibility(ctx,
		&sqs.ChangeMessageVisibilityInput{QueueUrl: &i.url, ReceiptHandle: &receipt})
	return translate(err, "return to %s", i.url)
}
