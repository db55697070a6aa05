package sqs

import (
	"cmp"
	"container/list"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// maxInFlight is how many messages of a queue may be in flight at once.
const maxInFlight = 120_000

// maxSearched is how many messages of a FIFO queue a receive looks at to find groups: what is behind them waits until some of them are deleted.
const maxSearched = 120_000

// receiveRequest is a validated request to receive.
type receiveRequest struct {
	url        string
	max        int
	wait       *time.Duration // nil: the queue's
	visibility *time.Duration // nil: the queue's
}

// receive hands out up to max messages, waiting for the first. It returns none,
// without an error, when the wait is over or ctx is done; view is called on
// each message with the lock held.
func (m *Model) receive(ctx context.Context, in receiveRequest, view func(*queue, *message)) error {
	var deadline time.Time
	for first := true; ; first = false {
		changed, next, err := m.take(ctx, in, view)
		if changed == nil || err != nil {
			return err
		}
		now := m.clock.Now()
		if first {
			wait, err := m.waitOf(in)
			if err != nil {
				return err
			}
			deadline = now.Add(wait)
		}
		if !now.Before(deadline) {
			return nil
		}
		if next.IsZero() || next.After(deadline) {
			next = deadline
		}
		due := make(chan struct{})
		stop := m.clock.AfterFunc(next.Sub(now), func() { close(due) })
		select {
		case <-due:
		case <-changed:
			stop()
		case <-ctx.Done():
			stop()
			return nil
		}
	}
}

func (m *Model) waitOf(in receiveRequest) (time.Duration, error) {
	if in.wait != nil {
		return *in.wait, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	q, err := m.byURL(in.url)
	if err != nil {
		return 0, err
	}
	return q.settings.receiveWait, nil
}

// take receives what there is. When there is nothing it returns a channel that
// is closed when that may have changed, and the time the next message becomes
// visible by itself (zero: never).
func (m *Model) take(ctx context.Context, in receiveRequest, view func(*queue, *message)) (changed <-chan struct{}, next time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q, err := m.byURL(in.url)
	if err != nil {
		return nil, time.Time{}, err
	}
	if ctx.Err() != nil {
		return nil, time.Time{}, nil // whoever asked would not get the answer
	}
	now := m.clock.Now()
	q.settle(now)
	room := maxInFlight - q.depth(now).InFlight
	if room <= 0 && !q.settings.fifo {
		return nil, time.Time{}, errOverLimit()
	}
	visibility := q.settings.visibility
	if in.visibility != nil {
		visibility = *in.visibility
	}
	picked := m.pick(q, min(in.max, room), now)
	for _, msg := range picked {
		q.hand(msg, now, visibility)
		view(q, msg)
	}
	if len(picked) > 0 {
		return nil, time.Time{}, nil
	}
	if len(q.waiting) > 0 {
		next = q.waiting[0].visibleAt
	}
	return q.changed, next, nil
}

// pick chooses up to max messages, having moved those received too often to
// the dead-letter queue.
func (m *Model) pick(q *queue, max int, now time.Time) []*message {
	if q.settings.fifo {
		return m.pickFIFO(q, max, now)
	}
	var picked []*message
	for e := q.ready.Front(); e != nil && len(picked) < max; {
		msg := e.Value.(*message)
		e = e.Next()
		if !m.redrive(q, msg, now) {
			picked = append(picked, msg)
		}
	}
	return picked
}

// pickFIFO takes as much as it may from one group before it looks at the next,
// the group whose head is oldest first. A message in flight or delayed holds
// back all that is behind it in its group. What is behind the oldest messages
// that a receive looks at is not there for it, whatever its group.
func (m *Model) pickFIFO(q *queue, max int, now time.Time) []*message {
	last := q.arrivals // of what is looked at
	if len(q.messages) > m.search {
		arrivals := make([]uint64, 0, len(q.messages))
		for _, msg := range q.messages {
			arrivals = append(arrivals, msg.arrival)
		}
		slices.Sort(arrivals)
		last = arrivals[m.search-1]
	}
	heads := slices.SortedFunc(maps.Values(q.groups), func(a, b *list.List) int {
		return cmp.Compare(headOf(a).arrival, headOf(b).arrival)
	})
	var picked []*message
	for _, group := range heads {
		for e := group.Front(); e != nil && len(picked) < max; {
			msg := e.Value.(*message)
			e = e.Next()
			if now.Before(msg.visibleAt) || msg.arrival > last {
				break
			}
			if !m.redrive(q, msg, now) {
				picked = append(picked, msg)
			}
		}
		if len(picked) == max {
			break
		}
	}
	return picked
}

func headOf(group *list.List) *message { return group.Front().Value.(*message) }

// redrive moves a message that has been received as often as it may to the
// dead-letter queue and tells whether it did.
func (m *Model) redrive(q *queue, msg *message, now time.Time) bool {
	if q.settings.deadLetterARN == "" || msg.receiveCount < q.settings.maxReceiveCount {
		return false
	}
	target := m.byARN(q.settings.deadLetterARN)
	if target == nil || target == q {
		return false
	}
	q.remove(msg)
	msg.receipt, msg.inGroup, msg.visibleAt, msg.sourceARN = "", nil, now, q.arn
	if target.settings.fifo {
		msg.sent = now // a FIFO message starts its retention anew
	}
	target.add(msg, now)
	return true
}

// hand makes msg received now.
func (q *queue) hand(msg *message, now time.Time, visibility time.Duration) {
	msg.receiveCount++
	msg.received = now
	if msg.firstReceived.IsZero() {
		msg.firstReceived = now
	}
	msg.receipt = base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s %s %s", uuid.NewString(), q.arn, msg.id))
	msg.visibleAt = now.Add(visibility)
	q.place(msg, now)
}

// received is a message as the API hands it out.
type received struct {
	MessageID              string `json:"MessageId"`
	ReceiptHandle          string
	MD5OfBody              string
	Body                   string
	Attributes             map[string]string           `json:",omitempty"`
	MD5OfMessageAttributes string                      `json:",omitempty"`
	MessageAttributes      map[string]MessageAttribute `json:",omitempty"`
}

// show makes the view of a message with the attributes asked for.
func (msg *message) show(systemNames, names []string) received {
	out := received{
		MessageID: msg.id, ReceiptHandle: msg.receipt, Body: msg.body, MD5OfBody: md5Hex(msg.body),
		Attributes: map[string]string{}, MessageAttributes: map[string]MessageAttribute{},
	}
	for name, value := range msg.systemAttributes() {
		if slices.Contains(systemNames, "All") || slices.Contains(systemNames, name) {
			out.Attributes[name] = value
		}
	}
	for name, value := range msg.attributes {
		if wanted(name, names) {
			out.MessageAttributes[name] = value
		}
	}
	out.MD5OfMessageAttributes = md5OfAttributes(out.MessageAttributes)
	return out
}

func (msg *message) systemAttributes() map[string]string {
	millis := func(t time.Time) string { return fmt.Sprint(t.UnixMilli()) }
	all := map[string]string{
		"SenderId":                         msg.senderID,
		"SentTimestamp":                    millis(msg.sent),
		"ApproximateReceiveCount":          fmt.Sprint(msg.receiveCount),
		"ApproximateFirstReceiveTimestamp": millis(msg.firstReceived),
		"SequenceNumber":                   msg.sequence,
		"MessageGroupId":                   msg.group,
		"MessageDeduplicationId":           msg.dedupID,
		"AWSTraceHeader":                   msg.traceHeader,
		"DeadLetterQueueSourceArn":         msg.sourceARN,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// wanted tells whether a message attribute is among those asked for, by name
// or by prefix ("app.*", "All").
func wanted(name string, asked []string) bool {
	for _, a := range asked {
		prefix, isPrefix := strings.CutSuffix(a, ".*")
		if a == "All" || a == name || isPrefix && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
