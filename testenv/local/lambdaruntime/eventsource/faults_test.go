package eventsource_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
)

// deliveries collects what OnDelivery is told.
type deliveries struct {
	mu   sync.Mutex
	list []eventsource.Delivery
}

func (d *deliveries) add(delivery eventsource.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, delivery)
}

func TestDuplicateComesRightAfterASuccess(t *testing.T) {
	h, q := &handler{}, newQueue(true)
	var seen deliveries
	q.send("once", "a")
	start(t, h, q, eventsource.Config{Faults: eventsource.Faults{DuplicatePercent: 100}, OnDelivery: seen.add})
	eventually(t, "the message is deleted", func() bool { return len(q.bodies()) == 0 })
	if got := fmt.Sprint(h.seen()); got != "[[once] [once]]" || lastReceiveCount(t, h) != "2" {
		t.Errorf("delivered %s, the last with receive count %s, want twice, the second with 2", got, lastReceiveCount(t, h))
	}
	if seen.list[0].Repeat || !seen.list[1].Repeat || !seen.list[0].Fault.Duplicate {
		t.Errorf("told %+v, want the second marked as the repeat", seen.list)
	}
}

func TestConcurrentDeliveryRunsTwiceAtOnce(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	h := &handler{answer: func(lambdaevents.SQSEvent) (lambdaruntime.Result, error) {
		both.Done()
		both.Wait() // returns only when the other is here too
		return lambdaruntime.Result{}, nil
	}}
	q := newQueue(true)
	q.send("twins", "a")
	start(t, h, q, eventsource.Config{Faults: eventsource.Faults{ConcurrentPercent: 100}})
	eventually(t, "the message is deleted", func() bool { return len(q.bodies()) == 0 })
	if len(h.seen()) != 2 {
		t.Errorf("delivered %d times, want 2", len(h.seen()))
	}
}

func TestConcurrentDeliveryIsDeletedWhenEitherSucceeds(t *testing.T) {
	h := &handler{answer: func(batch lambdaevents.SQSEvent) (lambdaruntime.Result, error) {
		if batch.Records[0].Attributes["ApproximateReceiveCount"] == "1" {
			return lambdaruntime.Result{FunctionError: "Unhandled"}, nil
		}
		return lambdaruntime.Result{}, nil
	}}
	q := newQueue(true)
	q.send("twins", "a")
	start(t, h, q, eventsource.Config{Faults: eventsource.Faults{ConcurrentPercent: 100}})
	eventually(t, "the message is deleted", func() bool { return len(q.bodies()) == 0 })
}

func TestLostDeleteBringsTheMessageBackLate(t *testing.T) {
	h, q := &handler{}, newQueue(true)
	q.send("late", "a")
	m := start(t, h, q, eventsource.Config{Faults: eventsource.Faults{LostDeletePercent: 100}})
	eventually(t, "it is delivered", func() bool { return m.Stats().Deliveries == 1 })
	q.expire()
	eventually(t, "it is delivered again", func() bool { return m.Stats().Deliveries == 2 })
	if got := q.bodies(); !slices.Equal(got, []string{"late"}) || m.Stats().Deleted != 0 {
		t.Errorf("left %q, deleted %d, want it left", got, m.Stats().Deleted)
	}
}

func TestDelayHoldsTheDelivery(t *testing.T) {
	h, q := &handler{}, newQueue(true)
	begun := time.Now()
	q.send("slow", "a")
	start(t, h, q, eventsource.Config{Faults: eventsource.Faults{DelayPercent: 100, Delay: 100 * time.Millisecond}})
	eventually(t, "the message is deleted", func() bool { return len(q.bodies()) == 0 })
	if took := time.Since(begun); took < 100*time.Millisecond {
		t.Errorf("delivered after %v, want the delay at least", took)
	}
}

func TestSameSeedHitsTheSameDeliveries(t *testing.T) {
	duplicated := func(seed uint64) string {
		h, q := &handler{}, newQueue(false)
		var seen deliveries
		for i := range 40 {
			q.send(fmt.Sprint("message ", i), "")
		}
		start(t, h, q, eventsource.Config{
			BatchSize: 1, Faults: eventsource.Faults{Seed: seed, DuplicatePercent: 50}, OnDelivery: seen.add,
		})
		eventually(t, "all are done", func() bool { return len(q.bodies()) == 0 })
		var ids []string
		for _, delivery := range seen.list {
			if delivery.Repeat {
				ids = append(ids, delivery.MessageIDs...)
			}
		}
		slices.Sort(ids)
		return fmt.Sprint(len(ids), ids)
	}
	first, again, other := duplicated(1), duplicated(1), duplicated(2)
	if first != again {
		t.Errorf("seed 1 hit\n%s, then\n%s", first, again)
	}
	if first == other {
		t.Errorf("seeds 1 and 2 both hit\n%s", first)
	}
}
