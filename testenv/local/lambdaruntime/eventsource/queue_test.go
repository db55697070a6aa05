package eventsource_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// fakeQueue is an SQS queue in memory whose visibility ends when the test says so.
type fakeQueue struct {
	fifo              bool
	visibilitySeconds int
	maxReceives       int // then to the dead-letter list; 0 means never

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when a message may have become visible
	messages []*fakeMessage
	dead     []string // bodies
	receives int      // calls of ReceiveMessage
	failures int      // calls of ReceiveMessage that are yet to fail
	sent     int
}

type fakeMessage struct {
	id, body, group string
	attributes      map[string]string
	userAttributes  map[string]types.MessageAttributeValue
	receives        int
	inFlight        bool
}

func newQueue(fifo bool) *fakeQueue {
	return &fakeQueue{fifo: fifo, visibilitySeconds: 30, changed: make(chan struct{})}
}

func (q *fakeQueue) change() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// send adds a message; the group is ignored by a standard queue.
func (q *fakeQueue) send(body, group string, changes ...func(*fakeMessage)) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sent++
	m := &fakeMessage{id: fmt.Sprintf("message-%d", q.sent), body: body, group: group, attributes: map[string]string{
		"SentTimestamp": "1700000000000", "SenderId": "AIDATESTENV", "ApproximateFirstReceiveTimestamp": "1700000000001",
	}}
	if q.fifo {
		m.attributes["MessageGroupId"] = group
		m.attributes["MessageDeduplicationId"] = "dedup-" + m.id
		m.attributes["SequenceNumber"] = fmt.Sprintf("%020d", q.sent)
	}
	for _, change := range changes {
		change(m)
	}
	q.messages = append(q.messages, m)
	q.change()
	return m.id
}

// expire ends the visibility timeout of all messages in flight.
func (q *fakeQueue) expire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.messages {
		m.inFlight = false
	}
	q.change()
}

// bodies returns those of the messages not deleted, in order.
func (q *fakeQueue) bodies() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	bodies := []string{}
	for _, m := range q.messages {
		bodies = append(bodies, m.body)
	}
	return bodies
}

func (q *fakeQueue) deadBodies() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.dead)
}

func (q *fakeQueue) GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	name := "queue"
	attributes := map[string]string{"VisibilityTimeout": strconv.Itoa(q.visibilitySeconds)}
	if q.fifo {
		attributes["FifoQueue"] = "true"
		name = "queue.fifo"
	}
	attributes["QueueArn"] = "arn:aws:sqs:eu-west-1:123456789012:" + name
	return &sqs.GetQueueAttributesOutput{Attributes: attributes}, nil
}

func (q *fakeQueue) ReceiveMessage(ctx context.Context, input *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	if input.MaxNumberOfMessages < 1 || input.MaxNumberOfMessages > 10 || input.WaitTimeSeconds > 20 {
		return nil, errors.New("parameter out of range")
	}
	giveUp := time.After(time.Duration(input.WaitTimeSeconds) * time.Second)
	for {
		q.mu.Lock()
		q.receives++
		if q.failures > 0 {
			q.failures--
			q.mu.Unlock()
			return nil, errors.New("service unavailable")
		}
		messages := q.take(int(input.MaxNumberOfMessages))
		changed := q.changed
		q.mu.Unlock()
		if len(messages) > 0 {
			return &sqs.ReceiveMessageOutput{Messages: messages}, nil
		}
		select {
		case <-changed:
		case <-giveUp:
			return &sqs.ReceiveMessageOutput{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take hands out visible messages; the caller holds the lock.
func (q *fakeQueue) take(limit int) []types.Message {
	var taken []types.Message
	blocked := map[string]bool{}
	for _, m := range q.messages {
		blocked[m.group] = blocked[m.group] || (q.fifo && m.inFlight)
	}
	kept := q.messages[:0:0]
	for _, m := range q.messages {
		free := !m.inFlight && !blocked[m.group] && len(taken) < limit
		if free && q.maxReceives > 0 && m.receives >= q.maxReceives {
			q.dead = append(q.dead, m.body)
			continue
		}
		kept = append(kept, m)
		if free {
			taken = append(taken, m.receive())
		}
	}
	q.messages = kept
	return taken
}

func (m *fakeMessage) receive() types.Message {
	m.receives++
	m.inFlight = true
	attributes := map[string]string{"ApproximateReceiveCount": strconv.Itoa(m.receives)}
	for name, value := range m.attributes {
		attributes[name] = value
	}
	sum := md5.Sum([]byte(m.body))
	return types.Message{
		MessageId: aws.String(m.id), Body: aws.String(m.body), MD5OfBody: aws.String(hex.EncodeToString(sum[:])),
		ReceiptHandle: aws.String(m.id + "#" + strconv.Itoa(m.receives)), Attributes: attributes, MessageAttributes: m.userAttributes,
	}
}

func (q *fakeQueue) DeleteMessageBatch(_ context.Context, input *sqs.DeleteMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	if len(input.Entries) > 10 {
		return nil, errors.New("too many entries")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	out := &sqs.DeleteMessageBatchOutput{}
	for _, entry := range input.Entries {
		q.messages = slices.DeleteFunc(q.messages, func(m *fakeMessage) bool {
			return m.id+"#"+strconv.Itoa(m.receives) == aws.ToString(entry.ReceiptHandle)
		})
		out.Successful = append(out.Successful, types.DeleteMessageBatchResultEntry{Id: entry.Id})
	}
	q.change()
	return out, nil
}

// patience bounds what a test waits for; only a failing test waits that long.
const patience = 20 * time.Second

// eventually polls a condition that other goroutines bring about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}
