package eventsource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
)

// deleteTimeout bounds the deletion after an invocation, which goes on when the polling has been stopped.
const deleteTimeout = 10 * time.Second

// process takes one batch from its receipt to its end. The context ends injected delays, not the invocation.
func (m *Mapping) process(ctx context.Context, messages []types.Message) {
	records, groups := m.claimGroups(m.filter(m.records(messages)))
	var done []record
	for _, batch := range split(records) {
		succeeded := m.deliver(ctx, batch)
		done = append(done, succeeded...)
		if m.fifo && len(succeeded) < len(batch) {
			break // nothing may overtake what failed
		}
	}
	// Released before the deletion, which lets the next messages of the groups out: another poller may have them at once.
	m.releaseGroups(groups)
	deleted := m.delete(done)
	m.count(func(s *Stats) { s.Deleted += deleted })
}

func (m *Mapping) records(messages []types.Message) []record {
	records := make([]record, 0, len(messages))
	for _, message := range messages {
		r, err := m.newRecord(message)
		if err != nil {
			m.reportError(fmt.Errorf("marshal message %s: %w", aws.ToString(message.MessageId), err))
			continue
		}
		records = append(records, r)
	}
	return records
}

// claimGroups takes the FIFO groups of the records, and drops the records of groups that have a batch in flight: their
// visibility ended before that batch did, and they will come back.
func (m *Mapping) claimGroups(records []record) (kept []record, groups map[string]bool) {
	if !m.fifo {
		return records, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	groups = map[string]bool{}
	for _, r := range records {
		group := r.group()
		if !groups[group] && m.groups[group] {
			m.stats.Held++
			continue
		}
		groups[group] = true
		m.groups[group] = true
		kept = append(kept, r)
	}
	return kept, groups
}

func (m *Mapping) releaseGroups(groups map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for group := range groups {
		delete(m.groups, group)
	}
}

// filter returns the records that a filter lets through and deletes the others.
func (m *Mapping) filter(records []record) []record {
	if len(m.config.Filters) == 0 {
		return records
	}
	var kept, dropped []record
	for _, r := range records {
		seen := r.filterEvent()
		if slices.ContainsFunc(m.config.Filters, func(p events.Pattern) bool { return p.Matches(seen) }) {
			kept = append(kept, r)
		} else {
			dropped = append(dropped, r)
		}
	}
	deleted := m.delete(dropped)
	m.count(func(s *Stats) { s.Filtered += deleted })
	return kept
}

// deliver invokes the function with the batch, as often and as late as the faults have it, and returns the records that
// succeeded at least once.
func (m *Mapping) deliver(ctx context.Context, batch []record) (succeeded []record) {
	fault := m.draws.draw(batch[0].Body)
	if fault != (Fault{}) {
		m.count(func(s *Stats) { s.Faults++ })
	}
	if fault.Delay > 0 {
		pause(ctx, fault.Delay)
	}
	failures := m.invokeWithRepeats(batch, fault)
	if fault.LostDelete {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(batch), func(r record) bool { return slices.Contains(failures, r.MessageId) })
}

// invokeWithRepeats returns the ids of the messages that failed every time.
func (m *Mapping) invokeWithRepeats(batch []record, fault Fault) []string {
	repeat := make([]record, len(batch))
	for i, r := range batch {
		repeat[i] = r.again()
	}
	if !fault.Concurrent {
		failures := m.invoke(batch, Delivery{Fault: fault})
		if fault.Duplicate && len(failures) == 0 {
			m.invoke(repeat, Delivery{Fault: fault, Repeat: true})
		}
		return failures
	}
	var failures, repeatFailures []string
	var both sync.WaitGroup
	both.Go(func() { failures = m.invoke(batch, Delivery{Fault: fault}) })
	both.Go(func() { repeatFailures = m.invoke(repeat, Delivery{Fault: fault, Repeat: true}) })
	both.Wait()
	return slices.DeleteFunc(slices.Clone(failures), func(id string) bool { return !slices.Contains(repeatFailures, id) })
}

// invoke runs the function once, completes the delivery, and returns the ids of the messages that failed: all of them
// when the function did not succeed.
func (m *Mapping) invoke(batch []record, delivery Delivery) (failed []string) {
	delivery.MessageIDs = make([]string, len(batch))
	for i, r := range batch {
		delivery.MessageIDs[i] = r.MessageId
	}
	payload, err := event(batch)
	if err == nil {
		request := lambdaruntime.Request{Function: m.config.Function, Payload: payload, TraceHeader: traceHeader(batch)}
		delivery.Result, err = m.invoker.Do(context.Background(), request)
	}
	delivery.Err = err
	delivery.Failed = m.failures(delivery)
	m.count(func(s *Stats) {
		s.Deliveries++
		s.Messages += len(batch)
		if errors.Is(err, lambdaruntime.ErrThrottled) {
			s.Throttled++
		} else if len(delivery.Failed) > 0 {
			s.Failed++
		}
	})
	if m.config.OnDelivery != nil {
		m.config.OnDelivery(delivery)
	}
	return delivery.Failed
}

// failures reads a delivery's outcome.
func (m *Mapping) failures(d Delivery) []string {
	if d.Err != nil || d.Result.Err() != nil {
		return d.MessageIDs
	}
	if !m.config.ReportBatchItemFailures {
		return nil
	}
	failed, err := itemFailures(d.Result.Payload, d.MessageIDs)
	if err != nil {
		m.reportError(fmt.Errorf("batch of function %q fails: %w", m.config.Function, err))
		return d.MessageIDs
	}
	return failed
}

// traceHeader is that of the first message that has one; empty when none has.
func traceHeader(batch []record) string {
	for _, r := range batch {
		if header := r.Attributes[string(types.MessageSystemAttributeNameAWSTraceHeader)]; header != "" {
			return header
		}
	}
	return ""
}

// delete removes the messages from the queue and returns how many SQS removed. What it refuses comes back.
func (m *Mapping) delete(records []record) (deleted int) {
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	for chunk := range slices.Chunk(records, maxReceive) {
		entries := make([]types.DeleteMessageBatchRequestEntry, len(chunk))
		for i, r := range chunk {
			entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(r.ReceiptHandle)}
		}
		out, err := m.queue.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: aws.String(m.config.QueueURL), Entries: entries})
		if err != nil {
			m.reportError(fmt.Errorf("delete from %s: %w", m.config.QueueURL, err))
			continue
		}
		deleted += len(out.Successful)
		for _, refused := range out.Failed {
			m.reportError(fmt.Errorf("delete from %s: %s: %s", m.config.QueueURL, aws.ToString(refused.Code), aws.ToString(refused.Message)))
		}
	}
	return deleted
}
