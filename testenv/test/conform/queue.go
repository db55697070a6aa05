package conform

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
)

// QueuePort is a queue of SQS as senders and the event source of a function see it, under a clock that can be moved.
type QueuePort interface {
	// Send returns the message's id. group and dedup are empty in a standard queue.
	Send(ctx context.Context, body, group, dedup string, delay time.Duration) (id string, err error)
	Receive(ctx context.Context, max int) ([]QueueMessage, error)
	Delete(ctx context.Context, receipt string) error
	Hide(ctx context.Context, receipt string, d time.Duration) error
	// Dead is the queue's dead-letter queue.
	Dead() QueuePort
	// Pass lets time pass.
	Pass(d time.Duration)
}

// QueueMessage is a message that was received.
type QueueMessage struct {
	ID, Body, Group, Receipt string
	Receives                 int
}

// What the queues of the contract are made with.
const (
	QueueVisibility  = 40 * time.Second
	QueueRetention   = time.Hour
	QueueMaxReceives = 3
)

// Queue is the contract of a queue. start returns an empty one, FIFO or standard, with the settings above.
func Queue(t *testing.T, start func(t *testing.T, fifo bool) QueuePort) {
	const fifo, standard = true, false
	for _, c := range []struct {
		name string
		kind bool
		rule func(queueBook)
	}{
		{"a received message is hidden for its timeout and then there again", standard, queueHides},
		{"a received message is hidden for its timeout and then there again, FIFO", fifo, queueHides},
		{"a deleted message is gone, and deleting it again is no error", standard, queueDeletes},
		{"a deleted message is gone, and deleting it again is no error, FIFO", fifo, queueDeletes},
		{"a message shown again at once counts its receives", fifo, queueShowsAgain},
		{"a message received too often is in the dead-letter queue", standard, queueBuries},
		{"a message received too often is in the dead-letter queue, FIFO", fifo, queueBuries},
		{"a message is lost when its retention is over", standard, queueForgets},
		{"a message is delayed by up to 15 minutes", standard, queueDelays},
		{"a stale receipt deletes nothing", standard, queueIgnoresStale},
		{"a stale receipt is refused, FIFO", fifo, queueRefusesStale},
		{"a hidden head holds back its group and no other", fifo, queueHoldsGroup},
		{"a group is given in order, many at once", fifo, queueGivesInOrder},
		{"the same deduplication id is one message for five minutes", fifo, queueKnowsDuplicates},
		{"what is not for the queue is refused", fifo, queueRefuses},
	} {
		t.Run(c.name, func(t *testing.T) { c.rule(queueBook{start(t, c.kind), t, c.kind}) })
	}
}

type queueBook struct {
	QueuePort
	t    *testing.T
	fifo bool
}

// send puts a message in, of group g in a FIFO queue.
func (b queueBook) send(body string) string {
	b.t.Helper()
	return b.sendTo(body, "g", body)
}

