package eventsource

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
)

// Limits of the service.
const (
	maxStandardBatch   = 10_000
	maxFIFOBatch       = 10
	maxReceive         = 10 // messages of one ReceiveMessage, entries of one DeleteMessageBatch
	maxWindow          = 300 * time.Second
	maxConcurrency     = 1000
	minConcurrency     = 2
	pollerCount        = 5
	longPollSeconds    = 20
	firstReceiveWait   = 100 * time.Millisecond // after a failed ReceiveMessage, doubled each time
	longestReceiveWait = 5 * time.Second
)

// Queue is what a mapping needs of SQS; *sqs.Client satisfies it.
type Queue interface {
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// Invoker runs functions; *lambdaruntime.Runner satisfies it.
type Invoker interface {
	Function(name string) (lambdaruntime.Function, bool)
	Do(context.Context, lambdaruntime.Request) (lambdaruntime.Result, error)
}

// Config is one event source mapping.
type Config struct {
	Function string
	QueueURL string
	// BatchSize is at most 10 for a FIFO queue and 10,000 for a standard one; 0 means 10.
	BatchSize int
	// BatchWindow is how long a standard queue's batch is collected, at most five minutes. It is needed, a second at least,
	// for a BatchSize over 10, and refused for a FIFO queue.
	BatchWindow time.Duration
	// MaximumConcurrency bounds the mapping's invocations in flight, 2 to 1000; 0 means 1000.
	MaximumConcurrency int
	// ReportBatchItemFailures has the function say which messages of a batch failed.
	ReportBatchItemFailures bool
	// Filters lets only messages that match one of them through, and deletes the others; empty lets all through. A pattern
	// sees the record as the function would, its body parsed where that is JSON.
	Filters []events.Pattern
	// Faults are injected into deliveries; the zero value injects none.
	Faults Faults

	// The hooks may be nil. OnDelivery is called after each invocation, OnError when SQS refuses a request; both from the
	// mapping's goroutines.
	OnDelivery func(Delivery)
	OnError    func(error)
}

// Delivery tells of one invocation with a batch.
type Delivery struct {
	MessageIDs []string
	// Result is the function's; it is the zero value when Err is set.
	Result lambdaruntime.Result
	// Err is why the function was not run, such as lambdaruntime.ErrThrottled; nil when it was.
	Err error
	// Failed are the messages that were not processed and will come back; empty after a full success.
	Failed []string
	// Fault is what was injected into the delivery of the batch; Repeat marks the invocation that only a fault caused.
	Fault  Fault
	Repeat bool
}

// Stats counts what a mapping has done so far.
type Stats struct {
	Deliveries int // invocations, injected ones included
	Messages   int // in those
	Deleted    int // messages deleted after success
	Filtered   int // messages deleted because no filter let them through
	Throttled  int // deliveries refused for lack of concurrency
	Failed     int // other deliveries of which at least one message failed
	Faults     int // deliveries with an injected fault
	Held       int // messages put off because a batch of their group was in flight
}

// Mapping is a running event source mapping.
type Mapping struct {
	config   Config
	queue    Queue
	invoker  Invoker
	queueARN string
	region   string
	fifo     bool

	cancel  context.CancelFunc
	slots   chan struct{} // one token for each poll or invocation in flight
	running sync.WaitGroup

	mu     sync.Mutex
	stats  Stats
	groups map[string]bool // FIFO groups with a batch in flight
	draws  *draws
}

// Start checks the mapping against the queue and the function, as the service does when it is created, and begins to poll.
// ctx bounds the check only.
func Start(ctx context.Context, invoker Invoker, queue Queue, config Config) (*Mapping, error) {
	m := &Mapping{config: config.withDefaults(), queue: queue, invoker: invoker, groups: map[string]bool{}}
	if err := m.check(ctx); err != nil {
		return nil, fmt.Errorf("map queue %s to function %q: %w", config.QueueURL, config.Function, err)
	}
	m.draws = newDraws(config.Faults)
	m.slots = make(chan struct{}, m.config.MaximumConcurrency)
	polling, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	for range min(pollerCount, m.config.MaximumConcurrency) {
		m.running.Go(func() { m.poll(polling) })
	}
	return m, nil
}

// Stop ends the polling and waits for the invocations in flight; stop the runner first to have them end at once. It may
// be called twice.
func (m *Mapping) Stop() {
	m.cancel()
	m.running.Wait()
}

// Stats returns the counts so far.
func (m *Mapping) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

func (c Config) withDefaults() Config {
	if c.BatchSize == 0 {
		c.BatchSize = 10
	}
	if c.MaximumConcurrency == 0 {
		c.MaximumConcurrency = maxConcurrency
	}
	return c
}

// check reads the queue's attributes and says what is wrong with the mapping.
func (m *Mapping) check(ctx context.Context) error {
	fn, ok := m.invoker.Function(m.config.Function)
	if !ok {
		return lambdaruntime.ErrNotFound
	}
	out, err := m.queue.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(m.config.QueueURL), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return fmt.Errorf("read queue attributes: %w", err)
	}
	m.queueARN = out.Attributes[string(types.QueueAttributeNameQueueArn)]
	parts := strings.Split(m.queueARN, ":")
	if len(parts) != 6 {
		return fmt.Errorf("queue ARN %q: want six parts", m.queueARN)
	}
	m.region = parts[3]
	m.fifo = out.Attributes[string(types.QueueAttributeNameFifoQueue)] == "true"
	visibilitySeconds, err := strconv.Atoi(out.Attributes[string(types.QueueAttributeNameVisibilityTimeout)])
	if err != nil {
		return fmt.Errorf("queue visibility timeout: %w", err)
	}
	if visibility := time.Duration(visibilitySeconds) * time.Second; fn.Timeout > visibility {
		return fmt.Errorf("function timeout %v is longer than the queue's visibility timeout %v", fn.Timeout, visibility)
	}
	return m.config.validate(m.fifo)
}

func (c Config) validate(fifo bool) error {
	limit := maxStandardBatch
	if fifo {
		limit = maxFIFOBatch
	}
	switch {
	case c.BatchSize < 1 || c.BatchSize > limit:
		return fmt.Errorf("batch size %d: want 1 to %d", c.BatchSize, limit)
	case fifo && c.BatchWindow != 0:
		return errors.New("a FIFO queue takes no batch window")
	case c.BatchWindow < 0 || c.BatchWindow > maxWindow:
		return fmt.Errorf("batch window %v: want at most %v", c.BatchWindow, maxWindow)
	case c.BatchSize > maxReceive && c.BatchWindow < time.Second:
		return fmt.Errorf("batch size %d needs a batch window of a second at least", c.BatchSize)
	case c.MaximumConcurrency < minConcurrency || c.MaximumConcurrency > maxConcurrency:
		return fmt.Errorf("maximum concurrency %d: want %d to %d", c.MaximumConcurrency, minConcurrency, maxConcurrency)
	}
	return c.Faults.validate()
}

// count changes the statistics under the lock.
func (m *Mapping) count(change func(*Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.stats)
}

func (m *Mapping) reportError(err error) {
	if m.config.OnError != nil {
		m.config.OnError(err)
	}
}
