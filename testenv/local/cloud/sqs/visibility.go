package sqs

import (
	"encoding/base64"
	"strings"
	"time"
)

// maxVisibility is the longest a message may stay in flight after one receive.
const maxVisibility = 12 * time.Hour

// lookup finds the message a receipt handle was issued for; nil when it is
// gone. current is false when the message has been received again since. The
// error says that the handle was never issued by this queue.
func (q *queue) lookup(handle string) (msg *message, current bool, err error) {
	if handle == "" {
		return nil, false, missing("ReceiptHandle")
	}
	decoded, err := base64.StdEncoding.DecodeString(handle)
	parts := strings.Fields(string(decoded))
	if err != nil || len(parts) != 3 || parts[1] != q.arn {
		return nil, false, errReceipt()
	}
	msg = q.messages[parts[2]]
	return msg, msg != nil && msg.receipt == handle, nil
}

// deleteMessage deletes the message a handle stands for. A handle of a message
// already deleted changes nothing. One of a message received again since
// changes nothing in a standard queue and is refused by a FIFO queue, which also
// refuses one whose visibility timeout is over.
func (q *queue) deleteMessage(handle string, now time.Time) error {
	q.settle(now)
	msg, current, err := q.lookup(handle)
	if err != nil || msg == nil {
		return err
	}
	if q.settings.fifo && !(current && msg.inFlight(now)) {
		return errExpired(handle)
	}
	if current {
		q.remove(msg)
	}
	return nil
}

// changeVisibility makes the message in flight visible d from now.
func (q *queue) changeVisibility(handle string, d time.Duration, now time.Time) error {
	q.settle(now)
	if d < 0 || d > maxVisibility {
		return invalidFor(int(d/time.Second), "VisibilityTimeout", "VisibilityTimeout must be an integer between 0 and 43200")
	}
	msg, current, err := q.lookup(handle)
	switch {
	case err != nil:
		return err
	case !current:
		return invalidFor(handle, "ReceiptHandle", "Message does not exist or is not available for visibility timeout change.")
	case !msg.inFlight(now):
		return errNotInFlight()
	case now.Add(d).Sub(msg.received) > maxVisibility:
		return invalidFor(int(d/time.Second), "VisibilityTimeout", "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
	}
	msg.visibleAt = now.Add(d)
	q.place(msg, now)
	return nil
}