func (b queueBook) sendTo(body, group, dedup string) string {
	b.t.Helper()
	if !b.fifo {
		group, dedup = "", ""
	}
	id, err := b.Send(b.t.Context(), body, group, dedup, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b queueBook) receive(max int) []QueueMessage {
	b.t.Helper()
	return receiveFrom(b.t, b.QueuePort, max)
}

func receiveFrom(t *testing.T, queue QueuePort, max int) []QueueMessage {
	t.Helper()
	messages, err := queue.Receive(t.Context(), max)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// want receives up to ten messages and compares their bodies.
func (b queueBook) want(what, bodies string) []QueueMessage {
	b.t.Helper()
	messages := b.receive(10)
	var got []string
	for _, m := range messages {
		got = append(got, m.Body)
	}
	if text := strings.Join(got, " "); text != bodies {
		b.t.Fatalf("%s: received %q, want %q", what, text, bodies)
	}
	return messages
}

func queueHides(b queueBook) {
	id := b.send("a")
	first := b.want("at first", "a")
	if first[0].ID != id || first[0].Receives != 1 || b.fifo && first[0].Group != "g" {
		b.t.Errorf("%+v", first[0])
	}
	b.Pass(QueueVisibility - time.Second)
	b.want("in flight", "")
	b.Pass(time.Second)
	again := b.want("after the timeout", "a")
	if again[0].ID != id || again[0].Receives != 2 || again[0].Receipt == first[0].Receipt {
		b.t.Errorf("%+v", again[0])
	}
}

func queueDeletes(b queueBook) {
	b.send("a")
	receipt := b.want("at first", "a")[0].Receipt
	for range 2 {
		if err := b.Delete(b.t.Context(), receipt); err != nil {
			b.t.Errorf("delete: %v", err)
		}
	}
	b.Pass(QueueVisibility)
	b.want("after the timeout", "")
}

func queueShowsAgain(b queueBook) {
	b.send("a")
	for i := range QueueMaxReceives {
		m := b.want("again", "a")[0]
		if m.Receives != i+1 {
			b.t.Errorf("received %d times, counted %d", i+1, m.Receives)
		}
		if err := b.Hide(b.t.Context(), m.Receipt, 0); err != nil {
			b.t.Fatal(err)
		}
	}
}

func queueBuries(b queueBook) {
	id := b.send("a")
	for range QueueMaxReceives {
		m := b.want("again", "a")[0]
		if err := b.Hide(b.t.Context(), m.Receipt, 0); err != nil {
			b.t.Fatal(err)
		}
	}
	b.send("b")
	b.want("what is behind it", "b")
	dead := receiveFrom(b.t, b.Dead(), 10)
	if len(dead) != 1 || dead[0].ID != id || dead[0].Body != "a" || dead[0].Receives != QueueMaxReceives+1 {
		b.t.Errorf("in the dead-letter queue: %+v", dead)
	}
}

func queueForgets(b queueBook) {
	b.send("a")
	b.Pass(QueueRetention - time.Second)
	b.want("in its last second", "a")
	b.Pass(QueueVisibility)
	b.want("after its retention", "")
}

func queueDelays(b queueBook) {
	if _, err := b.Send(b.t.Context(), "a", "", "", 15*time.Minute); err != nil {
		b.t.Fatal(err)
	}
	b.Pass(15*time.Minute - time.Second)
	b.want("before its time", "")
	b.Pass(time.Second)
	b.want("then", "a")
	if _, err := b.Send(b.t.Context(), "b", "", "", 15*time.Minute+time.Second); !fault.Is(err, fault.Invalid) {
		b.t.Errorf("a longer delay: %v", err)
	}
}

func queueIgnoresStale(b queueBook) {
	b.send("a")
	stale := b.want("at first", "a")[0].Receipt
	b.Pass(QueueVisibility)
	b.want("again", "a")
	if err := b.Delete(b.t.Context(), stale); err != nil {
		b.t.Errorf("delete: %v", err)
	}
	b.Pass(QueueVisibility)
	b.want("after a stale delete", "a")
}

func queueRefusesStale(b queueBook) {
	b.send("a")
	stale := b.want("at first", "a")[0].Receipt
	b.Pass(QueueVisibility)
	if err := b.Delete(b.t.Context(), stale); !fault.Is(err, fault.Invalid) {
		b.t.Errorf("delete after the timeout: %v", err)
	}
	b.want("again", "a")
	if err := b.Delete(b.t.Context(), stale); !fault.Is(err, fault.Invalid) {
		b.t.Errorf("delete with an older receipt: %v", err)
	}
	if err := b.Hide(b.t.Context(), stale, time.Minute); !fault.Is(err, fault.Invalid) {
		b.t.Errorf("hide with an older receipt: %v", err)
	}
}

func queueHoldsGroup(b queueBook) {
	b.sendTo("a1", "a", "a1")
	b.sendTo("b1", "b", "b1")
	b.sendTo("a2", "a", "a2")
	head := b.receive(1)
	if len(head) != 1 || head[0].Body != "a1" {
		b.t.Fatalf("received %+v, want a1", head)
	}
	b.want("while a1 is in flight", "b1")
	if err := b.Delete(b.t.Context(), head[0].Receipt); err != nil {
		b.t.Fatal(err)
	}
	b.want("once it is deleted", "a2")
}

func queueGivesInOrder(b queueBook) {
	for i := range 12 {
		b.send(fmt.Sprint(i))
	}
	first := b.want("ten of twelve", "0 1 2 3 4 5 6 7 8 9")
	b.want("the rest waits", "")
	for _, m := range first[:9] {
		if err := b.Delete(b.t.Context(), m.Receipt); err != nil {
			b.t.Fatal(err)
		}
	}
	b.want("nine are done, the tenth is not", "")
	b.Pass(QueueVisibility)
	b.want("the tenth comes again before the others", "9 10 11")
}

func queueKnowsDuplicates(b queueBook) {
	first := b.sendTo("a", "g", "same")
	b.Pass(5*time.Minute - time.Second)
	if id := b.sendTo("b", "g", "same"); id != first {
		b.t.Errorf("ids %s and %s", first, id)
	}
	m := b.want("one of two", "a")[0]
	if err := b.Delete(b.t.Context(), m.Receipt); err != nil {
		b.t.Fatal(err)
	}
	if id := b.sendTo("c", "h", "same"); id != first { // in another group, of a message that is gone
		b.t.Errorf("ids %s and %s", first, id)
	}
	b.want("nothing new", "")
	b.Pass(time.Second)
	if id := b.sendTo("d", "g", "same"); id == first {
		b.t.Error("known for longer than five minutes")
	}
	b.want("the next", "d")
}

func queueRefuses(b queueBook) {
	for name, try := range map[string]func() error{
		"no body":  func() error { _, err := b.Send(b.t.Context(), "", "g", "d", 0); return err },
		"no group": func() error { _, err := b.Send(b.t.Context(), "a", "", "d", 0); return err },
		"no id":    func() error { _, err := b.Send(b.t.Context(), "a", "g", "", 0); return err },
		"a delay":  func() error { _, err := b.Send(b.t.Context(), "a", "g", "d", time.Second); return err },
		"too large": func() error {
			_, err := b.Send(b.t.Context(), strings.Repeat("a", 1<<20+1), "g", "d", 0)
			return err
		},
		"eleven at once": func() error { _, err := b.Receive(b.t.Context(), 11); return err },
		"none at once":   func() error { _, err := b.Receive(b.t.Context(), 0); return err },
	} {
		if err := try(); !fault.Is(err, fault.Invalid) {
			b.t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
	b.want("nothing of it", "")
}
