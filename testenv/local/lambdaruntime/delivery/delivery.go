package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
)

// Target takes one payload; nil means it has it. It may be called again with the same payload after an error.
type Target func(ctx context.Context, payload []byte) error

// Policy bounds the retries of one delivery.
type Policy struct {
	// MaxRetries is how often a failed delivery is tried again; 0 means never.
	MaxRetries int
	// MaxAge is how old a payload may be when it is tried again; 0 sets no bound.
	MaxAge time.Duration
}

// Default is the policy of rules and schedules that set none.
var Default = Policy{MaxRetries: 185, MaxAge: 24 * time.Hour}

const (
	firstBackoff = time.Second
	maxBackoff   = 5 * time.Minute
)

// Send delivers the payload before it returns or, when the target fails, tries again later on the clock, each time after
// twice the wait. onDropped is called at most once, with the last error, when the policy gives up; it may be nil. A
// context that is done ends the retries.
func Send(ctx context.Context, c clock.Clock, policy Policy, target Target, payload []byte, onDropped func(error)) {
	begun := c.Now()
	var attempt func(retry int, wait time.Duration)
	attempt = func(retry int, wait time.Duration) {
		err := ctx.Err()
		if err == nil {
			err = target(ctx, payload)
		}
		if err == nil {
			return
		}
		tooOld := policy.MaxAge > 0 && c.Now().Add(wait).Sub(begun) > policy.MaxAge
		if retry >= policy.MaxRetries || tooOld || ctx.Err() != nil {
			if onDropped != nil {
				onDropped(fmt.Errorf("deliver, attempt %d: %w", retry+1, err))
			}
			return
		}
		c.AfterFunc(wait, func() { attempt(retry+1, min(2*wait, maxBackoff)) })
	}
	attempt(0, firstBackoff)
}

// Sender is what SQS needs of a client; *sqs.Client satisfies it.
type Sender interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// SQS returns a target that sends the payload as a message body. A FIFO queue needs the group, and content-based
// deduplication, for no deduplication id is sent: of two equal bodies within five minutes the queue keeps the first.
func SQS(client Sender, queueURL, messageGroupID string) Target {
	return func(ctx context.Context, payload []byte) error {
		input := &sqs.SendMessageInput{QueueUrl: aws.String(queueURL), MessageBody: aws.String(string(payload))}
		if messageGroupID != "" {
			input.MessageGroupId = aws.String(messageGroupID)
		}
		if _, err := client.SendMessage(ctx, input); err != nil {
			return fmt.Errorf("send message to %s: %w", queueURL, err)
		}
		return nil
	}
}
