package eventsource

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// poll receives batches until the context is done. It holds a slot while it polls, and hands it to the invocation.
func (m *Mapping) poll(ctx context.Context) {
	for {
		select {
		case m.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		messages := m.collect(ctx)
		if len(messages) == 0 {
			<-m.slots
			continue
		}
		m.running.Go(func() {
			defer func() { <-m.slots }()
			m.process(ctx, messages)
		})
	}
}

// collect returns one batch; empty when the context is done, the long poll found nothing, or SQS failed and the wait
// after that is over.
func (m *Mapping) collect(ctx context.Context) []types.Message {
	batch := m.receive(ctx, min(maxReceive, m.config.BatchSize), longPollSeconds)
	if len(batch) == 0 || m.config.BatchWindow == 0 {
		return batch
	}
	closes := time.Now().Add(m.config.BatchWindow)
	for len(batch) < m.config.BatchSize && sizeBytes(batch) < maxBatchBytes && ctx.Err() == nil {
		remaining := time.Until(closes)
		if remaining <= 0 {
			break
		}
		waitSeconds := min(longPollSeconds, int(remaining/time.Second))
		more := m.receive(ctx, min(maxReceive, m.config.BatchSize-len(batch)), waitSeconds)
		batch = append(batch, more...)
		if len(more) == 0 && waitSeconds == 0 {
			pause(ctx, min(remaining, 20*time.Millisecond)) // the last second is polled shortly
		}
	}
	return batch
}

// receive asks for messages once. After an error it waits, longer each time in a row, and returns none.
func (m *Mapping) receive(ctx context.Context, count, waitSeconds int) []types.Message {
	wait := firstReceiveWait
	for ctx.Err() == nil {
		out, err := m.queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(m.config.QueueURL), MaxNumberOfMessages: int32(count), WaitTimeSeconds: int32(waitSeconds),
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
			MessageAttributeNames:       []string{"All"},
		})
		if err == nil {
			return out.Messages
		}
		if ctx.Err() != nil {
			return nil
		}
		m.reportError(fmt.Errorf("receive from %s: %w", m.config.QueueURL, err))
		pause(ctx, wait)
		wait = min(2*wait, longestReceiveWait)
	}
	return nil
}

// pause returns after d, or earlier when the context is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
