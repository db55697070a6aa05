package sqs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// dedupWindow is how long a FIFO queue remembers a deduplication id, even of a
// message that was deleted meanwhile.
const dedupWindow = 5 * time.Minute

// outgoing is a message to send, as the API takes it.
type outgoing struct {
	MessageBody             string
	DelaySeconds            *int32
	MessageAttributes       map[string]MessageAttribute
	MessageSystemAttributes map[string]MessageAttribute
	MessageDeduplicationID  string `json:"MessageDeduplicationId"`
	MessageGroupID          string `json:"MessageGroupId"`
}

// sent is what the sender learns.
type sent struct {
	MessageID                    string `json:"MessageId"`
	MD5OfMessageBody             string
	MD5OfMessageAttributes       string `json:",omitempty"`
	MD5OfMessageSystemAttributes string `json:",omitempty"`
	SequenceNumber               string `json:",omitempty"`
}

// send checks and stores one message. The lock is held.
func (m *Model) send(ctx context.Context, q *queue, out *outgoing) (*sent, error) {
	if err := q.check(out); err != nil {
		return nil, err
	}
	if !q.settings.fifo && out.MessageGroupID != "" && !m.reads.Takes(reading.GroupOnStandard) {
		return nil, invalidFor(out.MessageGroupID, "MessageGroupId", otherType)
	}
	now := m.clock.Now()
	q.settle(now)
	receipt := &sent{
		MessageID:                    uuid.NewString(),
		MD5OfMessageBody:             md5Hex(out.MessageBody),
		MD5OfMessageAttributes:       md5OfAttributes(out.MessageAttributes),
		MD5OfMessageSystemAttributes: md5OfAttributes(out.MessageSystemAttributes),
	}
	msg := &message{
		id: receipt.MessageID, body: out.MessageBody, attributes: out.MessageAttributes,
		senderID: wire.Caller(ctx).UserID, group: out.MessageGroupID,
		sent: now, visibleAt: now.Add(q.delayOf(out)),
	}
	if trace, ok := out.MessageSystemAttributes["AWSTraceHeader"]; ok && trace.StringValue != nil {
		msg.traceHeader = *trace.StringValue
	}
	if !q.settings.fifo {
		q.add(msg, now)
		return receipt, nil
	}
	msg.dedupID = out.MessageDeduplicationID
	if msg.dedupID == "" {
		sum := sha256.Sum256([]byte(out.MessageBody))
		msg.dedupID = hex.EncodeToString(sum[:])
	}
	if earlier, ok := q.remembered(msg, now); ok {
		receipt.MessageID, receipt.SequenceNumber = earlier.id, earlier.sequence
		return receipt, nil
	}
	q.add(msg, now)
	q.dedup[q.dedupKey(msg)] = accepted{msg.id, msg.sequence, now}
	receipt.SequenceNumber = msg.sequence
	return receipt, nil
}

const otherType = "The request include parameter that is not valid for this queue type"

// check refuses what no queue of this kind takes.
func (q *queue) check(out *outgoing) error {
	if err := checkContents(out.MessageBody, out.MessageAttributes); err != nil {
		return err
	}
	for name := range out.MessageSystemAttributes {
		if name != "AWSTraceHeader" {
			return invalid("Message system attribute name '%s' is invalid.", name)
		}
	}
	if sizeBytes(out.MessageBody, out.MessageAttributes) > q.settings.maxBytes {
		return invalid("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", q.settings.maxBytes)
	}
	if out.DelaySeconds != nil && (*out.DelaySeconds < 0 || *out.DelaySeconds > 900) {
		return invalidFor(*out.DelaySeconds, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
	}
	if out.MessageGroupID != "" && !groupOrDedup.MatchString(out.MessageGroupID) {
		return invalidFor(out.MessageGroupID, "MessageGroupId", "MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.")
	}
	if !q.settings.fifo {
		if out.MessageDeduplicationID != "" {
			return invalidFor(out.MessageDeduplicationID, "MessageDeduplicationId", otherType)
		}
		return nil
	}
	switch {
	case out.DelaySeconds != nil && *out.DelaySeconds != 0:
		return invalidFor(*out.DelaySeconds, "DelaySeconds", otherType)
	case out.MessageGroupID == "":
		return missing("MessageGroupId")
	case out.MessageDeduplicationID == "" && !q.settings.contentDedup:
		return invalid("The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
	case out.MessageDeduplicationID != "" && !groupOrDedup.MatchString(out.MessageDeduplicationID):
		return invalidFor(out.MessageDeduplicationID, "MessageDeduplicationId", "MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to 128 in length.")
	}
	return nil
}

func (q *queue) delayOf(out *outgoing) time.Duration {
	if out.DelaySeconds != nil && !q.settings.fifo {
		return time.Duration(*out.DelaySeconds) * time.Second
	}
	return q.settings.delay
}

func (q *queue) dedupKey(msg *message) string {
	if q.settings.dedupPerGroup {
		return msg.group + "\x00" + msg.dedupID
	}
	return msg.dedupID
}

// remembered returns the message a new one duplicates.
func (q *queue) remembered(msg *message, now time.Time) (accepted, bool) {
	if now.Sub(q.dedupSweep) >= dedupWindow {
		for key, a := range q.dedup {
			if now.Sub(a.at) >= dedupWindow {
				delete(q.dedup, key)
			}
		}
		q.dedupSweep = now
	}
	a, ok := q.dedup[q.dedupKey(msg)]
	return a, ok && now.Sub(a.at) < dedupWindow
}
